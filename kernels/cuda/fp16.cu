// fp16.cu — the conversions.
#include <cuda_fp16.h>

#include "kernels/cuda/device_sums.hpp"
#include "kernels/cuda/fp16.hpp"

namespace ukemi::kernels::cuda {

namespace {
__global__ void __launch_bounds__(block_threads)
    to_half_kernel(const float* __restrict__ values, std::size_t count,
                   std::uint16_t* __restrict__ halves) {
    for_elements(count,
                 [&](std::size_t i) { halves[i] = __half_as_ushort(__float2half_rn(values[i])); });
}

__global__ void __launch_bounds__(block_threads)
    from_half_kernel(const std::uint16_t* __restrict__ halves, std::size_t count, float divisor,
                     float* __restrict__ values) {
    for_elements(count, [&](std::size_t i) {
        values[i] = __half2float(__ushort_as_half(halves[i])) / divisor;
    });
}
}  // namespace

cudaError_t launch_to_half(const float* values, std::size_t count, std::uint16_t* halves,
                           cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    to_half_kernel<<<blocks_for(count, 4), block_threads, 0, stream>>>(values, count, halves);
    return cudaGetLastError();
}

cudaError_t launch_from_half(const std::uint16_t* halves, std::size_t count, float divisor,
                             float* values, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    from_half_kernel<<<blocks_for(count, 4), block_threads, 0, stream>>>(halves, count, divisor,
                                                                         values);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
