// work_unit.hpp — in what the work of a job and its speed are counted, where they must be exact.
#pragma once

#include <cstdint>

namespace ukemi::sim {

inline constexpr std::int64_t work_unit = std::int64_t{1} << 20;  // a nanosecond at speed 1
inline constexpr std::int64_t millionths = 1'000'000;             // of a speed

}  // namespace ukemi::sim
