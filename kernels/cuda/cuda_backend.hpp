// cuda_backend.hpp — workers that compute on this machine's GPUs: worker k on the k-th of them,
// round and round, so several may share one. Gradients by device_model, learners by cuda_device
// (streams); what workers exchange goes through host memory.
#pragma once

#include "kernels/compute_backend.hpp"

namespace ukemi::kernels::cuda {

const ComputeBackend& cuda_backend();

}  // namespace ukemi::kernels::cuda
