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

// Moments of one worker's pass over all layers, from its start.
struct PassMoments {
    double forward_s = 0;                // the forward pass is over
    std::vector<double> backward_end_s;  // by layer
    double end_s() const { return backward_end_s.empty() ? forward_s : backward_end_s.front(); }
};
// A layer ends when the device has done its kernels after those before it, and not before the host
// has launched them, as blocks of a layout do (layout_player.hpp).
PassMoments pass_moments(const LayerTimes& times);

}  // namespace ukemi::sim
