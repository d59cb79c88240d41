// momentum.hpp — the optimiser's step as one kernel; it means local_step (kernels/averaging.hpp)
// and gives its bits. Device pointers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/element_rules.hpp"

namespace ukemi::kernels::cuda {

// Reads three and writes two numbers an element.
cudaError_t launch_momentum_step(MomentumRule rule, const float* gradient, float* weights,
                                 float* velocity, std::size_t count, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
