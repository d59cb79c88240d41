// noise_scale_law.hpp — what a step is worth, by its batch, its learning rate and the noise scale.
//
// A reference schedule trains at one batch B₀, with a rate that falls by drops: phase k has the
// factor F_k (F_0 = 1). Training is to collect what each phase teaches, c_k in samples of that
// schedule; N_k is what the schedule itself collects by its end, w_k the share of the schedule's
// samples that the phase takes. A run is as good as the schedule when its excess is gone:
//
//     X = Σ w_k (N_k/c_k − 1) ≤ 0,   and accuracy = that of the schedule − scale · X.
//
// With η the rate in units of the first one, T = η B₀/B the temperature (Smith et al., ICLR'18:
// noise ∝ η/B), φ the noise scale and e = (φ + B₀)/(φ + B) a sample's statistical efficiency
// (McCandlish et al., arXiv:1812.06162, eq. 2.7; Pollux, OSDI'21, eq. 7), a step collects
//
//     c_0: B₀ · steady(η) · hot(T)                  the way, as long as the rates that made it;
//     c_k: B · e · hot(ρ) · min(1, ρ)^¼, ρ = T/(e F_k)   what shows once the noise is that low.
//
// So a batch k times as large at k times the rate is worth the same samples (Goyal et al.,
// arXiv:1706.02677), at the rate of AdaScale's gain (1 + φ/B₀)/(1 + φ/B) a batch of B₀ or more is
// worth that gain in steps, in all phases alike (Johnson et al., ICML'20), and a batch grown by 1/f
// does what a rate dropped by f does (Smith et al.). A smaller batch at that rate has a temperature
// above 1, and hot(T) takes of the way what it takes of any hotter step: less than the gain. A drop
// that comes early costs its part of the way, and colder steps still go on with it.
//
//     hot(x) = (2 − a x)/(2 − a) above 1, no less than 0: times x it is McCandlish's parabola
//              x(2 − x), with a the first rate over the best one. Up to 1 a step is cold enough.
//     steady(η) = η up to the limit L, from there η (L/η)³: beyond what the curvature bears.
//
// The noise scale is measured over the schedule; at another temperature than the schedule's it is
// (T/F)^−κ of that. The fourth root, the cube and the form of X were chosen with Goyal's table in
// sight; a, L and the scale are fitted by `ukemi fit --learning`, which says what it fits.
//
// Where no policy turns the rate (`ada_scale`), all is one phase, and each step has AdaScale's
// rate.
#pragma once

#include <optional>
#include <vector>

#include "sim/learning/learning_model.hpp"

namespace ukemi::sim {

enum class RateRule : std::uint8_t {
    ada_scale,  // r(B) times the reference, always
    plan,       // the Plan's: policies turn it, and drop it
};

struct NoiseScalePoint {       // straight in between, level outside
    std::int64_t samples = 0;  // of the reference schedule
    double noise_scale = 0;
    double squared_norm = 0;  // |G|², as measured; zero: not known
};

struct RateDrop {
    std::int64_t samples = 0;  // of the reference schedule
    double factor = 0.1;       // of the learning rate, from there on
    double noise_factor = 10;  // of the noise scale; 1 where the curve has it already
};

struct MetricPoint {
    std::int64_t samples = 0;
    double value = 0;
};

struct FinalAccuracy {
    double reference = 0;  // of the schedule at its end
    double scale = 0;      // that an excess of 1 costs
};

struct NoiseScaleLaw {
    std::int64_t samples = 1;  // that the reference schedule takes
    std::int64_t reference_batch = 1;
    double reference_rate = 0;           // that goes with it at the beginning
    double reference_over_best = 1;      // a: above 0 and below 2
    double rate_limit = 0;               // L, a learning rate; 0: none
    std::vector<NoiseScalePoint> noise;  // increasing samples, at least one
    double noise_exponent = 0;           // κ, 0 to 1
    std::vector<RateDrop> drops;         // increasing samples below `samples`, maybe none
    RateRule rule = RateRule::ada_scale;
    bool until_samples = false;             // done after so many samples, whatever was learned
    double excess = 0;                      // X that is allowed, above −1; of a target accuracy
    std::optional<FinalAccuracy> accuracy;  // then the metric is that, at the end alone
    std::vector<MetricPoint> metric;        // increasing samples, straight in between; maybe none
    // From run to run each N_k is this much farther or nearer (standard deviation, relative); the
    // noise scale and the drops stay where they are, and the metric goes with the target.
    double spread = 0;
};

std::shared_ptr<const LearningModel> make_noise_scale_law(NoiseScaleLaw law);

// The noise scale at which AdaScale's rates are at home: φ·e^−κ with e what that noise scale gives,
// for a noise scale φ that was measured at the schedule's own batch.
double noise_at_its_gain(double noise, double exponent, double batch, double reference);

}  // namespace ukemi::sim
