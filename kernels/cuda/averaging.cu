// averaging.cu — kernels of model averaging.
#include "kernels/cuda/averaging.hpp"
#include "kernels/cuda/device_sums.hpp"

namespace ukemi::kernels::cuda {

namespace {
__global__ void __launch_bounds__(block_threads)
    learners_kernel(MomentumRule rule, float pull, const float* __restrict__ central,
                    const float* __restrict__ gradients, float* __restrict__ weights,
                    float* __restrict__ velocities, std::size_t learners, std::size_t count,
                    float* __restrict__ correction_sum) {
    for_elements(count, [&](std::size_t i) {
        const float average = central[i];
        float sum = 0;
        for (std::size_t place = i; place < learners * count; place += count) {
            const float weight = weights[place];
            const float correction = averaging_correction(weight, average, pull);
            const float velocity = rule.velocity(velocities[place], gradients[place], weight);
            velocities[place] = velocity;
            weights[place] = rule.weight(weight, velocity) - correction;
            sum += correction;
        }
        correction_sum[i] = sum;
    });
}

__global__ void __launch_bounds__(block_threads)
    add_to_kernel(const float* __restrict__ values, float* __restrict__ sum, std::size_t count) {
    for_elements(count, [&](std::size_t i) { sum[i] += values[i]; });
}

__global__ void __launch_bounds__(block_threads)
    central_kernel(const float* __restrict__ correction_sum, float momentum,
                   float* __restrict__ central, float* __restrict__ previous, std::size_t count) {
    for_elements(count, [&](std::size_t i) {
        const float before = central[i];
        central[i] = central_step(before, previous[i], correction_sum[i], momentum);
        previous[i] = before;
    });
}

__global__ void __launch_bounds__(block_threads)
    mean_kernel(const float* __restrict__ replicas, std::size_t replica_count, std::size_t count,
                float* __restrict__ mean) {
    const auto divisor = static_cast<float>(replica_count);
    for_elements(count, [&](std::size_t i) {
        float sum = replicas[i];
        for (std::size_t k = 1; k < replica_count; ++k) sum += replicas[k * count + i];
        mean[i] = sum / divisor;
    });
}
}  // namespace

cudaError_t launch_averaged_learners(MomentumRule rule, float pull, const float* central,
                                     const float* gradients, float* weights, float* velocities,
                                     std::size_t learners, std::size_t count, float* correction_sum,
                                     cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    learners_kernel<<<blocks, block_threads, 0, stream>>>(
        rule, pull, central, gradients, weights, velocities, learners, count, correction_sum);
    return cudaGetLastError();
}

cudaError_t launch_add_to(const float* values, float* sum, std::size_t count, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    add_to_kernel<<<blocks, block_threads, 0, stream>>>(values, sum, count);
    return cudaGetLastError();
}

cudaError_t launch_central_step(const float* correction_sum, float momentum, float* central,
                                float* previous, std::size_t count, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    central_kernel<<<blocks, block_threads, 0, stream>>>(correction_sum, momentum, central,
                                                         previous, count);
    return cudaGetLastError();
}

cudaError_t launch_mean_of_replicas(const float* replicas, std::size_t replica_count,
                                    std::size_t count, float* mean, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    mean_kernel<<<blocks, block_threads, 0, stream>>>(replicas, replica_count, count, mean);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
