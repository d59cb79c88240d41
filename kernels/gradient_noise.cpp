// gradient_noise.cpp — the formulas and the averages.
#include "kernels/gradient_noise.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"
#include "kernels/setting_ranges.hpp"

namespace ukemi::kernels {

NoiseSample noise_of_two_batches(double small_batch, double big_batch, double small_squared_norm,
                                 double big_squared_norm) {
    INVARIANT(small_batch > 0 && big_batch > small_batch);
    NoiseSample sample;
    sample.squared_norm = (big_batch * big_squared_norm - small_batch * small_squared_norm) /
                          (big_batch - small_batch);
    sample.covariance_trace =
        (small_squared_norm - big_squared_norm) / (1 / small_batch - 1 / big_batch);
    return sample;
}

std::optional<NoiseSample> noise_of_replicas(std::span<const LocalNorm> ranks,
                                             double average_squared_norm) {
    std::int64_t count = 0;
    double samples = 0;
    double inverse_sum = 0;
    double norm_sum = 0;
    for (const LocalNorm& rank : ranks) {
        if (rank.samples == 0) continue;
        ++count;
        samples += static_cast<double>(rank.samples);
        inverse_sum += 1 / static_cast<double>(rank.samples);
        norm_sum += rank.squared_norm;
    }
    if (count < 2) return std::nullopt;
    const double ranks_counted = static_cast<double>(count);
    return noise_of_two_batches(ranks_counted / inverse_sum, samples, norm_sum / ranks_counted,
                                average_squared_norm);
}

// After t samples, sample i has weight θ^(t−i) out of their sum, as in AdaptDL: what an average
// from zero becomes when it is divided by 1 − θᵗ. One that starts at its first sample, as KungFu's
// does, gives that sample θ^(t−1) of the whole: 64 % after 45 samples at θ = 0.99.
void NoiseAverages::add(const NoiseSample& sample, double smoothing) {
    // A step that overflowed says nothing, and would stay in the averages for ever.
    if (!std::isfinite(sample.squared_norm) || !std::isfinite(sample.covariance_trace)) return;
    INVARIANT(smoothing >= noise_smoothing_range.least && smoothing <= noise_smoothing_range.most);
    const auto before = static_cast<double>(samples);
    const double keep =
        smoothing * (1 - exact::pow(smoothing, before)) / (1 - exact::pow(smoothing, before + 1));
    squared_norm = keep * squared_norm + (1 - keep) * sample.squared_norm;
    covariance_trace = keep * covariance_trace + (1 - keep) * sample.covariance_trace;
    ++samples;
}

std::optional<double> NoiseAverages::noise_scale() const {
    if (samples == 0 || !(squared_norm > 0) || !(covariance_trace >= 0)) return std::nullopt;
    return covariance_trace / squared_norm;
}

double ClippedAverage::add(double value) {
    if (!value_) return value_.emplace(value);
    const double clipped = std::clamp(value, *value_ / cap_, *value_ * cap_);
    value_ = smoothing_ * *value_ + (1 - smoothing_) * clipped;
    return *value_;
}

}  // namespace ukemi::kernels
