// fp16.hpp — to half precision and back on the device: the conversions of kernels/half.hpp, by the
// hardware's own instruction; equal bits but for what is no number.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace ukemi::kernels::cuda {

// Reads four bytes an element and writes two.
cudaError_t launch_to_half(const float* values, std::size_t count, std::uint16_t* halves,
                           cudaStream_t stream);
// value ÷ divisor: the mean of so many ranks' sum. Reads two bytes an element and writes four.
cudaError_t launch_from_half(const std::uint16_t* halves, std::size_t count, float divisor,
                             float* values, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
