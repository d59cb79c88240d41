// clustered_summary.cpp — as in statistics.cpp, nothing of this may reach an event.
#include "base/clustered_summary.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <vector>

namespace ukemi {
namespace {

struct ClusterShare {
    double weight = 0;    // its share of the values
    double residual = 0;  // its mean less the mean of all
};

// In the order of the clusters' numbers, whatever that of the values is.
std::vector<ClusterShare> clusters_in(std::span<const ClusterValue> values, double mean) {
    std::map<std::size_t, std::vector<double>> by_number;
    for (const ClusterValue& one : values) by_number[one.cluster].push_back(one.value - mean);
    std::vector<ClusterShare> clusters;
    for (const auto& [number, residuals] : by_number) {
        const auto share = static_cast<double>(residuals.size());
        clusters.push_back({share / static_cast<double>(values.size()), summarise(residuals).mean});
    }
    return clusters;
}

struct MeanSpread {
    double variance = 0;  // of the mean
    double degrees_of_freedom = 0;
};

MeanSpread spread_of(std::span<const ClusterShare> clusters) {
    double weights_squared = 0;
    for (const ClusterShare& one : clusters) weights_squared += one.weight * one.weight;
    // The variance is a sum of c r² over the clusters, where r is the means times a matrix M; the
    // degrees of freedom are tr(B)²/tr(B²) with B = Mᵀ diag(c) M, and tr(B) is Σw². Element g,h of
    // M Mᵀ is Σw² − w_g − w_h, with 1 more on the diagonal: so tr(B²) is three sums.
    MeanSpread spread;
    double c_sum = 0, cw_sum = 0, cww_sum = 0, diagonal = 0;
    for (const auto& [weight, residual] : clusters) {
        const double rest = weights_squared - 2 * weight;
        const double c = weight * weight / (1 + rest);
        spread.variance += c * residual * residual;
        c_sum += c;
        cw_sum += c * weight;
        cww_sum += c * weight * weight;
        diagonal += c * c * (1 + 2 * rest);
    }
    const double a = weights_squared;
    const double squares = a * a * c_sum * c_sum - 4 * a * c_sum * cw_sum + 2 * c_sum * cww_sum +
                           2 * cw_sum * cw_sum + diagonal;
    spread.degrees_of_freedom = a * a / squares;
    return spread;
}

}  // namespace

Summary summarise_clusters(std::span<const ClusterValue> values) {
    std::vector<double> plain;
    for (const ClusterValue& one : values) plain.push_back(one.value);
    Summary summary = summarise(plain);
    if (values.empty()) return summary;
    const std::vector<ClusterShare> clusters = clusters_in(values, summary.mean);
    summary.clusters = clusters.size();
    summary.mean_low_95 = summary.mean_high_95 = summary.mean;
    if (clusters.size() < 2) return summary;
    const MeanSpread spread = spread_of(clusters);
    const boost::math::students_t_distribution<double> student(spread.degrees_of_freedom);
    const double half_width = boost::math::quantile(student, 0.975) * std::sqrt(spread.variance);
    summary.mean_low_95 = summary.mean - half_width;
    summary.mean_high_95 = summary.mean + half_width;
    return summary;
}

}  // namespace ukemi
