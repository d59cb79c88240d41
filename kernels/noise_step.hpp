// noise_step.hpp — an optimiser's step over several learners' gradients that measures their noise
// on the way: nothing is read twice for the sake of a statistic.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/element_rules.hpp"
#include "kernels/gradient_noise.hpp"

namespace ukemi::kernels {

// |g_j|² of every learner, then |ḡ|² of their mean.
struct StepNorms {
    std::vector<double> learners;
    double mean = 0;
    // What they say about the noise when each learner had so many samples: gradient_noise.hpp.
    std::optional<NoiseSample> noise(std::int64_t samples_of_learner) const;
};

// `gradients`: the learners' mean gradients one after the other, each as long as `weights`. The
// step is local_step with their mean; norms are summed in double.
StepNorms noise_step(const MomentumRule& rule, std::span<const float> gradients,
                     std::span<float> weights, std::span<float> velocity);

}  // namespace ukemi::kernels
