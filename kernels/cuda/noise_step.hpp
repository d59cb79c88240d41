// noise_step.hpp — the optimiser's step that measures the gradients' noise on the way, and squared
// norms alone. Means kernels/noise_step.hpp: weights have its bits, norms are sums in another
// order.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/element_rules.hpp"

namespace ukemi::kernels::cuda {

inline constexpr std::size_t noise_learners_max = 8;

// Doubles of workspace that the launches below need.
std::size_t noise_step_workspace(std::size_t learners, std::size_t count);

// `norms` becomes |g_j|² of each learner, then |ḡ|² of their mean (learners + 1 numbers; zeros for
// a count of zero). Reads 2 + k numbers an element and writes two. At most noise_learners_max.
cudaError_t launch_noise_step(MomentumRule rule, const float* gradients, std::size_t learners,
                              std::size_t count, float* weights, float* velocity, double* workspace,
                              double* norms, cudaStream_t stream);

// The sum of squares. Reads one number an element.
cudaError_t launch_squared_norm(const float* values, std::size_t count, double* workspace,
                                double* squared_norm, cudaStream_t stream);

}  // namespace ukemi::kernels::cuda
