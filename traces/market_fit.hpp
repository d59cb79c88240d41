// market_fit.hpp — sets the generator to recorded series.
//
// Waits are mixtures of two exponentials, fitted by expectation and maximisation with the waits
// that something else cut short as censored; burst sizes and refills from the steps. Then
// the means of quiet times and outages are corrected until a long generated series has the
// recorded rate of losses and mean share. All of it is deterministic. What the recording cannot
// say (no losses, no prices, no calendar) stays off, and `notes` says so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/generator.hpp"

namespace ukemi::traces {

struct FitOptions {
    std::string name;          // of the set
    std::string source;        // where the series come from; becomes part of the summary
    Duration sampling = {};    // of the recording; zero: the shortest time between two steps
    double usd_on_demand = 0;  // jumps above it are the bidding era's; 0: above thrice the median
    Duration stretch = {};     // keep the record: stretches of it, of this mean; zero: do not
};

struct MarketFit {
    MarketParameters parameters;
    std::vector<std::string> notes;
};

// Availability, prices, or both; zones of one market, pooled. Lifetimes are fitted where there are
// at least 20 that were lost and no availability, because bursts explain the losses of a series.
MarketFit fit_market(std::span<const TraceSeries> series, std::span<const Lifetime> lifetimes,
                     const FitOptions& options);

// How long a generated market of so many zones must be to be compared with the recorded one: 300
// days or the longest recorded series, or some million steps where that is shorter.
Duration length_to_compare(std::span<const TraceSeries> recorded, std::int32_t zones);

// Two exponentials for waits (hours, more than zero), `cut` those that were cut short.
ShortOrLong fit_short_or_long(std::span<const double> waits_h, std::span<const double> cut_h);

}  // namespace ukemi::traces
