// command_notices.cpp — a user's own program that knows whether the machine will be taken: it is
// asked again and again.
#include <fmt/format.h>

#include <chrono>
#include <stdexcept>

#include "base/plain_text.hpp"
#include "runtime/notices/metadata_service.hpp"
#include "runtime/program_call.hpp"

namespace ukemi::runtime {

namespace {

constexpr ProgramCall::Limits notice_limits{std::chrono::seconds(2), 4096};

class CommandNotices final : public NoticeSource {
public:
    explicit CommandNotices(std::string_view program) : program_(program) {
        if (program.empty()) throw std::invalid_argument("");
    }

    std::optional<HostNotice> ask() override {
        std::string text = said_by_program();
        text.erase(text.find_last_not_of(" \r\n") + 1);
        if (text.empty()) return std::nullopt;
        const auto at = world_time(text);
        if (!at && text != "now") {
            throw std::runtime_error(fmt::format(
                "{}: expected a time such as 2026-11-23T08:22:00Z, now, or nothing, found {}",
                program_, ukemi::quoted(text)));
        }
        return HostNotice{fmt::format("{} says that this machine goes{}", program_,
                                      at ? " at " + utc_text(*at) : ""),
                          at, true};
    }

private:
    std::string said_by_program() const {
        ProgramCall call(program_, "", notice_limits);
        for (;;) {
            if (const auto answer = call.look()) {
                if (!answer->problem.empty()) throw std::runtime_error(answer->problem);
                return answer->text;
            }
            call.wait(std::chrono::milliseconds(100));
        }
    }

    std::string program_;
};

}  // namespace

std::unique_ptr<NoticeSource> make_command_notices(std::string_view place) {
    return std::make_unique<CommandNotices>(place);
}

}  // namespace ukemi::runtime
