// two_zones.hpp — the history that most texts of price forms say: two zones, three prices.
#pragma once

#include <catch2/catch.hpp>

#include "tests/traces/fixture.hpp"

namespace ukemi::test {

// a: 0.30 at 00:00, 0.31 at 06:00; b: 0.5 at 03:00.
inline void check_two_zones(const traces::Trace& trace) {
    REQUIRE(trace.series.size() == 2);
    CHECK(trace.series[0].zone == "us-east-1a");
    CHECK(trace.series[0].instance_type == "p3.2xlarge");
    CHECK(trace.series[0].start == "2021-03-02T00:00:00Z");
    CHECK(trace.series[0].price == prices({{0, 0.30}, {21'600, 0.31}}, 21'600));
    CHECK(trace.series[1].zone == "us-east-1b");
    CHECK(trace.series[1].price == prices({{0, 0.5}}, 0));
}

inline std::string with_line_ends(const std::string& text, const std::string& line_end) {
    std::string changed;
    for (const char c : text) changed += c == '\n' ? line_end : std::string(1, c);
    return changed;
}

}  // namespace ukemi::test
