// device_sums.hpp — sums over a block and over all blocks, always in the same order: equal inputs
// give equal bits on one device. For .cu files.
#pragma once

#include <cstddef>

namespace ukemi::kernels::cuda {

inline constexpr unsigned block_threads = 256;
inline constexpr std::size_t blocks_max = 2112;  // 16 for each of an H100's 132 multiprocessors

// Blocks for so many elements when each thread takes `each` of them at a time.
inline unsigned blocks_for(std::size_t count, std::size_t each) {
    const std::size_t needed = (count + block_threads * each - 1) / (block_threads * each);
    return static_cast<unsigned>(needed < blocks_max ? needed : blocks_max);
}

#if defined(__CUDACC__) || defined(UKEMI_DEVICE_CODE)

// Calls `with(i)` for all i below count: four elements a thread at a time, neighbours by
// neighbours.
template <class With>
__device__ void for_elements(std::size_t count, const With& with) {
    constexpr std::size_t tile = std::size_t{block_threads} * 4;
    for (std::size_t begin = blockIdx.x * tile; begin < count; begin += gridDim.x * tile) {
#pragma unroll
        for (std::size_t part = 0; part < 4; ++part) {
            const std::size_t i = begin + part * block_threads + threadIdx.x;
            if (i < count) with(i);
        }
    }
}

// The sum over the threads of this block, in every thread. Called by all of them.
template <unsigned threads = block_threads>
__device__ double block_sum(double value) {
    __shared__ double parts[threads];
    parts[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    const double sum = parts[0];
    __syncthreads();
    return sum;
}

// The sum of so many numbers that lie `stride` apart, by one block.
__device__ inline double sum_by_block(const double* values, std::size_t count, std::size_t stride) {
    double sum = 0;
    for (std::size_t i = threadIdx.x; i < count; i += block_threads) sum += values[i * stride];
    return block_sum(sum);
}

#endif

}  // namespace ukemi::kernels::cuda
