// noise_step.cu — one pass over weights and gradients, then one small pass over the blocks' sums.
#include "kernels/cuda/device_sums.hpp"
#include "kernels/cuda/noise_step.hpp"

namespace ukemi::kernels::cuda {

namespace {
// workspace[block × (learners + 1) + j]: what this block adds to norm j.
template <std::size_t learners>
__global__ void __launch_bounds__(block_threads)
    noise_step_kernel(MomentumRule rule, const float* __restrict__ gradients, std::size_t count,
                      float* __restrict__ weights, float* __restrict__ velocity,
                      double* __restrict__ workspace) {
    double norms[learners + 1] = {};
    for_elements(count, [&](std::size_t i) {
        float sum = 0;
#pragma unroll
        for (std::size_t j = 0; j < learners; ++j) {
            const float gradient = gradients[j * count + i];
            norms[j] += static_cast<double>(gradient) * static_cast<double>(gradient);
            sum = j == 0 ? gradient : sum + gradient;
        }
        const float mean = sum / static_cast<float>(learners);
        norms[learners] += static_cast<double>(mean) * static_cast<double>(mean);
        const float weight = weights[i];
        const float next = rule.velocity(velocity[i], mean, weight);
        velocity[i] = next;
        weights[i] = rule.weight(weight, next);
    });
#pragma unroll
    for (std::size_t j = 0; j <= learners; ++j) {
        const double sum = block_sum(norms[j]);
        if (threadIdx.x == 0) workspace[blockIdx.x * (learners + 1) + j] = sum;
    }
}

__global__ void __launch_bounds__(block_threads)
    squared_norm_kernel(const float* __restrict__ values, std::size_t count,
                        double* __restrict__ workspace) {
    double norm = 0;
    for_elements(count, [&](std::size_t i) {
        norm += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    });
    const double sum = block_sum(norm);
    if (threadIdx.x == 0) workspace[blockIdx.x] = sum;
}

// One block a sum.
__global__ void __launch_bounds__(block_threads)
    gather_sums_kernel(const double* __restrict__ workspace, std::size_t blocks,
                       double* __restrict__ sums) {
    const double sum = sum_by_block(workspace + blockIdx.x, blocks, gridDim.x);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

cudaError_t gather_sums(const double* workspace, unsigned blocks, std::size_t sum_count,
                        double* sums, cudaStream_t stream) {
    const auto grid = static_cast<unsigned>(sum_count);
    gather_sums_kernel<<<grid, block_threads, 0, stream>>>(workspace, blocks, sums);
    return cudaGetLastError();
}
}  // namespace

std::size_t noise_step_workspace(std::size_t learners, std::size_t count) {
    return blocks_for(count, 4) * (learners + 1);
}

cudaError_t launch_noise_step(MomentumRule rule, const float* gradients, std::size_t learners,
                              std::size_t count, float* weights, float* velocity, double* workspace,
                              double* norms, cudaStream_t stream) {
    if (learners < 1 || learners > noise_learners_max) return cudaErrorInvalidValue;
    if (count == 0) return cudaMemsetAsync(norms, 0, (learners + 1) * sizeof(double), stream);
    const unsigned blocks = blocks_for(count, 4);
    const auto kernel = [&]() -> decltype(&noise_step_kernel<1>) {
        switch (learners) {
            case 1: return noise_step_kernel<1>;
            case 2: return noise_step_kernel<2>;
            case 3: return noise_step_kernel<3>;
            case 4: return noise_step_kernel<4>;
            case 5: return noise_step_kernel<5>;
            case 6: return noise_step_kernel<6>;
            case 7: return noise_step_kernel<7>;
            default: return noise_step_kernel<8>;
        }
    }();
    kernel<<<blocks, block_threads, 0, stream>>>(rule, gradients, count, weights, velocity,
                                                 workspace);
    const cudaError_t launched = cudaGetLastError();
    if (launched != cudaSuccess) return launched;
    return gather_sums(workspace, blocks, learners + 1, norms, stream);
}

cudaError_t launch_squared_norm(const float* values, std::size_t count, double* workspace,
                                double* squared_norm, cudaStream_t stream) {
    if (count == 0) return cudaMemsetAsync(squared_norm, 0, sizeof(double), stream);
    const unsigned blocks = blocks_for(count, 4);
    squared_norm_kernel<<<blocks, block_threads, 0, stream>>>(values, count, workspace);
    const cudaError_t launched = cudaGetLastError();
    if (launched != cudaSuccess) return launched;
    return gather_sums(workspace, blocks, 1, squared_norm, stream);
}

}  // namespace ukemi::kernels::cuda
