// fit.hpp — the noise-scale law from recorded runs: what is fitted, so that the rest is predicted.
#pragma once

#include <span>

#include "sim/learning/noise_scale_law.hpp"

namespace ukemi::sim {

// One row of a recorded run: after so many steps of its batch, the progress in steps of the
// reference batch (AdaptDL's "statistical iterations").
struct RecordedProgress {
    double progress_steps = 0;
    double steps = 0;
};

// The noise scale with which the law gives each row of a run at `batch` its steps: from the gain
// r = Δprogress/Δsteps = (1 + φ/B₀) ÷ (1 + φ/B), φ = (r − 1) ÷ (1/B₀ − r/B), bounded where noise of
// the record leaves no such φ. Level between the rows. `batch` is larger than `reference`; rows
// rise in both columns, and there is one at least.
std::vector<NoiseScalePoint> noise_scale_from_run(std::span<const RecordedProgress> run,
                                                  std::int64_t batch, std::int64_t reference);

// Two measured points of "what is used up to the target" = a + b·B: samples or epochs by batch,
// E = E_min·(1 + B/B_crit) (McCandlish et al., eq. 2.11 solved for E).
struct EpochsByBatch {
    double epochs_min = 0;
    double critical_batch = 0;  // infinite if the larger batch does not take more
    double at(double batch) const { return epochs_min * (1 + batch / critical_batch); }
};
EpochsByBatch epochs_through(double batch_a, double epochs_a, double batch_b, double epochs_b);

}  // namespace ukemi::sim
