// top_k.hpp — the k elements of largest magnitude, exactly as kernels/codecs/top_k.cpp chooses
// them: of equal ones the first, places ascending, what is no number as zero.
//
// A radix selection finds the k-th magnitude in four passes over the values, two more pick the
// elements in order. Nothing waits for the host; integer counts make it deterministic.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace ukemi::kernels::cuda {

inline constexpr std::size_t top_k_count_max = (std::size_t{1} << 31) - 1;

// Numbers of workspace for so many values.
std::size_t top_k_workspace(std::size_t count);

// 1 ≤ kept ≤ count ≤ top_k_count_max, or all zero. Reads six times four bytes an element.
cudaError_t launch_top_k(const float* values, std::size_t count, std::size_t kept,
                         std::uint32_t* workspace, std::int32_t* places, float* kept_values,
                         cudaStream_t stream);
// mean[place] += value ÷ divisor; the places of one call are distinct.
cudaError_t launch_add_places(const std::int32_t* places, const float* values, std::size_t kept,
                              float divisor, float* mean, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
