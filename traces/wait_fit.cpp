// wait_fit.cpp — two exponentials for recorded waits: expectation and maximisation, with the waits
// that something else cut short as censored.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "traces/market_fit.hpp"

namespace ukemi::traces {

namespace {

// Waits that differ by less than a thousandth, as so many times their mean: a long recording has
// millions of waits, and few lengths of them.
struct EqualWaits {
    double mean_h;
    double count;
};
std::vector<EqualWaits> equal_waits(std::span<const double> waits_h) {
    std::vector<double> sorted(waits_h.begin(), waits_h.end());
    std::ranges::sort(sorted);
    std::vector<EqualWaits> groups;
    for (std::size_t i = 0; i < sorted.size();) {
        const double most = sorted[i] * 1.001;
        double more = 0;  // than the first: a group of equals has their mean to the bit
        std::size_t end = i;
        for (; end < sorted.size() && sorted[end] <= most; ++end) more += sorted[end] - sorted[i];
        const auto count = static_cast<double>(end - i);
        groups.push_back({sorted[i] + more / count, count});
        i = end;
    }
    return groups;
}

}  // namespace

ShortOrLong fit_short_or_long(std::span<const double> waits_h, std::span<const double> cut_h) {
    const double total = std::accumulate(waits_h.begin(), waits_h.end(), 0.0) +
                         std::accumulate(cut_h.begin(), cut_h.end(), 0.0);
    const auto count = static_cast<double>(waits_h.size());
    const double mean = total / std::max(1.0, count);
    if (waits_h.size() < 8) return {0.5, std::max(mean, 1e-4), std::max(mean, 1e-4)};
    ShortOrLong fit{0.5, mean / 5, mean * 2};
    const std::vector<EqualWaits> all_ended = equal_waits(waits_h);
    const std::vector<EqualWaits> all_cut = equal_waits(cut_h);
    for (int round = 0; round < 500; ++round) {
        double shorts = 0, short_ended = 0, short_time = 0, long_ended = 0, long_time = 0;
        const auto weigh = [&](const EqualWaits& wait, bool ended) {
            double a = fit.short_share * std::exp(-wait.mean_h / fit.short_h_mean);
            double b = (1 - fit.short_share) * std::exp(-wait.mean_h / fit.long_h_mean);
            if (ended) a /= fit.short_h_mean, b /= fit.long_h_mean;
            const double weight = wait.count * (a + b > 0 ? a / (a + b) : 0);
            const double rest = wait.count - weight;
            shorts += weight;
            short_time += weight * wait.mean_h;
            long_time += rest * wait.mean_h;
            if (ended) short_ended += weight, long_ended += rest;
        };
        for (const EqualWaits& wait : all_ended) weigh(wait, true);
        for (const EqualWaits& wait : all_cut) weigh(wait, false);
        if (short_ended < 0.5 || long_ended < 0.5) return {0.5, mean, mean};  // one kind of wait
        fit.short_share = shorts / (count + static_cast<double>(cut_h.size()));
        fit.short_h_mean = short_time / short_ended;
        fit.long_h_mean = long_time / long_ended;
    }
    return fit;
}

}  // namespace ukemi::traces
