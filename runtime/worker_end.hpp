// worker_end.hpp — how a worker's program ends: its exit status, and the line that says why.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

namespace ukemi::runtime {

inline constexpr int status_done = 0;
inline constexpr int status_machine_failed = 1;
inline constexpr int status_bad_input = 2;

inline int complain(std::string_view problem, int status) {
    std::fputs(fmt::format("ukemi worker: {}\n", problem).c_str(), stderr);
    return status;
}

}  // namespace ukemi::runtime
