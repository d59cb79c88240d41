// described_gpu.hpp — a kind of GPU in a scenario's own numbers, for what gpus.cpp has no entry of.
//
//   "gpu": {"like": "rtx4090", "name": "rtx5090", "tflops": {"fp32": 104.8, "bf16": 209.5},
//           "memory": "32 GB", "memory_bandwidth": "1792 GB/s", "multiprocessors": 170}
//
// What is not said is as that of `like`, whose shares of the peaks, NVLinks and NCCL it has, too.
#pragma once

#include <memory>

#include "base/config_reader.hpp"
#include "sim/cluster/gpu_profile.hpp"

namespace ukemi::sim {

// `usual` is what it is like where nobody says; null: it must be said. The profile's texts live as
// long as it does.
std::shared_ptr<const GpuProfile> read_described_gpu(ConfigReader config, const GpuProfile* usual);

}  // namespace ukemi::sim
