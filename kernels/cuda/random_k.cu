// random_k.cu — a thread draws the places of four strata: one block of Philox.
#include "kernels/cuda/device_tiles.hpp"
#include "kernels/cuda/random_k.hpp"
#include "kernels/element_rules.hpp"

namespace ukemi::kernels::cuda {

namespace {
// stratum_of() of kernels/element_rules.hpp and its inverse, with the divisions made once.
struct Strata {
    std::size_t size;    // of most,
    std::size_t longer;  // but the first so many have one element more

    explicit Strata(const RandomKPlaces& places)
        : size(places.elements / places.kept), longer(places.elements % places.kept) {}
    __device__ std::size_t begin(std::size_t k) const {
        return k * size + (k < longer ? k : longer);
    }
    __device__ std::size_t size_of(std::size_t k) const { return size + (k < longer ? 1 : 0); }
    __device__ std::size_t place(std::size_t k, std::uint32_t word) const {
        return static_cast<std::size_t>(pick_of(word, static_cast<std::int64_t>(begin(k)),
                                                static_cast<std::int64_t>(size_of(k))));
    }
    // The stratum that an element belongs to.
    __device__ std::size_t of(std::size_t element) const {
        const std::size_t of_longer = longer * (size + 1);
        return element < of_longer ? element / (size + 1) : longer + (element - of_longer) / size;
    }
};

__global__ void __launch_bounds__(block_threads)
    gather_kernel(RandomKPlaces places, Strata strata, bool unbiased,
                  const float* __restrict__ gradient, float* __restrict__ out) {
    const std::size_t group = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    if (group * 4 >= places.kept) return;
    const FourDraws drawn = draws_of(places.key, group, places.step);
    float read[4];
#pragma unroll
    for (std::size_t part = 0; part < 4; ++part) {
        const std::size_t k = group * 4 + part;
        if (k < places.kept) read[part] = gradient[strata.place(k, drawn.words[part])];
    }
#pragma unroll
    for (std::size_t part = 0; part < 4; ++part) {
        const std::size_t k = group * 4 + part;
        const float times = unbiased ? static_cast<float>(strata.size_of(k)) : 1.0F;
        if (k < places.kept) out[k] = times * read[part];
    }
}

// A block makes its tile of the mean in shared memory, zeros and kept values, and writes every
// number once. A stratum that two tiles share is drawn by both.
template <bool aligned>
__global__ void __launch_bounds__(block_threads)
    spread_kernel(RandomKPlaces places, Strata strata, const float* __restrict__ values,
                  float divisor, float* __restrict__ mean) {
    __shared__ float4 tile[fours_of_tile];
    const std::size_t begin = std::size_t{blockIdx.x} * values_of_tile;
    const std::size_t left = places.elements - begin;
    const auto size = static_cast<unsigned>(left < values_of_tile ? left : values_of_tile);
#pragma unroll
    for (unsigned part = 0; part < fours_of_thread; ++part) {
        tile[part * block_threads + threadIdx.x] = make_float4(0, 0, 0, 0);
    }
    __syncthreads();
    auto* numbers = reinterpret_cast<float*>(tile);
    const std::size_t first = strata.of(begin);
    const std::size_t last = strata.of(begin + size - 1);
    for (std::size_t group = first / 4 + threadIdx.x; group <= last / 4; group += block_threads) {
        const FourDraws drawn = draws_of(places.key, group, places.step);
#pragma unroll
        for (std::size_t part = 0; part < 4; ++part) {
            const std::size_t k = group * 4 + part;
            if (k < first || k > last) continue;
            const std::size_t at = strata.place(k, drawn.words[part]) - begin;  // huge if before it
            if (at < size) numbers[at] = values[k] / divisor;
        }
    }
    __syncthreads();
    for_tile<aligned>(
        blockIdx.x, places.elements, [&](std::size_t g) { return tile[g % fours_of_tile]; },
        [&](std::size_t g, const float4& four) { reinterpret_cast<float4*>(mean)[g] = four; },
        [&](std::size_t i) { mean[i] = numbers[i - begin]; });
}
}  // namespace

cudaError_t launch_random_k_gather(const RandomKPlaces& places, bool unbiased,
                                   const float* gradient, float* out, cudaStream_t stream) {
    if (places.kept == 0) return cudaSuccess;
    if (places.kept > places.elements) return cudaErrorInvalidValue;
    constexpr std::size_t each = std::size_t{block_threads} * 4;
    const auto blocks = static_cast<unsigned>((places.kept + each - 1) / each);
    gather_kernel<<<blocks, block_threads, 0, stream>>>(places, Strata(places), unbiased, gradient,
                                                        out);
    return cudaGetLastError();
}

cudaError_t launch_random_k_spread(const RandomKPlaces& places, const float* values, float divisor,
                                   float* mean, cudaStream_t stream) {
    if (places.kept == 0) return cudaSuccess;
    if (places.kept > places.elements) return cudaErrorInvalidValue;
    const auto kernel = lies_at(mean, sizeof(float4)) ? spread_kernel<true> : spread_kernel<false>;
    kernel<<<tiles_for(places.elements), block_threads, 0, stream>>>(places, Strata(places), values,
                                                                     divisor, mean);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
