// central.cpp — replicas around a central model: Crossbow's averaging and elastic averaging.
#include "sim/learning/real/rules.hpp"

namespace ukemi::sim {

namespace {

// All learners' steps with their corrections to the centre; without an exchange local steps alone.
void step_around(GroupState& state, GroupStep& step, float pull, float momentum, bool exchange) {
    std::vector<float> correction_sum(step.parameters(), 0.0F);
    const int learners = step.learners();
    for (int learner = 0; learner < learners; ++learner) {
        GroupState::Learner& one = state.learners[static_cast<std::size_t>(learner)];
        const auto part = step.gradient(learner, learners, one.weights);
        if (exchange) {
            kernels::averaged_learner_step(step.rule(), pull, state.common, part.mean, one.weights,
                                           one.velocity, correction_sum);
        } else {
            kernels::local_step(step.rule(), part.mean, one.weights, one.velocity);
        }
    }
    if (!exchange) return;
    for (std::size_t i = 0; i < state.common.size(); ++i) {
        const float before = state.common[i];
        state.common[i] =
            kernels::central_step(before, state.common_before[i], correction_sum[i], momentum);
        state.common_before[i] = before;
    }
}

}  // namespace

// The centre's momentum ends and all learners begin anew from it when the learning rate drops.
void synchronous_averaging_step(GroupState& state, GroupStep& step) {
    const SynchronisationSettings& settings = step.task().synchronisation;
    if (step.rate() < static_cast<float>(state.rate)) {
        state.common_before = state.common;
        state.learners.clear();
    }
    ensure_learners(state, step.learners());
    const double pull = settings.averaging_rate > 0 ? settings.averaging_rate
                                                    : 1.0 / static_cast<double>(step.learners());
    step_around(state, step, static_cast<float>(pull),
                static_cast<float>(settings.averaging_momentum), true);
}

void elastic_averaging_step(GroupState& state, GroupStep& step) {
    ensure_learners(state, step.learners());
    const SynchronisationSettings& settings = step.task().synchronisation;
    const float pull = settings.averaging_rate > 0
                           ? static_cast<float>(settings.averaging_rate)
                           : kernels::elastic_beta_usual / static_cast<float>(step.learners());
    step_around(state, step, pull, 0, kernels::exchanges_after(step.step(), settings.period));
}

}  // namespace ukemi::sim
