// qsgd.cu — a thread quantises four neighbours: one block of Philox.
#include "kernels/cuda/device_sums.hpp"
#include "kernels/cuda/noise_step.hpp"
#include "kernels/cuda/qsgd.hpp"
#include "kernels/element_rules.hpp"

namespace ukemi::kernels::cuda {

namespace {
__global__ void root_kernel(const double* __restrict__ squared_norm, float* __restrict__ norm) {
    *norm = static_cast<float>(sqrt(*squared_norm));
}

// `aligned`: whole groups are read and written at once.
template <bool aligned>
__global__ void __launch_bounds__(block_threads)
    quantise_kernel(const float* __restrict__ values, std::size_t count,
                    const float* __restrict__ scale, std::int32_t levels, DrawKey key,
                    std::uint64_t step, std::int8_t* __restrict__ out) {
    const float common = *scale;
    const std::size_t threads = std::size_t{gridDim.x} * block_threads;
    const std::size_t own = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    const auto level = [&](float value, std::uint32_t word) {
        return static_cast<signed char>(quantised(value, common, levels, uniform_of(word)));
    };
    for (std::size_t group = own; group * 4 < count; group += threads) {
        const FourDraws drawn = draws_of(key, group, step);
        if (aligned && group * 4 + 4 <= count) {
            const float4 four = reinterpret_cast<const float4*>(values)[group];
            reinterpret_cast<char4*>(out)[group] =
                make_char4(level(four.x, drawn.words[0]), level(four.y, drawn.words[1]),
                           level(four.z, drawn.words[2]), level(four.w, drawn.words[3]));
            continue;
        }
        for (std::size_t i = group * 4; i < count && i < group * 4 + 4; ++i) {
            out[i] = level(values[i], drawn.words[i % 4]);
        }
    }
}

__global__ void __launch_bounds__(block_threads)
    mean_of_levels_kernel(const std::int8_t* __restrict__ levels_of_ranks,
                          const float* __restrict__ scales, std::size_t ranks, std::size_t count,
                          std::int32_t levels, float* __restrict__ mean) {
    for_elements(count, [&](std::size_t i) {
        float sum = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const float unit =
                scales[rank] / static_cast<float>(levels) / static_cast<float>(ranks);
            sum += unit * static_cast<float>(levels_of_ranks[rank * count + i]);
        }
        mean[i] = sum;
    });
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
    const unsigned blocks = blocks_for(count, 4);
    const bool aligned = reinterpret_cast<std::uintptr_t>(values) % sizeof(float4) == 0 &&
                         reinterpret_cast<std::uintptr_t>(out) % sizeof(char4) == 0;
    const auto kernel = aligned ? quantise_kernel<true> : quantise_kernel<false>;
    kernel<<<blocks, block_threads, 0, stream>>>(values, count, scale, levels, key, step, out);
    return cudaGetLastError();
}

cudaError_t launch_mean_of_levels(const std::int8_t* levels_of_ranks, const float* scales,
                                  std::size_t ranks, std::size_t count, std::int32_t levels,
                                  float* mean, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    mean_of_levels_kernel<<<blocks, block_threads, 0, stream>>>(levels_of_ranks, scales, ranks,
                                                                count, levels, mean);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
