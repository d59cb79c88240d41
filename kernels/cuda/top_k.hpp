// top_k.hpp — the k elements of largest magnitude, exactly as kernels/codecs/top_k.cpp chooses
// them: of equal ones the first, places ascending, what is no number as zero.
//
// A sample bounds the k-th magnitude, one pass over the values collects what is no smaller, and a
// radix selection among these finds it. Which values are sampled, and whether the bound was good,
// decides how long it takes and nothing else. Nothing waits for the host; integer counts make it
// deterministic.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace ukemi::kernels::cuda {

inline constexpr std::size_t top_k_count_max = (std::size_t{1} << 31) - 1;

// What is sampled: every value of a few, else one in each of so many strides.
inline constexpr std::uint32_t top_k_samples = 65'536;
constexpr std::uint32_t top_k_sample_stride(std::size_t count) {
    return count < 2 * std::size_t{top_k_samples}
               ? 1
               : static_cast<std::uint32_t>(count / top_k_samples);
}
constexpr std::size_t top_k_sample_place(std::uint32_t sample, std::uint32_t stride) {
    const std::uint32_t mixed = sample * 2'654'435'769U;  // no pattern of the values' own
    return std::size_t{sample} * stride + (std::uint64_t{mixed} * stride >> 32U);
}

// Numbers of workspace for so many values: a fifth as many, and some.
std::size_t top_k_workspace(std::size_t count);

// 1 ≤ kept ≤ count ≤ top_k_count_max, or all zero. Reads four bytes an element, if no more than an
// eighth of any 2,048 neighbours can be among the largest; else up to six times as many.
cudaError_t launch_top_k(const float* values, std::size_t count, std::size_t kept,
                         std::uint32_t* workspace, std::int32_t* places, float* kept_values,
                         cudaStream_t stream);
// mean[place] += value ÷ divisor; the places of one call are distinct.
cudaError_t launch_add_places(const std::int32_t* places, const float* values, std::size_t kept,
                              float divisor, float* mean, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
