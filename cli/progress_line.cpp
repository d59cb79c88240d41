#include "cli/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace ukemi::cli {

namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr auto line_every = std::chrono::milliseconds(100);
constexpr auto mark_every = std::chrono::seconds(5);

std::string time_left(double seconds) {
    if (seconds < 100) return fmt::format("{:.0f} s", seconds);
    if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
    return fmt::format("{:.1f} h", seconds / 3600);
}

std::string rate_text(double per_second) {
    if (per_second >= 10) return fmt::format("{:.0f}/s", per_second);
    if (per_second >= 0.1) return fmt::format("{:.1f}/s", per_second);
    return fmt::format("{:.1f}/h", per_second * 3600);
}

}  // namespace

ProgressLine::ProgressLine(std::string_view what)
    : what_(what), shown_(isatty(STDERR_FILENO) == 1) {
    before_.at = recent_.at = steady_clock::now();
}

void ProgressLine::operator()(std::size_t done, std::size_t total) {
    const auto now = steady_clock::now();
    if (!shown_ || (done < total && now - shown_last_.at < line_every)) return;
    shown_last_ = {now, done};
    if (now - recent_.at >= mark_every) {
        before_ = recent_;
        recent_ = shown_last_;
    }
    const double took_s = duration<double>(now - before_.at).count();
    const double rate = static_cast<double>(done - before_.done) / took_s;
    fmt::print(stderr, "\r{} of {} {}", done, total, what_);
    if (took_s >= 1 && rate > 0) {
        fmt::print(stderr, ", {}, {} left", rate_text(rate),
                   time_left(static_cast<double>(total - done) / rate));
    }
    fmt::print(stderr, "\x1b[K");
    if (done == total) clear();
    std::fflush(stderr);
}

void ProgressLine::clear() const {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
}

void say_on_the_way(const std::string& text) {
    const bool clears = isatty(STDERR_FILENO) == 1;
    std::fputs(fmt::format("{}{}", clears ? "\r\x1b[K" : "", text).c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace ukemi::cli
