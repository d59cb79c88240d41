// series_table.hpp — what recorded markets are like, as numbers: a row a series.
#pragma once

#include <span>
#include <string>

#include "traces/series.hpp"

namespace ukemi::analysis {

struct DescribedSeries {
    std::string file;  // as it was named, or the first of those that were joined
    traces::TraceSeries series;
};

// The same columns in both, units at the ends of their names. What a series does not have (prices,
// a time of recording) is empty, and null.
std::string series_csv(std::span<const DescribedSeries> all);
std::string series_json(std::span<const DescribedSeries> all);  // {"series": […]}

}  // namespace ukemi::analysis
