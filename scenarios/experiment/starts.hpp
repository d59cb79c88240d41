// starts.hpp — from where in its trace a run begins: one recording, replayed from many beginnings.
//
// A window is the part of a trace that a run may need: its span is the deadline, or else twice the
// time of the work at full size. Windows that do not overlap are units of their own; of those that
// do, all that begin within one stretch of two spans are one unit, because what one sees its
// neighbour has seen. (In stretches of one span, intervals over 40 windows of 46 days held the mean
// in 87 to 91 of 100 markets; in those of two, in 91 to 95.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/reader/scenario.hpp"

namespace ukemi::scenarios {

struct StartsChoice {
    // `apart`: as many as do not overlap, at most `apart_most` a trace.
    enum class Kind : std::uint8_t { first, apart, count, every, at };
    static constexpr std::int64_t apart_most = 40;
    static constexpr std::int64_t count_most = 10'000;
    Kind kind = Kind::first;
    std::int64_t count = 1;
    Duration every;
    std::vector<Duration> at;
    std::string text = "1";  // what parse_starts reads
};

// "40" (evenly spread), "every=6h", "at=0h,12h", "apart"; "1" is the trace's beginning.
StartsChoice parse_starts(std::string_view text, std::string_view where);

struct TraceWindow {
    Duration start;
    std::int64_t stretch = 0;  // equal numbers: not independent
};

// Of one trace, in order of time; never empty. A trace without room for a second window has one, at
// its beginning, unless the choice says the moments: then InputError for those it does not have. A
// trace that repeats has room everywhere. Starts are whole seconds.
std::vector<TraceWindow> windows_of(const StartsChoice& choice, Duration trace, bool repeats,
                                    Duration span);

// How long the trace of a market is: the shortest of its zones' capacities.
Duration trace_length(const sim::MarketData& market);
Duration window_span(const sim::JobSpec& job);

// The market as it is for a run that begins `start` after the trace does.
sim::MarketData begun_later(const sim::MarketData& market, Duration start);

}  // namespace ukemi::scenarios
