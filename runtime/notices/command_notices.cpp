// command_notices.cpp — a user's own program that knows whether the machine will be taken: it is
// asked again and again, without a shell.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>

#include "base/plain_text.hpp"
#include "runtime/notices/metadata_service.hpp"
#include "runtime/worker_process.hpp"

namespace ukemi::runtime {

namespace {

using CommandClock = std::chrono::steady_clock;
constexpr std::chrono::seconds command_time{2};
constexpr std::size_t command_bytes_max = 4096;

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
            fail(
                fmt::format("expected a time such as 2026-11-23T08:22:00Z, now, or nothing, found "
                            "{}",
                            ukemi::quoted(text)));
        }
        return HostNotice{fmt::format("{} says that this machine goes{}", program_,
                                      at ? " at " + utc_text(*at) : ""),
                          at, true};
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw std::runtime_error(fmt::format("{}: {}", program_, why));
    }

    // All that it prints. Whatever it does, this ends in time, and so does the program.
    std::string said_by_program() const {
        const auto end = CommandClock::now() + command_time;
        std::array<int, 2> ends{-1, -1};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw std::system_error(errno, std::generic_category(), "pipe");
        }
        const FileDescriptor reading(ends[0]);
        FileDescriptor writing(ends[1]);
        ProcessOrder order;
        order.program = program_;
        order.output = writing.get();
        WorkerProcess process(order);
        writing.reset();
        std::string text;
        std::optional<std::string> how;
        bool open = true;
        while (open || !(how = process.ended())) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(end - CommandClock::now()).count();
            if (left <= 0) fail("did not answer within 2 s");
            pollfd descriptor{open ? reading.get() : process.descriptor(), POLLIN, 0};
            ::poll(&descriptor, 1, static_cast<int>(open ? left : std::min<long>(left, 20)));
            if (!open || descriptor.revents == 0) continue;
            std::array<char, 1024> bytes{};
            const ssize_t got = ::read(reading.get(), bytes.data(), bytes.size());
            open = got > 0;
            if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
            if (text.size() > command_bytes_max) fail("printed more than 4 KiB");
        }
        if (*how != "ended with status 0") fail(*how);
        return text;
    }

    std::string program_;
};

}  // namespace

std::unique_ptr<NoticeSource> make_command_notices(std::string_view place) {
    return std::make_unique<CommandNotices>(place);
}

}  // namespace ukemi::runtime
