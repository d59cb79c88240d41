// qsgd.cu — a thread quantises four neighbours: one block of Philox.
#include "kernels/cuda/device_tiles.hpp"
#include "kernels/cuda/noise_step.hpp"
#include "kernels/cuda/qsgd.hpp"
#include "kernels/element_rules.hpp"

namespace ukemi::kernels::cuda {

namespace {
__global__ void root_kernel(const double* __restrict__ squared_norm, float* __restrict__ norm) {
    *norm = static_cast<float>(sqrt(*squared_norm));
}

// Division by one scale without dividing: the bits of quantised() of kernels/element_rules.hpp.
//
// With the reciprocal rounded to nearest, two corrections by exact remainders give the quotient
// rounded to nearest (Markstein, IBM J. Res. Dev. 34, 1990), if the remainders are no smaller than
// single numbers can be. They are only for quotients so small that the level is 0 for every
// uniform number but 0, which the caller leaves to quantised().
struct Quantiser {
    float scale;
    float levels;
    float reciprocal;
    bool plain;  // the scale is far from the smallest and the largest numbers

    __device__ Quantiser(float common, std::int32_t level_count)
        : scale(common),
          levels(static_cast<float>(level_count)),
          reciprocal(1.0F / common),
          plain(common >= 0x1p-58F && common <= 0x1p100F) {}
    __device__ std::int32_t level(float value, std::uint32_t word) const {
        const float magnitude = fabsf(value);
        float quotient = magnitude * reciprocal;
#pragma unroll
        for (int correction = 0; correction < 2; ++correction) {
            const float remainder = __fmaf_rn(-quotient, scale, magnitude);
            quotient = __fmaf_rn(remainder, reciprocal, quotient);
        }
        // What is no number becomes the largest level here, as there.
        const float ratio = fminf(quotient * levels, levels);
        const auto below = static_cast<std::int32_t>(ratio);
        const bool up = uniform_of(word) < ratio - static_cast<float>(below);
        const std::int32_t size = below + (up ? 1 : 0);
        return value < 0 ? -size : size;
    }
};

__device__ bool any_uniform_is_zero(const FourDraws& drawn) {
    constexpr std::uint32_t below = 1U << 8U;
    return drawn.words[0] < below || drawn.words[1] < below || drawn.words[2] < below ||
           drawn.words[3] < below;
}

// `aligned`: whole groups are read and written at once. From the last tile to the first: the last
// values were read last by the norm, and some are still near.
template <bool aligned>
__global__ void __launch_bounds__(block_threads)
    quantise_kernel(const float* __restrict__ values, std::size_t count,
                    const float* __restrict__ scale, std::int32_t levels, DrawKey key,
                    std::uint64_t step, std::int8_t* __restrict__ out) {
    const float common = *scale;
    const Quantiser quantiser(common, levels);
    const auto exactly = [&](float value, std::uint32_t word) {
        return static_cast<signed char>(quantised(value, common, levels, uniform_of(word)));
    };
    const auto quickly = [&](float value, std::uint32_t word) {
        return static_cast<signed char>(quantiser.level(value, word));
    };
    for_tile<aligned>(
        gridDim.x - 1 - blockIdx.x, count,
        [&](std::size_t g) { return reinterpret_cast<const float4*>(values)[g]; },
        [&](std::size_t g, const float4& four) {
            const FourDraws drawn = draws_of(key, g, step);
            const auto& words = drawn.words;
            char4& into = reinterpret_cast<char4*>(out)[g];
            if (!quantiser.plain || any_uniform_is_zero(drawn)) {
                into = make_char4(exactly(four.x, words[0]), exactly(four.y, words[1]),
                                  exactly(four.z, words[2]), exactly(four.w, words[3]));
                return;
            }
            into = make_char4(quickly(four.x, words[0]), quickly(four.y, words[1]),
                              quickly(four.z, words[2]), quickly(four.w, words[3]));
        },
        [&](std::size_t i) {
            out[i] = exactly(values[i], draws_of(key, i / 4, step).words[i % 4]);
        });
}

__device__ float unit_of(float scale, std::int32_t levels, std::size_t ranks) {
    return scale / static_cast<float>(levels) / static_cast<float>(ranks);
}

// `aligned`: the levels of every rank are read by fours.
template <bool aligned>
__global__ void __launch_bounds__(block_threads)
    mean_of_levels_kernel(const std::int8_t* __restrict__ levels_of_ranks,
                          const float* __restrict__ scales, std::size_t ranks, std::size_t count,
                          std::int32_t levels, float* __restrict__ mean) {
    const std::size_t begin = std::size_t{blockIdx.x} * values_of_tile;
    if (aligned && begin + values_of_tile <= count) {
        const std::size_t first = std::size_t{blockIdx.x} * fours_of_tile + threadIdx.x;
        float4 sums[fours_of_thread] = {};
#pragma unroll 1
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const auto* own =
                reinterpret_cast<const char4*>(levels_of_ranks + rank * count) + first;
            char4 read[fours_of_thread];
#pragma unroll
            for (unsigned part = 0; part < fours_of_thread; ++part) {
                read[part] = own[part * block_threads];
            }
            const float unit = unit_of(scales[rank], levels, ranks);
#pragma unroll
            for (unsigned part = 0; part < fours_of_thread; ++part) {
                sums[part].x += unit * static_cast<float>(read[part].x);
                sums[part].y += unit * static_cast<float>(read[part].y);
                sums[part].z += unit * static_cast<float>(read[part].z);
                sums[part].w += unit * static_cast<float>(read[part].w);
            }
        }
#pragma unroll
        for (unsigned part = 0; part < fours_of_thread; ++part) {
            reinterpret_cast<float4*>(mean)[first + part * block_threads] = sums[part];
        }
        return;
    }
    const std::size_t end = begin + values_of_tile < count ? begin + values_of_tile : count;
    for (std::size_t i = begin + threadIdx.x; i < end; i += block_threads) {
        float sum = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            sum += unit_of(scales[rank], levels, ranks) *
                   static_cast<float>(levels_of_ranks[rank * count + i]);
        }
        mean[i] = sum;
    }
}
}  // namespace

