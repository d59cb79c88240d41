// notice_source.hpp — who says that the machine on which this program runs will be taken away.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ukemi::runtime {

using WorldTime = std::chrono::system_clock::time_point;

struct HostNotice {
    std::string text;             // "AWS will terminate this machine at 2026-11-23 08:22:00 UTC"
    std::optional<WorldTime> at;  // when the machine goes; nothing: any moment
    bool is_loss = true;          // false: a recommendation, the machine may stay
};

class NoticeSource {
public:
    virtual ~NoticeSource() = default;
    // What is announced now, if anything is. Throws std::exception, one line, if nobody answers, or
    // not as documented: that announces nothing.
    virtual std::optional<HostNotice> ask() = 0;
    // It costs nobody anything to be asked often.
    virtual bool is_near() const { return false; }
};

struct NoticeSourceEntry {
    std::string_view name;
    std::string_view place;    // what may follow its name and a colon
    std::string_view summary;  // what it asks
    std::string_view source;   // where that is documented
    std::unique_ptr<NoticeSource> (*make)(std::string_view place);  // empty: its own
};
std::span<const NoticeSourceEntry> all_notice_sources();

// "aws", "gce:127.0.0.1:8080", "file:/run/taken". Throws InputError.
std::unique_ptr<NoticeSource> make_notice_source(std::string_view text, std::string_view where);

}  // namespace ukemi::runtime
