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

// The forward and the backward pass of all layers, one after the other, on one worker.
double pass_seconds(const LayerTimes& times);

}  // namespace ukemi::sim
