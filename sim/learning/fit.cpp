#include "sim/learning/fit.hpp"

#include <algorithm>
#include <limits>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {

std::vector<NoiseScalePoint> noise_scale_from_run(std::span<const RecordedProgress> run,
                                                  std::int64_t batch, std::int64_t reference,
                                                  double exponent) {
    INVARIANT(!run.empty() && reference >= 1 && batch > reference);
    const double large = static_cast<double>(batch);
    const double small = static_cast<double>(reference);
    constexpr double noise_most = 1e12;
    std::vector<NoiseScalePoint> curve;
    RecordedProgress before;
    for (const RecordedProgress& row : run) {
        INVARIANT(row.progress_steps > before.progress_steps && row.steps > before.steps);
        const double gain =
            (row.progress_steps - before.progress_steps) / (row.steps - before.steps);
        const double below = 1 / small - gain / large;
        const double found =
            below > 0 ? std::clamp((gain - 1) / below, 0.0, noise_most) : noise_most;
        const double cooler = exact::pow(std::min(1.0, gain * small / large), exponent);
        const double noise = found * cooler;
        const double squared = row.squared_norm / cooler;
        const std::int64_t from = round_nearest(before.progress_steps * small);
        const std::int64_t to = round_nearest(row.progress_steps * small) - 1;
        if (curve.empty() || from > curve.back().samples) curve.push_back({from, noise, squared});
        if (to > curve.back().samples) curve.push_back({to, noise, squared});
        before = row;
    }
    return curve;
}

BatchLine relative_line(const std::map<double, double>& points, double without) {
    double w = 0;
    double wx = 0;
    double wxx = 0;
    double wy = 0;
    double wxy = 0;
    for (const auto& [x, value] : points) {
        if (x == without) continue;
        const double weight = 1 / (value * value);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * value;
        wxy += weight * x * value;
    }
    const double spread = w * wxx - wx * wx;
    const double slope = spread > 0 ? std::max((w * wxy - wx * wy) / spread, 0.0) : 0;
    return {(wy - slope * wx) / w, slope};
}

EpochsByBatch epochs_through(double batch_a, double epochs_a, double batch_b, double epochs_b) {
    INVARIANT(batch_a > 0 && batch_b > batch_a && epochs_a > 0 && epochs_b > 0);
    const double slope = (epochs_b - epochs_a) / (batch_b - batch_a);
    if (slope <= 0) return {0.5 * (epochs_a + epochs_b), std::numeric_limits<double>::infinity()};
    const double least = epochs_a - slope * batch_a;
    return {least, least / slope};
}

}  // namespace ukemi::sim
