// cuda_backend.hpp — workers that compute on this machine's GPUs: worker k on the k-th of them,
// round and round, so several may share one. Gradients by device_model, learners by cuda_device
// (streams). What workers exchange comes from and goes to host memory; sums go over NCCL where each
// has a GPU of its own (nccl/device_exchange.hpp).
#pragma once

#include "kernels/compute_backend.hpp"

namespace ukemi::kernels::cuda {

const ComputeBackend& cuda_backend();

// Why no GPU here runs the kernels that were built: none answers, or one is too old for their code;
// empty if all do. To be asked before anything else is.
std::string gpu_unusable();

}  // namespace ukemi::kernels::cuda
