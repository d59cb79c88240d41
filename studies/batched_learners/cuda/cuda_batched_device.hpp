// cuda_batched_device.hpp — a GPU that sends all learners through each layer together.
#pragma once

#include <memory>
#include <span>

#include "kernels/cuda/cuda_device.hpp"

namespace ukemi::studies {

// The rules of kernels::cuda::make_cuda_device with slack 0: a clock of all learners is one graph
// whose launches are as many as one learner's (DeviceNetwork with replicas). It means
// make_cpu_batched_device. Another number of learners makes its buffers anew.
std::unique_ptr<kernels::LearnerDevice> make_cuda_batched_device(
    const kernels::ImageNetwork& network, std::span<const float> weights,
    const kernels::cuda::CudaDeviceSettings& settings);

}  // namespace ukemi::studies
