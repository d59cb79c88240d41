// market_statistics.hpp — what a market is like beyond its means: bursts, runs, hours, neighbours.
//
// Lists are sorted and hold whole runs: those that the series cuts off, at its beginning or at its
// end, are left out, because nobody knows how long they lasted. Correlations are Pearson's, of
// hourly samples over the time that two series have in common.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/series.hpp"

namespace ukemi::traces {

struct AvailabilityDetail {
    std::vector<double> burst_sizes;   // instances that one loss took
    std::vector<double> burst_shares;  // of what was held before it
    std::vector<double> up_runs_h;     // with at least one instance
    std::vector<double> down_runs_h;   // with none
    std::vector<double> quiet_runs_h;  // from a loss, or from the first instance held, to a loss
};
AvailabilityDetail detail_of(const AvailabilitySeries& series);

// The generated series cut into windows one after the other, as long as the recorded ones in turn;
// a series too short for the next of them, whole. Short records hold few of the long runs, and
// windows as short leave out as many: whole runs of both can be compared.
std::vector<TraceSeries> windows_like(std::span<const TraceSeries> recorded,
                                      std::span<const TraceSeries> generated);

struct PriceDetail {
    // Time-weighted: the price that is not exceeded for this share of the time.
    double usd_p10 = 0;
    double usd_median = 0;
    double usd_p90 = 0;
    double usd_p99 = 0;
    std::int64_t jumps = 0;  // steps of more than a tenth of the price before
    double jump_share_max = 0;
};
PriceDetail detail_of(const PriceSeries& series);

// The mean instances held in every hour of the day, UTC; `start` is the series' ISO 8601 start.
// Nothing if that is empty or only a day, or if the series is shorter than a day.
std::optional<std::array<double, 24>> by_hour_of_day(const AvailabilitySeries& series,
                                                     std::string_view start);
// How often a loss fell into every hour of the day; an hour with several counts once.
std::optional<std::array<std::int64_t, 24>> losses_by_hour(const AvailabilitySeries& series,
                                                           std::string_view start);

// Nothing if they have less than a day in common or one of them never changes. Series that do not
// both say when they start are taken to start together.
std::optional<double> correlation(const TraceSeries& a, const TraceSeries& b);

// The mean over all pairs of different series that have one.
std::optional<double> mean_correlation(std::span<const TraceSeries> series);

// "us-east-1" of "us-east-1a" and of "us-east-1"; "us-central1" of "us-central1-a"; else the whole
// name.
std::string_view region_of_zone(std::string_view zone);

// "a" … "z", "aa", "ab", …
std::string zone_letters(std::int32_t index);

}  // namespace ukemi::traces
