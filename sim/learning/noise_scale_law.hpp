// noise_scale_law.hpp — what a step is worth by the gradient noise scale.
//
// With φ the noise scale, a step of batch B makes 1 ÷ (S_min·(1 + φ/B)) of the way (McCandlish et
// al., arXiv:1812.06162, eq. 2.7 and D.1): in samples at the reference batch B₀, B times the
// statistical efficiency (φ + B₀) ÷ (φ + B) (Pollux, OSDI'21, eq. 7). φ is a curve over progress.
//
// That is with the learning rate that is best for B. The best rate grows with the batch as the
// gain r(B) = (1 + φ/B₀) ÷ (1 + φ/B) (eq. 2.6; AdaScale's gain, ICML'20), and a rate of x times the
// best one learns x·(2 − x) of what the best one would (eq. 2.5: ΔL = ε|G|² − ½ε²(…), a parabola):
// less when too small, nothing from twice the best rate on. The rate of the reference batch may be
// below the best one there (`reference_over_best`), as is usual: then larger batches bear more than
// the gain.
//
// A drop multiplies the best rate by `factor` from some point on, and the noise scale with it: half
// the rate, twice the noise scale (McCandlish et al., appendix C: B ∝ 1/T). So a batch grown by
// 1/factor at the old rate is as good as the drop (Smith et al., ICLR'18), and neither is a noise
// floor: nothing more is learned until one of them happens.
#pragma once

#include <vector>

#include "sim/learning/learning_model.hpp"

namespace ukemi::sim {

enum class RateRule : std::uint8_t {
    ada_scale,    // r(B) times the reference: as near the best as that is
    fixed,        // that of the reference batch, whatever the batch
    linear,       // ∝ B (Goyal et al. 2017), reached step by step in the warm-up
    square_root,  // ∝ √B (Krizhevsky 2014; Hoffer et al. 2017), with that warm-up
    legw,         // ∝ √B, with a warm-up that grows with B (You et al. 2019)
    plan,         // the Plan's: policies turn it
};

struct NoiseScalePoint {       // straight in between, level outside
    std::int64_t samples = 0;  // of progress
    double noise_scale = 0;
    double squared_norm = 0;  // |G|², as measured; zero: not known
};

struct RateDrop {
    std::int64_t samples = 0;  // of progress
    double factor = 0.1;       // of the best learning rate, from there on
    double noise_factor = 10;  // of the noise scale; 1 where the curve has it already
};

struct MetricPoint {
    std::int64_t samples = 0;
    double value = 0;
};

struct NoiseScaleLaw {
    std::int64_t samples = 1;  // that the task takes at the reference batch
    std::int64_t reference_batch = 1;
    double reference_rate = 0;           // that goes with it at the beginning
    double reference_over_best = 1;      // reference_rate ÷ the best one, above 0 and below 2
    std::vector<NoiseScalePoint> noise;  // increasing samples, at least one
    std::vector<RateDrop> drops;         // increasing samples, maybe none
    RateRule rule = RateRule::ada_scale;
    std::int64_t warm_up_samples = 0;  // of progress; for linear, square_root and legw
    // Beyond this batch a step is worth (large_batch_from ÷ B)^large_batch_exponent of what the law
    // says: large batches generalise worse (Keskar et al. 2017; Goyal et al., table 1). 0: never.
    std::int64_t large_batch_from = 0;
    double large_batch_exponent = 0;
    std::vector<MetricPoint> metric;  // increasing samples, straight in between; maybe none
    // From run to run the target is this much farther or nearer (standard deviation, relative); the
    // noise scale and the drops stay where they are, and the metric goes with the target.
    double spread = 0;
};

std::shared_ptr<const ProgressLaw> make_noise_scale_law(NoiseScaleLaw law);

}  // namespace ukemi::sim
