// fit.hpp — the noise-scale law from recorded runs: what is fitted, so that the rest is predicted.
#pragma once

#include <map>
#include <span>

#include "sim/learning/noise_scale_law.hpp"

namespace ukemi::sim {

// One row of a recorded run: after so many steps of its batch, the progress in steps of the
// reference batch (AdaptDL's "statistical iterations").
struct RecordedProgress {
    double progress_steps = 0;
    double steps = 0;
    double squared_norm = 0;  // |G|²; zero: not known
};

// The noise scale of the schedule with which the law gives each row of a run at `batch` its steps:
// from the gain r = Δprogress/Δsteps = (1 + φ/B₀) ÷ (1 + φ/B), φ = (r − 1) ÷ (1/B₀ − r/B), bounded
// where noise of the record leaves no such φ; and from there to the schedule's own temperature,
// φ·e^κ with e = r·B₀/B, since the run had AdaScale's rates; |G|² falls as φ rises. Level between
// the rows. `batch` is larger than `reference`; rows rise in both columns, and there is one at
// least.
std::vector<NoiseScalePoint> noise_scale_from_run(std::span<const RecordedProgress> run,
                                                  std::int64_t batch, std::int64_t reference,
                                                  double exponent);

// κ: the noise scale rises with T^−κ as the temperature T = rate ÷ batch falls. A half: what
// Pollux's ImageNet run at batch 1600 asks for between those at 200 and 12,800 that give the curve;
// chosen with its other runs, those of CIFAR-10 and AdaScale's table in sight. At the drops by ten
// of the same runs the noise scale rises by 3.2 and 2.9.
inline constexpr double measured_noise_exponent = 0.5;

// a + b·B through points by batch, with the least relative errors squared and b no less than zero;
// one of the batches can be left out. Two others at least.
struct BatchLine {
    double at_zero = 0;
    double slope = 0;
    double at(double batch) const { return at_zero + slope * batch; }
};
BatchLine relative_line(const std::map<double, double>& points, double without = -1);

// Two measured points of "what is used up to the target" = a + b·B: samples or epochs by batch,
// E = E_min·(1 + B/B_crit) (McCandlish et al., eq. 2.11 solved for E).
struct EpochsByBatch {
    double epochs_min = 0;
    double critical_batch = 0;  // infinite if the larger batch does not take more
    double at(double batch) const { return epochs_min * (1 + batch / critical_batch); }
};
EpochsByBatch epochs_through(double batch_a, double epochs_a, double batch_b, double epochs_b);

}  // namespace ukemi::sim
