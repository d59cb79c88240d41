// statistics.cpp — summaries are for tables and figures: nothing here may reach an event, because
// Boost's Student t leans on libm.
#include "base/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace ukemi {
namespace {

double mean_of(std::span<const double> values) {
    const auto count = static_cast<double>(values.size());
    double sum = 0;
    for (const double value : values) sum += value;
    const double mean = sum / count;
    // The second pass takes back the rounding of the first: equal values have exactly their mean.
    double rest = 0;
    for (const double value : values) rest += value - mean;
    return mean + rest / count;
}

}  // namespace

Summary summarise(std::span<const double> values) {
    if (values.empty()) return {};
    for (const double value : values) INVARIANT(!std::isnan(value));
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);

    Summary summary;
    summary.count = summary.clusters = sorted.size();
    summary.min = sorted.front();
    summary.max = sorted.back();
    summary.median = quantile(sorted, 0.5);
    summary.mean = mean_of(sorted);  // over the sorted values: the order of runs does not matter
    summary.mean_low_95 = summary.mean_high_95 = summary.mean;
    if (sorted.size() < 2) return summary;

    double squares = 0;
    for (const double value : sorted) squares += (value - summary.mean) * (value - summary.mean);
    const auto count = static_cast<double>(sorted.size());
    summary.standard_deviation = std::sqrt(squares / (count - 1));
    const boost::math::students_t_distribution<double> student(count - 1);
    const double half_width =
        boost::math::quantile(student, 0.975) * summary.standard_deviation / std::sqrt(count);
    summary.mean_low_95 = summary.mean - half_width;
    summary.mean_high_95 = summary.mean + half_width;
    return summary;
}

double quantile(std::span<const double> sorted_values, double q) {
    INVARIANT(!sorted_values.empty());
    INVARIANT(q >= 0 && q <= 1);
    INVARIANT(std::ranges::is_sorted(sorted_values));
    const double position = q * static_cast<double>(sorted_values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    if (below + 1 >= sorted_values.size()) return sorted_values.back();
    const double low = sorted_values[below];
    const double weight = position - static_cast<double>(below);
    // An exact hit must not touch its neighbour: 0 × infinity is not a number.
    return weight == 0 ? low : low + weight * (sorted_values[below + 1] - low);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return quantile(values, 0.5);
}

}  // namespace ukemi
