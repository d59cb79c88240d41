// group_market.hpp — what machines of a shared cluster cost, and how many of them there are when.
#pragma once

#include <optional>
#include <vector>

#include "base/quantity.hpp"
#include "sim/market/market.hpp"
#include "traces/series.hpp"

namespace ukemi::sim {

// Of a group of like machines.
struct GroupMarket {
    // How many can be counted on: the least that there will be until the notice is over. Nothing:
    // all of them, always.
    std::optional<traces::AvailabilitySeries> launchable;
    traces::PriceSeries price;  // of one; no steps: it costs nothing
    AfterLastRow after_last_row = AfterLastRow::hold;
    Duration notice;
    bool paid_in_use = false;  // only while a job has GPUs of it; else as long as it is there
};

// What a machine has cost since the start of the run, at any moment.
class PriceMeter {
public:
    explicit PriceMeter(const GroupMarket& market);
    Charge until(Instant at) const;
    Price at(Instant at) const;
    Instant next_change(Instant after) const;  // of the price; never() if there is none

private:
    std::size_t step_at(Instant at) const;  // within the series
    Duration folded(Instant at) const;      // to the series, where it repeats
    bool repeats_ = false;
    std::vector<traces::Step<Price>> steps_;
    std::vector<Charge> before_;  // by step: until it begins
    Instant end_;
    Charge whole_;  // of the series
};

}  // namespace ukemi::sim
