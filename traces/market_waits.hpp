// market_waits.hpp — what the steps of recorded series say about the waits and sizes of the chain.
//
// The chain behind the generator (group_chain.hpp) draws a quiet time at each loss and at the first
// instance after none, an outage at each loss, and a gap after each step of a refill that leaves
// something missing. What came to its end is a wait; what another event ended is cut short.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "traces/series.hpp"

namespace ukemi::traces {

struct Waits {
    std::vector<double> ended_h;
    std::vector<double> cut_h;
};

struct RecordedChain {
    Waits quiet;       // from a loss that left some
    Waits after_none;  // from the first instance after none
    Waits outage;
    Waits gap;
    std::int64_t losses = 0;
    std::int64_t total_losses_of_many = 0;                           // of two instances or more
    std::vector<std::pair<std::int32_t, std::int32_t>> partial;      // held before, taken
    std::vector<std::pair<std::int32_t, std::int32_t>> refill_step;  // missing before, brought
};

// Half a tick is taken off each wait: the generator rounds up.
RecordedChain recorded_chain(std::span<const TraceSeries> series, std::int32_t capacity,
                             Duration sampling);

}  // namespace ukemi::traces
