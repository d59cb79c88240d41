// gce_notices.cpp — Compute Engine: preemption (thirty seconds ahead) and maintenance that ends the
// machine.
#include <fmt/format.h>

#include <stdexcept>

#include "base/plain_text.hpp"
#include "runtime/notices/metadata_service.hpp"

namespace ukemi::runtime {

namespace {

class GceNotices final : public NoticeSource {
public:
    explicit GceNotices(std::string_view place) : service_(place) {}

    std::optional<HostNotice> ask() override {
        const std::string preempted = value_of("preempted");
        if (preempted == "TRUE") return HostNotice{"GCE preempts this machine", {}, true};
        if (preempted != "FALSE") refuse("preempted", preempted);
        const std::string maintenance = value_of("maintenance-event");
        if (maintenance == "TERMINATE_ON_HOST_MAINTENANCE") {
            return HostNotice{"GCE ends this machine for maintenance", {}, true};
        }
        if (maintenance != "NONE" && maintenance != "MIGRATE_ON_HOST_MAINTENANCE") {
            refuse("maintenance-event", maintenance);
        }
        return std::nullopt;
    }

private:
    std::string value_of(const char* name) const {
        const std::string target = fmt::format("/computeMetadata/v1/instance/{}", name);
        const HttpAnswer answer = service_.ask("GET", target, {{"Metadata-Flavor", "Google"}});
        // Who leaves the flavour out is not the service but somebody at its address.
        if (answer.status != 200 || answer.metadata != "Google") service_.refuse(target, answer);
        return answer.body.substr(0, answer.body.find_last_not_of(" \r\n") + 1);
    }

    [[noreturn]] static void refuse(const char* name, const std::string& value) {
        throw std::runtime_error(
            fmt::format("instance/{}: no value of it is {}", name, ukemi::quoted(value)));
    }

    MetadataService service_;
};

}  // namespace

std::unique_ptr<NoticeSource> make_gce_notices(std::string_view place) {
    return std::make_unique<GceNotices>(place);
}

}  // namespace ukemi::runtime
