// timestamp.hpp — calendar times of recorded files as exact nanoseconds, and back.
//
// Proleptic Gregorian, UTC, no leap seconds. Years 1970 to 2199: what a trace can hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ukemi::traces {

// "2022-11-28T22:23:37.000Z", "2023-02-15 22:08:16", "…T22:23:37+02:00", "… 22:23:37 UTC",
// "2023-02-15 22:08"; a time without an offset is taken as UTC. Nanoseconds since
// 1970-01-01T00:00Z, or nothing if the text is anything else.
std::optional<std::int64_t> parse_timestamp(std::string_view text);

// "2022-11-28T22:23:37Z", with a fraction only if there is one.
std::string format_timestamp(std::int64_t nanoseconds_since_1970);

}  // namespace ukemi::traces
