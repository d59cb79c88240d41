// layer_times.hpp — what each layer takes on one worker of a layout, kernel by kernel.
#pragma once

#include <vector>

#include "sim/cluster/kernel_time.hpp"
#include "sim/cluster/model_profile.hpp"
#include "sim/step/layout_plan.hpp"

namespace ukemi::sim {

// Of a micro-batch, on a worker of a tensor group. The host launches kernels ahead of the device:
// where it needs longer than they do, it is what a pass takes.
LayerTimes layer_times(const ModelProfile& model, const LayoutRequest& request,
                       const KernelClock& clock);

// Moments of one worker that computes so many micro-batches, from its start: of the last of them.
struct PassMoments {
    double begin_s = 0;
    double forward_s = 0;                // the forward pass is over
    std::vector<double> backward_end_s;  // by layer
    double end_s = 0;
};
// A layer ends when the device has done its kernels after those before it, and not before the host
// has launched them, who runs ahead over all micro-batches, as blocks of a layout do
// (layout_player.hpp).
PassMoments pass_moments(const LayerTimes& times, std::int64_t micro_batches);

// How long a stage of a layout computes so many micro-batches, forwards and backwards in turn, as a
// share of what its model's pass takes, if it waits for nobody but its host; `host_waits`: who
// waits in turn for what comes from another stage.
double share_alone(const StageWork& stage, std::int64_t micro_batches, bool host_waits);

}  // namespace ukemi::sim
