// fp16.cu — the conversions, four neighbours at a time.
#include <cuda_fp16.h>

#include "kernels/cuda/device_tiles.hpp"
#include "kernels/cuda/fp16.hpp"

namespace ukemi::kernels::cuda {

namespace {
__device__ std::uint16_t half_of(float value) { return __half_as_ushort(__float2half_rn(value)); }
__device__ float value_of(std::uint16_t half) { return __half2float(__ushort_as_half(half)); }

template <bool aligned>
__global__ void __launch_bounds__(block_threads)
    to_half_kernel(const float* __restrict__ values, std::size_t count,
                   std::uint16_t* __restrict__ halves) {
    for_tile<aligned>(
        blockIdx.x, count,
        [&](std::size_t g) { return reinterpret_cast<const float4*>(values)[g]; },
        [&](std::size_t g, const float4& four) {
            reinterpret_cast<ushort4*>(halves)[g] =
                make_ushort4(half_of(four.x), half_of(four.y), half_of(four.z), half_of(four.w));
        },
        [&](std::size_t i) { halves[i] = half_of(values[i]); });
}

template <bool aligned>
__global__ void __launch_bounds__(block_threads)
    from_half_kernel(const std::uint16_t* __restrict__ halves, std::size_t count, float divisor,
                     float* __restrict__ values) {
    const auto value = [&](std::uint16_t half) { return value_of(half) / divisor; };
    for_tile<aligned>(
        blockIdx.x, count,
        [&](std::size_t g) { return reinterpret_cast<const ushort4*>(halves)[g]; },
        [&](std::size_t g, const ushort4& four) {
            reinterpret_cast<float4*>(values)[g] =
                make_float4(value(four.x), value(four.y), value(four.z), value(four.w));
        },
        [&](std::size_t i) { values[i] = value(halves[i]); });
}

bool by_fours(const float* values, const std::uint16_t* halves) {
    return lies_at(values, sizeof(float4)) && lies_at(halves, sizeof(ushort4));
}
}  // namespace

cudaError_t launch_to_half(const float* values, std::size_t count, std::uint16_t* halves,
                           cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const auto kernel = by_fours(values, halves) ? to_half_kernel<true> : to_half_kernel<false>;
    kernel<<<tiles_for(count), block_threads, 0, stream>>>(values, count, halves);
    return cudaGetLastError();
}

cudaError_t launch_from_half(const std::uint16_t* halves, std::size_t count, float divisor,
                             float* values, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const auto kernel = by_fours(values, halves) ? from_half_kernel<true> : from_half_kernel<false>;
    kernel<<<tiles_for(count), block_threads, 0, stream>>>(halves, count, divisor, values);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
