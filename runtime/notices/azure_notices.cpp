// azure_notices.cpp — Azure's scheduled events: those that end or restart this machine.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_document.hpp"
#include "runtime/notices/metadata_service.hpp"

namespace ukemi::runtime {

namespace {

constexpr const char* events_target = "/metadata/scheduledevents?api-version=2020-07-01";
constexpr const char* name_target =
    "/metadata/instance/compute/name?api-version=2021-02-01&format=text";
// A freeze is over in seconds.
constexpr std::array<std::string_view, 4> losing_events{"Preempt", "Terminate", "Redeploy",
                                                        "Reboot"};

class AzureNotices final : public NoticeSource {
public:
    explicit AzureNotices(std::string_view place) : service_(place) {}

    std::optional<HostNotice> ask() override {
        if (name_.empty()) name_ = text_at(name_target);
        const nlohmann::json document = parse_json(text_at(events_target), events_target);
        for (const nlohmann::json& event : document.at("Events")) {
            const std::string kind = event.at("EventType").get<std::string>();
            if (std::ranges::find(losing_events, kind) == losing_events.end()) continue;
            if (!concerns_us(event)) continue;
            // Empty once it has begun.
            const auto at = world_time(event.at("NotBefore").get<std::string>());
            return HostNotice{fmt::format("Azure has scheduled a {} of this machine{}", kind,
                                          at ? ", not before " + utc_text(*at) : ""),
                              at, true};
        }
        return std::nullopt;
    }

private:
    std::string text_at(const char* target) const {
        auto text = service_.get(target, {{"Metadata", "true"}});
        if (!text) throw std::runtime_error(fmt::format("{}: is not there", target));
        return std::move(*text);
    }

    // Events name all machines of a set.
    bool concerns_us(const nlohmann::json& event) const {
        const nlohmann::json& machines = event.at("Resources");
        return std::ranges::any_of(machines, [&](const nlohmann::json& machine) {
            return machine.get<std::string>() == name_;
        });
    }

    MetadataService service_;
    std::string name_;
};

}  // namespace

std::unique_ptr<NoticeSource> make_azure_notices(std::string_view place) {
    return std::make_unique<AzureNotices>(place);
}

}  // namespace ukemi::runtime
