// batch_view.hpp — what rules for batches and learning rates ask of an Observation and a Plan.
#pragma once

#include <algorithm>
#include <cmath>

#include "policies/policy.hpp"

namespace ukemi::policies {

inline constexpr std::int64_t batch_most = 1'000'000'000;  // that a Plan may hold

// Samples of a step of the whole group, now.
inline std::int64_t batch_of(const PolicyView& view) {
    return samples_per_step(view.plan, std::max({view.seen.workers, view.seen.workers_min, 1}));
}

// What was measured, or 0 where nothing of use was.
inline double noise_scale_of(const PolicyView& view) {
    const double noise = view.seen.gradient.noise_scale;
    return std::isfinite(noise) && noise > 0 ? noise : 0;
}

// The nearest whole batch within bounds; `batch` is not NaN.
inline std::int64_t whole_batch(double batch, std::int64_t least, std::int64_t most) {
    return round_nearest(std::clamp(batch, static_cast<double>(least), static_cast<double>(most)));
}

// AdaScale's gain, as McCandlish et al. have it in the noise scale: how much farther one step of
// `batch` leads than one of `reference` (ICML'20, eq. 3; arXiv:1812.06162, eq. 2.6).
inline double gain_of(double noise_scale, double batch, double reference) {
    return (1 + noise_scale / reference) / (1 + noise_scale / batch);
}

}  // namespace ukemi::policies
