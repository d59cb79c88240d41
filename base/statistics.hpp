// statistics.hpp — means, quantiles and confidence intervals over runs.
#pragma once

#include <cstddef>
#include <span>

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
};

// The values need not be sorted; NaN is refused by an invariant. Zero values give a zero Summary.
Summary summarise(std::span<const double> values);

// Linear interpolation between order statistics (Hyndman & Fan type 7); 0 ≤ q ≤ 1, values
// non-empty.
double quantile(std::span<const double> sorted_values, double q);

}  // namespace ukemi
