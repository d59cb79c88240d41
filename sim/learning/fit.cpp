#include "sim/learning/fit.hpp"

#include <algorithm>
#include <limits>

#include "base/invariant.hpp"

namespace ukemi::sim {

std::vector<NoiseScalePoint> noise_scale_from_run(std::span<const RecordedProgress> run,
                                                  std::int64_t batch, std::int64_t reference) {
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
        const double noise =
            below > 0 ? std::clamp((gain - 1) / below, 0.0, noise_most) : noise_most;
        const std::int64_t from = round_nearest(before.progress_steps * small);
        const std::int64_t to = round_nearest(row.progress_steps * small) - 1;
        if (curve.empty() || from > curve.back().samples) curve.push_back({from, noise, 0});
        if (to > curve.back().samples) curve.push_back({to, noise, 0});
        before = row;
    }
    return curve;
}

EpochsByBatch epochs_through(double batch_a, double epochs_a, double batch_b, double epochs_b) {
    INVARIANT(batch_a > 0 && batch_b > batch_a && epochs_a > 0 && epochs_b > 0);
    const double slope = (epochs_b - epochs_a) / (batch_b - batch_a);
    if (slope <= 0) return {0.5 * (epochs_a + epochs_b), std::numeric_limits<double>::infinity()};
    const double least = epochs_a - slope * batch_a;
    return {least, least / slope};
}

}  // namespace ukemi::sim
