// measured_times.hpp — one thing timed again and again: the raw values, and what is said of them.
#pragma once

#include <algorithm>
#include <vector>

#include "base/statistics.hpp"

namespace ukemi {

struct MeasuredTimes {  // wall seconds, in the order in which they were taken
    std::vector<double> s;

    double mean() const { return summarise(s).mean; }
    double median() const { return quantile(0.5); }
    double quantile(double q) const {  // of at least one value
        std::vector<double> sorted = s;
        std::ranges::sort(sorted);
        return ukemi::quantile(sorted, q);
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

}  // namespace ukemi
