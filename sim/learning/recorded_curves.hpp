// recorded_curves.hpp — what a step is worth, from curves of a metric that were recorded by batch.
//
// Between the metric at the reference curve's beginning and the target lie 64 levels. Each curve
// says how many samples its batch takes from one level to the next (of its best value so far),
// counted from sample 0, also where it was first looked at later; the reference batch's samples are
// the progress. A step that is longer than a level goes through it and on, at the pace of the next.
// A batch between two recorded ones takes, from level to level, what lies between theirs, straight
// in log(batch): so a batch may change on the way. A smaller batch than any recorded takes the
// samples of the smallest, a larger one the steps of the largest: neither is promised more than was
// seen. A batch whose curve never reaches a level never learns it.
//
// How sure that is: the runs behind a curve differ. `spread` is their standard deviation of the way
// to the target, and each seed draws its own. How far interpolating is off is seen at each inner
// curve, when it is left out and what lies between its neighbours is taken for it.
#pragma once

#include <vector>

#include "sim/learning/noise_scale_law.hpp"

namespace ukemi::sim {

struct RecordedCurve {
    std::int64_t batch = 1;
    std::vector<MetricPoint> points;  // samples that this batch has used, increasing; at least two
};

struct RecordedCurves {
    std::vector<RecordedCurve> curves;  // increasing batches, at least one
    std::int64_t reference_batch = 1;   // of one of the curves
    double target = 0;                  // of the metric; the reference curve gets there
    double spread = 0;                  // relative
};

// Why these are no such curves; empty if all is well.
std::string curves_problem(const RecordedCurves& curves);

// An inner curve that gets to the target, and what its neighbours would say in its place.
struct LeftOutCurve {
    std::int64_t batch = 1;
    double recorded = 0;  // samples to the target
    double interpolated = 0;
};
std::vector<LeftOutCurve> leave_out_each(const RecordedCurves& curves);

std::shared_ptr<const ProgressLaw> make_recorded_curves(RecordedCurves curves);

}  // namespace ukemi::sim
