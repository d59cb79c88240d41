// qsgd.hpp — QSGD on the device, a byte an element: kernels/codecs/qsgd.cpp with the same draws.
//
// Levels have the CPU's bits for the same scale. The scale is a norm, and a sum in another order:
// it may differ in the last bit of single precision. TernGrad is one level of the largest
// magnitude.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/element_draws.hpp"

namespace ukemi::kernels::cuda {

// ‖v‖ in single precision. Workspace as launch_squared_norm, and one double more.
cudaError_t launch_norm(const float* values, std::size_t count, double* workspace, float* norm,
                        cudaStream_t stream);
// Reads four bytes an element and writes one; `scale` is on the device; 1 ≤ levels ≤ 127.
cudaError_t launch_quantise(const float* values, std::size_t count, const float* scale,
                            std::int32_t levels, DrawKey key, std::uint64_t step, std::int8_t* out,
                            cudaStream_t stream);
// mean = the mean over ranks of scale_r ÷ levels × level. Levels lie rank after rank, scales too.
cudaError_t launch_mean_of_levels(const std::int8_t* levels_of_ranks, const float* scales,
                                  std::size_t ranks, std::size_t count, std::int32_t levels,
                                  float* mean, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
