// gradient_monitors.hpp — more of what gradients tell: noise with one worker, variance over many.
//
// The noise scale from two batch sizes or from all replicas is in gradient_noise.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/gradient_noise.hpp"

namespace ukemi::kernels {

// The noise of a job of one worker, from each gradient and the one before, as AdaptDL does it: two
// gradients over b samples each stand for two replicas. So |G|² is their product g·g' and tr Σ is
// b|g − g'|² ÷ 2. It takes the true gradient for the same in both steps: a change of it counts as
// noise, most of all early in training and after a change of the learning rate (forget then).
class ConsecutiveNoise {
public:
    // Nothing for the first gradient, and for one of another batch or length than the one before.
    std::optional<NoiseSample> add(std::span<const float> mean_gradient, std::int64_t samples);
    void forget() { samples_ = 0; }

private:
    std::vector<float> before_;
    std::int64_t samples_ = 0;  // over which it is the mean; 0: there is none
};

// KungFu's gradient variance of one tensor: ‖mean(g²) − mean(g)²‖₂ over the workers' gradients,
// from the two means that it all-reduces; its monitor sums this over tensors.
double variance_norm(std::span<const float> mean, std::span<const float> mean_of_squares);
// The same from all workers' gradients.
double variance_norm(std::span<const std::span<const float>> gradients);

}  // namespace ukemi::kernels