cudaError_t launch_norm(const float* values, std::size_t count, double* workspace, float* norm,
                        cudaStream_t stream) {
    double* squared_norm = workspace + noise_step_workspace(1, count);
    const cudaError_t summed = launch_squared_norm(values, count, workspace, squared_norm, stream);
    if (summed != cudaSuccess) return summed;
    root_kernel<<<1, 1, 0, stream>>>(squared_norm, norm);
    return cudaGetLastError();
}

cudaError_t launch_quantise(const float* values, std::size_t count, const float* scale,
                            std::int32_t levels, DrawKey key, std::uint64_t step, std::int8_t* out,
                            cudaStream_t stream) {
    if (levels < 1 || levels > 127) return cudaErrorInvalidValue;
    if (count == 0) return cudaSuccess;
    const bool aligned = lies_at(values, sizeof(float4)) && lies_at(out, sizeof(char4));
    const auto kernel = aligned ? quantise_kernel<true> : quantise_kernel<false>;
    kernel<<<tiles_for(count), block_threads, 0, stream>>>(values, count, scale, levels, key, step,
                                                           out);
    return cudaGetLastError();
}

cudaError_t launch_mean_of_levels(const std::int8_t* levels_of_ranks, const float* scales,
                                  std::size_t ranks, std::size_t count, std::int32_t levels,
                                  float* mean, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const bool aligned = lies_at(levels_of_ranks, sizeof(char4)) &&
                         (ranks == 1 || count % 4 == 0) && lies_at(mean, sizeof(float4));
    const auto kernel = aligned ? mean_of_levels_kernel<true> : mean_of_levels_kernel<false>;
    kernel<<<tiles_for(count), block_threads, 0, stream>>>(levels_of_ranks, scales, ranks, count,
                                                           levels, mean);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
