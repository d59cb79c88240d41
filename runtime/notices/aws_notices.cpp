// aws_notices.cpp — EC2: spot interruptions (two minutes ahead) and rebalance recommendations, by
// version 2 of its metadata service, which wants a token.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_document.hpp"
#include "runtime/notices/metadata_service.hpp"

namespace ukemi::runtime {

namespace {

constexpr const char* token_target = "/latest/api/token";
constexpr const char* action_target = "/latest/meta-data/spot/instance-action";
constexpr const char* rebalance_target = "/latest/meta-data/events/recommendations/rebalance";

class AwsNotices final : public NoticeSource {
public:
    explicit AwsNotices(std::string_view place) : service_(place) {}

    std::optional<HostNotice> ask() override {
        if (const auto text = get(action_target)) {
            const nlohmann::json action = parse_json(*text, action_target);
            const auto at = world_time(action.at("time").get<std::string>());
            return HostNotice{
                fmt::format("AWS will {} this machine{}", action.at("action").get<std::string>(),
                            at ? " at " + utc_text(*at) : ""),
                at, true};
        }
        if (!get(rebalance_target)) return std::nullopt;
        return HostNotice{"AWS recommends to leave this machine", {}, false};
    }

private:
    // With a token of six hours; one that has ended is renewed once.
    std::optional<std::string> get(const char* target) {
        for (int attempt = 0;; ++attempt) {
            if (token_.empty()) renew();
            const HttpAnswer answer =
                service_.ask("GET", target, {{"X-aws-ec2-metadata-token", token_}});
            if (answer.status == 404) return std::nullopt;
            if (answer.status == 200) return answer.body;
            if (answer.status != 401 || attempt > 0) service_.refuse(target, answer);
            token_.clear();
        }
    }

    void renew() {
        const HttpAnswer answer =
            service_.ask("PUT", token_target, {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}});
        // It goes into a header: one line of what is visible.
        const bool usable = answer.status == 200 && !answer.body.empty() &&
                            std::ranges::all_of(answer.body, [](unsigned char one) {
                                return one > ' ' && one < 0x7f;
                            });
        if (!usable) service_.refuse(token_target, answer);
        token_ = answer.body;
    }

    MetadataService service_;
    std::string token_;
};

}  // namespace

std::unique_ptr<NoticeSource> make_aws_notices(std::string_view place) {
    return std::make_unique<AwsNotices>(place);
}

}  // namespace ukemi::runtime
