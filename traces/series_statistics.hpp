// series_statistics.hpp — a market in a few numbers: how much there is, how often and how hard it
// is lost.
//
// A loss event is a step down, however many instances it takes. Times are weighted exactly, in
// integers, before the one division; an empty share (no event to count) is zero.
#pragma once

#include <cstdint>
#include <string>

#include "traces/series.hpp"

namespace ukemi::traces {

struct SeriesStatistics {
    Duration length;
    std::int32_t instances_max = 0;
    double instances_mean = 0;  // over time
    double share_mean = 0;      // of instances_max
    double share_of_time_none = 0;
    double share_of_time_full = 0;  // at instances_max, if that is not zero
    std::int64_t changes = 0;
    std::int64_t loss_events = 0;
    double loss_events_per_hour = 0;
    double instances_lost_per_event = 0;
    double share_lost_per_event = 0;   // of what was there before, mean over events
    double share_of_total_losses = 0;  // of the events: those that left nothing
    double instances_gained_per_event = 0;
    // Runs of time with at least one instance, the first and the last of a series included.
    Duration up_run_median;  // the upper one of two
    Duration down_run_median;
};

SeriesStatistics statistics_of(const AvailabilitySeries& series);

struct PriceStatistics {
    Duration length;
    Price min;
    Price max;
    double usd_per_hour_mean = 0;  // over time
    std::int64_t changes = 0;
    double changes_per_day = 0;
    double step_share_mean = 0;  // |change| over the price before it
};

PriceStatistics statistics_of(const PriceSeries& series);

// One line each, for people.
std::string describe(const SeriesStatistics& statistics);
std::string describe(const PriceStatistics& statistics);

}  // namespace ukemi::traces
