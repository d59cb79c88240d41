// market_comparison.hpp — does a generated market behave like the recorded one? In figures.
//
// Each figure of the recording has a band in which the generated one fits: a factor for rates and
// lengths, a margin for shares and correlations. The bands are wider than the difference between
// the halves of most recordings, and much narrower than what independent losses would give.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/series.hpp"

namespace ukemi::traces {

struct ComparedFigure {
    std::string_view name;
    double recorded = 0;
    double generated = 0;
    double low = 0;   // it fits from here
    double high = 0;  // to here
    bool fits() const { return generated >= low && generated <= high; }
};

// Series with availability: mean share, losses an hour, burst sizes, total losses, run lengths and,
// with two series or more, their mean correlation. Lists are pooled over the series. Run lengths
// are of whole runs, on the generated side within windows as long as the recorded series
// (market_statistics.hpp), so that what is too long for a record is missing on both.
std::vector<ComparedFigure> compare_availability(std::span<const TraceSeries> recorded,
                                                 std::span<const TraceSeries> generated);
// Mean, quantiles, changes a day and the share of time above `usd_on_demand` (0: not asked).
std::vector<ComparedFigure> compare_prices(std::span<const TraceSeries> recorded,
                                           std::span<const TraceSeries> generated,
                                           double usd_on_demand);

std::string describe(std::span<const ComparedFigure> figures);  // a line each

}  // namespace ukemi::traces
