// gradient_monitors.cpp — the formulas.
#include "kernels/gradient_monitors.hpp"

#include <array>
#include <cmath>

#include "base/invariant.hpp"

namespace ukemi::kernels {

std::optional<NoiseSample> ConsecutiveNoise::add(std::span<const float> mean_gradient,
                                                 std::int64_t samples) {
    INVARIANT(samples > 0);
    std::optional<NoiseSample> found;
    if (samples == samples_ && mean_gradient.size() == before_.size()) {
        double own = 0;
        double other = 0;
        double middle = 0;
        for (std::size_t i = 0; i < before_.size(); ++i) {
            const auto now = static_cast<double>(mean_gradient[i]);
            const auto before = static_cast<double>(before_[i]);
            own += now * now;
            other += before * before;
            middle += (now + before) * (now + before) / 4;
        }
        found =
            noise_of_replicas(std::array<LocalNorm, 2>{{{samples, other}, {samples, own}}}, middle);
    }
    before_.assign(mean_gradient.begin(), mean_gradient.end());
    samples_ = samples;
    return found;
}

double variance_norm(std::span<const float> mean, std::span<const float> mean_of_squares) {
    INVARIANT(mean.size() == mean_of_squares.size());
    double sum = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
        const auto value = static_cast<double>(mean[i]);
        const double variance = static_cast<double>(mean_of_squares[i]) - value * value;
        sum += variance * variance;
    }
    return std::sqrt(sum);
}

double variance_norm(std::span<const std::span<const float>> gradients) {
    INVARIANT(!gradients.empty());
    const auto count = static_cast<double>(gradients.size());
    double sum = 0;
    for (std::size_t i = 0; i < gradients.front().size(); ++i) {
        double mean = 0;
        double squares = 0;
        for (const auto gradient : gradients) {
            INVARIANT(gradient.size() == gradients.front().size());
            const auto value = static_cast<double>(gradient[i]);
            mean += value / count;
            squares += value * value / count;
        }
        sum += (squares - mean * mean) * (squares - mean * mean);
    }
    return std::sqrt(sum);
}

}  // namespace ukemi::kernels
