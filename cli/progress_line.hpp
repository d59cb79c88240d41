// progress_line.hpp — what is said while something runs: a line on the terminal that is written
// over, and what stands beside it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace ukemi::cli {

// Shows nothing where standard error is no terminal. Its rate is of the last seconds, so that
// dear runs after cheap ones are told soon.
class ProgressLine {
public:
    explicit ProgressLine(std::string_view what = "runs");  // a literal
    void operator()(std::size_t done, std::size_t total);
    void clear() const;  // for a line that stays

private:
    struct Mark {
        std::chrono::steady_clock::time_point at;
        std::size_t done = 0;
    };

    std::string_view what_;
    bool shown_;
    Mark shown_last_;
    Mark before_;  // five to ten seconds ago, or the beginning
    Mark recent_;
};

// On standard error, which may be gone or full: that ends no run. On a terminal in place of a line
// that is written over; such a line itself is a text without an end.
void say_on_the_way(const std::string& text);

}  // namespace ukemi::cli
