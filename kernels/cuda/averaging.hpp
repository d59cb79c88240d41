// averaging.hpp — several learners on one GPU: their steps and corrections in one pass.
//
// Learners' vectors lie one after the other, `count` apart. They mean averaged_learner_step,
// CentralModel::step and mean_of_replicas (kernels/averaging.hpp) and give their bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/element_rules.hpp"

namespace ukemi::kernels::cuda {

// All learners' steps; correction_sum becomes Σ α(w_j − z), which is what GPUs then all-reduce.
// Reads 1 + 3k numbers an element and writes 1 + 2k.
cudaError_t launch_averaged_learners(MomentumRule rule, float pull, const float* central,
                                     const float* gradients, float* weights, float* velocities,
                                     std::size_t learners, std::size_t count, float* correction_sum,
                                     cudaStream_t stream);

// sum ← sum + values. Reads two numbers an element and writes one.
cudaError_t launch_add_to(const float* values, float* sum, std::size_t count, cudaStream_t stream);

// z ← z + Σ c + μ(z − z_prev). Reads three and writes two numbers an element.
cudaError_t launch_central_step(const float* correction_sum, float momentum, float* central,
                                float* previous, std::size_t count, cudaStream_t stream);

// Reads k numbers an element and writes one. At least one replica.
cudaError_t launch_mean_of_replicas(const float* replicas, std::size_t replica_count,
                                    std::size_t count, float* mean, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
