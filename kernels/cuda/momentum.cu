// momentum.cu — the kernel of the optimiser's step.
#include "kernels/cuda/device_sums.hpp"
#include "kernels/cuda/momentum.hpp"

namespace ukemi::kernels::cuda {

namespace {
__global__ void __launch_bounds__(block_threads)
    momentum_kernel(MomentumRule rule, const float* __restrict__ gradient,
                    float* __restrict__ weights, float* __restrict__ velocity, std::size_t count) {
    for_elements(count, [&](std::size_t i) {
        const float weight = weights[i];
        const float next = rule.velocity(velocity[i], gradient[i], weight);
        velocity[i] = next;
        weights[i] = rule.weight(weight, next);
    });
}
}  // namespace

cudaError_t launch_momentum_step(MomentumRule rule, const float* gradient, float* weights,
                                 float* velocity, std::size_t count, cudaStream_t stream) {
    if (count == 0) return cudaSuccess;
    const unsigned blocks = blocks_for(count, 4);
    momentum_kernel<<<blocks, block_threads, 0, stream>>>(rule, gradient, weights, velocity, count);
    return cudaGetLastError();
}

}  // namespace ukemi::kernels::cuda
