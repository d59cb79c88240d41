// random_k.cu — a thread draws the places of four strata: one block of Philox.
#include "kernels/cuda/device_sums.hpp"
#include "kernels/cuda/random_k.hpp"
#include "kernels/element_rules.hpp"

namespace ukemi::kernels::cuda {

namespace {
// Calls `with(k, place, size of the stratum)` for this thread's strata.
template <class With>
__device__ void for_places(const RandomKPlaces& places, const With& with) {
    const std::size_t threads = std::size_t{gridDim.x} * block_threads;
    const std::size_t own = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    for (std::size_t group = own; group * 4 < places.kept; group += threads) {
        const FourDraws drawn = draws_of(places.key, group, places.step);
        for (std::size_t part = 0; part < 4 && group * 4 + part < places.kept; ++part) {
            const std::size_t k = group * 4 + part;
            const Stratum stratum =
                stratum_of(static_cast<std::int64_t>(k), static_cast<std::int64_t>(places.kept),
                           static_cast<std::int64_t>(places.elements));
            const std::int64_t size = stratum.end - stratum.begin;
            with(k, pick_of(drawn.words[part], stratum.begin, size), size);
        }
    }
}

__global__ void __launch_bounds__(block_threads)
    gather_kernel(RandomKPlaces places, bool unbiased, const float* __restrict__ gradient,
                  float* __restrict__ out) {
    for_places(places, [&](std::size_t k, std::int64_t place, std::int64_t size) {
        const float times = unbiased ? static_cast<float>(size) : 1.0F;
        out[k] = times * gradient[place];
    });
}

__global__ void __launch_bounds__(block_threads)
    spread_kernel(RandomKPlaces places, const float* __restrict__ values, float divisor,
                  float* __restrict__ mean) {
    for_places(places, [&](std::size_t k, std::int64_t place, std::int64_t) {
        mean[place] = values[k] / divisor;
    });
}
}  // namespace

cudaError_t launch_random_k_gather(const RandomKPlaces& places, bool unbiased,
                                   const float* gradient, float* out, cudaStream_t stream) {
    if (places.kept == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(places.kept, 4);
    gather_kernel<<<blocks, block_threads, 0, stream>>>(places, unbiased, gradient, out);
    return cudaGetLastError();
}

cudaError_t launch_random_k_spread(const RandomKPlaces& places, const float* values, float divisor,
                                   float* mean, cudaStream_t stream) {
    if (places.kept == 0) return cudaSuccess;
    const cudaError_t cleared = cudaMemsetAsync(mean, 0, places.elements * sizeof(float), stream);
    if (cleared != cudaSuccess) return cleared;
    const unsigned blocks = blocks_for(places.kept, 4);
    spread_kernel<<<blocks, block_threads, 0, stream>>>(places, values, divisor, mean);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
