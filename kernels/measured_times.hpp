// measured_times.hpp — one thing timed again and again: the raw values, and what is said of them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/statistics.hpp"

namespace ukemi::kernels {

struct MeasuredTimes {  // wall seconds, in the order in which they were taken
    std::vector<double> s;

    double mean() const { return summarise(s).mean; }
    double median() const { return ukemi::median(s); }
    double quantile(double q) const {  // of at least one value
        std::vector<double> sorted = s;
        std::ranges::sort(sorted);
        return ukemi::quantile(sorted, q);
    }
    // Without the slowest and the fastest tenth. What many repetitions take together is a mean:
    // where a machine has a fast and a slow mood, the median is one of the two.
    double middle_mean() const {
        std::vector<double> sorted = s;
        std::ranges::sort(sorted);
        const std::size_t all = sorted.size();
        const std::size_t left_out = all == 0 ? 0 : std::min((all + 9) / 10, (all - 1) / 2);
        return summarise(std::span(sorted).subspan(left_out, all - 2 * left_out)).mean;
    }
    double cv() const {  // standard deviation ÷ mean
        const Summary summary = summarise(s);
        return summary.mean > 0 ? summary.standard_deviation / summary.mean : 0;
    }
    // (90 % − 10 %) ÷ median: how far two medians of the same thing may well lie apart.
    double spread() const {
        if (s.empty() || median() <= 0) return 0;
        return (quantile(0.9) - quantile(0.1)) / median();
    }
    void add(const MeasuredTimes& more) { s.insert(s.end(), more.s.begin(), more.s.end()); }
};

}  // namespace ukemi::kernels
