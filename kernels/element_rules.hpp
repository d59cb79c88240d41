// element_rules.hpp — what happens to one element: the arithmetic that CPU references and CUDA
// kernels share, so that both give equal bits.
//
// Single precision with + − × ÷ only, never contracted. Also compiled for devices.
#pragma once

#include <cstdint>

namespace ukemi::kernels {

// Heavy-ball momentum with L2 decay: v ← m v + (g + wd w); w ← w − lr v.
struct MomentumRule {
    float momentum = 0;
    float weight_decay = 0;
    float rate = 0;
    constexpr float velocity(float old, float gradient, float weight) const {
        return momentum * old + (gradient + weight_decay * weight);
    }
    constexpr float weight(float old, float velocity) const { return old - rate * velocity; }
};

// Crossbow (Koliousis et al., VLDB'19, Alg. 1): a replica's correction α(w − z), and the central
// model's step z + Σ corrections + μ(z − z_prev).
constexpr float averaging_correction(float weight, float central, float rate) {
    return rate * (weight - central);
}
constexpr float central_step(float central, float previous, float correction_sum, float momentum) {
    return central + correction_sum + momentum * (central - previous);
}

// Halfway between two models (pair averaging), or a share of the way to a mean (KungFu's SMA).
constexpr float middle_of(float weight, float peer) { return 0.5F * (weight + peer); }
constexpr float pulled_to(float weight, float mean, float rate) {
    return (1 - rate) * weight + rate * mean;
}

constexpr float magnitude_of(float value) { return value < 0 ? -value : value; }
// What is no number is the largest of all, so that a scale does not hide it.
constexpr float larger_of(float a, float b) { return b > a || b != b ? b : a; }

// Stochastic rounding of |value| ÷ scale to one of 0 … levels, with its sign (QSGD, Alistarh et
// al., arXiv:1610.02132, eq. 3.1). `uniform` in [0, 1). Unbiased: E[level] = levels · value ÷ scale
// for |value| ≤ scale. Nothing is rounded to a scale of zero.
constexpr std::int32_t quantised(float value, float scale, std::int32_t levels, float uniform) {
    if (!(scale > 0)) return 0;
    const float ratio = magnitude_of(value) / scale * static_cast<float>(levels);
    if (!(ratio < static_cast<float>(levels))) return value < 0 ? -levels : levels;
    const auto below = static_cast<std::int32_t>(ratio);
    const std::int32_t level = below + (uniform < ratio - static_cast<float>(below) ? 1 : 0);
    return value < 0 ? -level : level;
}

// The k strata of random-k: the elements [begin, end) of stratum i of d elements.
struct Stratum {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};
constexpr Stratum stratum_of(std::int64_t index, std::int64_t kept, std::int64_t elements) {
    const std::int64_t size = elements / kept;
    const std::int64_t longer = elements % kept;  // the first so many have one element more
    const std::int64_t begin = index * size + (index < longer ? index : longer);
    return {begin, begin + size + (index < longer ? 1 : 0)};
}

}  // namespace ukemi::kernels
