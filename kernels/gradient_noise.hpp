// gradient_noise.hpp — how noisy the gradient is, from norms that a training step has anyway.
//
// The gradient over b samples has E|g_b|² = |G|² + tr Σ ÷ b (McCandlish et al., «An Empirical Model
// of Large-Batch Training», arXiv:1812.06162, appendix A.1): two batch sizes give |G|² and tr Σ,
// and their quotient is the simple noise scale B = tr Σ ÷ |G|², in samples. The estimators are
// unbiased, so one step's may be negative; the quotient is taken of averages over steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ukemi::kernels {

struct NoiseSample {
    double squared_norm = 0;      // |G|²
    double covariance_trace = 0;  // tr Σ
};

// KungFu's form (its NoiseScale operator): G = (B|g_B|² − b|g_b|²) ÷ (B − b) and
// S = (|g_b|² − |g_B|²) ÷ (1/b − 1/B), from one gradient over b samples and one over B > b.
NoiseSample noise_of_two_batches(double small_batch, double big_batch, double small_squared_norm,
                                 double big_squared_norm);

// What one rank knows: the squared norm of its mean gradient, over so many samples.
struct LocalNorm {
    std::int64_t samples = 0;
    double squared_norm = 0;
};
// The same from all ranks' gradients, as AdaptDL does it: with c equal shares this is its
// G = (c|ḡ|² − mean|g_i|²) ÷ (c − 1), S = (mean|g_i|² − |ḡ|²) · B ÷ (c − 1). Unequal shares stay
// unbiased with the harmonic mean of the b_i for b. Ranks without samples do not count; nothing if
// fewer than two are left.
std::optional<NoiseSample> noise_of_replicas(std::span<const LocalNorm> ranks,
                                             double average_squared_norm);

// KungFu's smoothing: the operator's and the optimiser's weight of what was before.
inline constexpr double noise_smoothing_kungfu_operator = 0.6;
inline constexpr double noise_smoothing_kungfu = 0.9;

// Moving averages of G and S, corrected for their beginning; what is not finite is ignored.
struct NoiseAverages {
    double squared_norm = 0;
    double covariance_trace = 0;
    std::int64_t samples = 0;

    void add(const NoiseSample& sample, double smoothing);
    // Nothing before the first sample, and while the averages are not those of any noise: |G|² not
    // positive or tr Σ negative.
    std::optional<double> noise_scale() const;
    friend bool operator==(const NoiseAverages&, const NoiseAverages&) = default;
};

// KungFu's EMA(α, cap): a new value is first clipped to [average ÷ cap, average × cap], so that one
// outlier cannot carry the average away. The first value initialises. Values are positive.
class ClippedAverage {
public:
    ClippedAverage(double smoothing, double cap) : smoothing_(smoothing), cap_(cap) {}
    double add(double value);  // returns the average
    std::optional<double> value() const { return value_; }

private:
    double smoothing_;
    double cap_;
    std::optional<double> value_;
};

}  // namespace ukemi::kernels
