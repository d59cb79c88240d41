// signed_rank.cpp — for tables and figures, as statistics.cpp: nothing here may reach an event.
#include "base/signed_rank.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/invariant.hpp"

namespace ukemi {
namespace {

constexpr std::size_t exact_most = 200;

// Twice the ranks of the sizes, so that a shared mean rank is a whole number.
std::vector<std::size_t> doubled_ranks(std::span<const double> sorted_sizes) {
    std::vector<std::size_t> ranks;
    for (std::size_t first = 0; first < sorted_sizes.size();) {
        std::size_t end = first;
        while (end < sorted_sizes.size() && sorted_sizes[end] == sorted_sizes[first]) ++end;
        ranks.insert(ranks.end(), end - first, first + 1 + end);  // first+1 … end, twice their mean
        first = end;
    }
    return ranks;
}

// The probability that a sum of these ranks, each taken or not as a coin falls, is at most `sum`.
double probability_at_most(std::span<const std::size_t> ranks, std::size_t sum) {
    std::vector<double> probability(std::accumulate(ranks.begin(), ranks.end(), std::size_t{1}));
    probability[0] = 1;
    for (const std::size_t rank : ranks) {
        for (std::size_t at = probability.size(); at-- > 0;) {
            probability[at] /= 2;
            if (at >= rank) probability[at] += probability[at - rank] / 2;
        }
    }
    double total = 0;
    for (std::size_t at = 0; at <= sum; ++at) total += probability[at];
    return total;
}

double normal_p(std::span<const std::size_t> ranks, std::size_t lesser_sum) {
    double mean = 0, variance = 0;
    for (const std::size_t rank : ranks) {
        const auto value = static_cast<double>(rank);
        mean += value / 2;
        variance += value * value / 4;
    }
    const boost::math::normal_distribution<double> normal;
    const double z = (static_cast<double>(lesser_sum) - mean) / std::sqrt(variance);
    return 2 * boost::math::cdf(normal, z);
}

}  // namespace

double signed_rank_p(std::span<const double> differences) {
    std::vector<double> sorted;
    for (const double one : differences) {
        INVARIANT(std::isfinite(one));
        if (one != 0) sorted.push_back(one);
    }
    if (sorted.empty()) return 1;
    std::ranges::sort(sorted, {}, [](double one) { return std::abs(one); });
    std::vector<double> sizes;
    for (const double one : sorted) sizes.push_back(std::abs(one));
    const std::vector<std::size_t> ranks = doubled_ranks(sizes);
    std::size_t above = 0, below = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) (sorted[i] > 0 ? above : below) += ranks[i];
    const std::size_t lesser = std::min(above, below);
    const double p = ranks.size() <= exact_most ? 2 * probability_at_most(ranks, lesser)
                                                : normal_p(ranks, lesser);
    return std::min(p, 1.0);
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t index) { return p_values[index]; });
    std::vector<double> adjusted(p_values.size());
    double largest = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto left = static_cast<double>(order.size() - i);
        largest = std::max(largest, std::min(1.0, left * p_values[order[i]]));
        adjusted[order[i]] = largest;
    }
    return adjusted;
}

}  // namespace ukemi
