// batched_devices.hpp — learners whose layers are computed together, all of a layer in one call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/learners/learner_device.hpp"

namespace ukemi::studies {

// One thread computes a layer of all learners before the next layer (Model::gradients): the bits of
// kernels::make_cpu_device. `model` outlives the device.
std::unique_ptr<kernels::LearnerDevice> make_cpu_batched_device(const kernels::Model& model,
                                                                std::int32_t features,
                                                                std::int32_t classes,
                                                                std::span<const float> weights);

}  // namespace ukemi::studies
