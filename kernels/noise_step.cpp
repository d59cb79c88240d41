// noise_step.cpp — the loop that is its meaning.
#include "kernels/noise_step.hpp"

#include "base/invariant.hpp"

namespace ukemi::kernels {

std::optional<NoiseSample> StepNorms::noise(std::int64_t samples_of_learner) const {
    std::vector<LocalNorm> ranks;
    for (const double norm : learners) ranks.push_back({samples_of_learner, norm});
    return noise_of_replicas(ranks, mean);
}

StepNorms noise_step(const MomentumRule& rule, std::span<const float> gradients,
                     std::span<float> weights, std::span<float> velocity) {
    const std::size_t count = weights.size();
    INVARIANT(velocity.size() == count);
    INVARIANT(count == 0 || (!gradients.empty() && gradients.size() % count == 0));
    StepNorms norms;
    norms.learners.resize(count == 0 ? 0 : gradients.size() / count);
    const auto divisor = static_cast<float>(norms.learners.size());
    for (std::size_t i = 0; i < count; ++i) {
        float sum = 0;
        for (std::size_t j = 0; j < norms.learners.size(); ++j) {
            const float gradient = gradients[j * count + i];
            norms.learners[j] += static_cast<double>(gradient) * static_cast<double>(gradient);
            sum = j == 0 ? gradient : sum + gradient;
        }
        const float mean = sum / divisor;
        norms.mean += static_cast<double>(mean) * static_cast<double>(mean);
        velocity[i] = rule.velocity(velocity[i], mean, weights[i]);
        weights[i] = rule.weight(weights[i], velocity[i]);
    }
    return norms;
}

}  // namespace ukemi::kernels
