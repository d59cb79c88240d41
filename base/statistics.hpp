// statistics.hpp — means, quantiles and confidence intervals over runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/invariant.hpp"

namespace ukemi {

struct Summary {
    std::size_t count = 0;
    double mean = 0;
    double standard_deviation = 0;  // of the sample, n − 1; 0 for one value
    double min = 0;
    double max = 0;
    double median = 0;
    // Student's t interval for the mean at 95 %; equal to the mean for fewer than two values.
    double mean_low_95 = 0;
    double mean_high_95 = 0;
    std::size_t clusters = 0;  // that the interval is over: values, or what they are part of
};

// The values need not be sorted; NaN is refused by an invariant. Zero values give a zero Summary.
Summary summarise(std::span<const double> values);

// Linear interpolation between order statistics (Hyndman & Fan type 7); 0 ≤ q ≤ 1, values
// non-empty.
double quantile(std::span<const double> sorted_values, double q);

// Three conventions for an even number of values, which may come in any order and are not empty:
// the mean of the middle two (the quantile of 0.5), or one that was seen, for what is no number to
// take a mean of: a gap between samples, a run of hours.
double median(std::vector<double> values);

template <class Value>
Value order_statistic(std::vector<Value> values, std::size_t index) {
    INVARIANT(index < values.size());
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
    std::ranges::nth_element(values, at);
    return *at;
}
template <class Value>
Value lower_median(std::vector<Value> values) {
    const std::size_t index = (std::max<std::size_t>(values.size(), 1) - 1) / 2;
    return order_statistic(std::move(values), index);
}
template <class Value>
Value upper_median(std::vector<Value> values) {
    const std::size_t index = values.size() / 2;
    return order_statistic(std::move(values), index);
}

}  // namespace ukemi
