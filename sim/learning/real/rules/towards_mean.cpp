// towards_mean.cpp — replicas without a central model that meet in their mean: KungFu's SMA and
// AdaSGD, and local SGD.
#include "sim/learning/real/rules.hpp"

namespace ukemi::sim {

void ensure_learners(GroupState& state, int learners) {
    if (std::ssize(state.learners) == learners) return;
    const GroupState::Learner fresh{state.common, std::vector<float>(state.common.size(), 0.0F)};
    state.learners.assign(static_cast<std::size_t>(learners), fresh);
}

void common_is_mean(GroupState& state) {
    std::vector<std::span<const float>> replicas;
    for (const GroupState::Learner& one : state.learners) replicas.emplace_back(one.weights);
    kernels::mean_of_replicas(replicas, state.common);
}

namespace {

void local_steps(GroupState& state, GroupStep& step) {
    for (int learner = 0; learner < step.learners(); ++learner) {
        GroupState::Learner& one = state.learners[static_cast<std::size_t>(learner)];
        const auto part = step.gradient(learner, step.learners(), one.weights);
        kernels::local_step(step.rule(), part.mean, one.weights, one.velocity);
    }
}

}  // namespace

// The gradient is that of the weights before they are pulled: KungFu averages while it is computed.
void kungfu_averaging_step(GroupState& state, GroupStep& step) {
    ensure_learners(state, step.learners());
    common_is_mean(state);
    const std::vector<float> mean = state.common;
    const double given = step.task().synchronisation.averaging_rate;
    const float pull = given > 0 ? static_cast<float>(given) : kernels::kungfu_averaging_rate;
    for (int learner = 0; learner < step.learners(); ++learner) {
        GroupState::Learner& one = state.learners[static_cast<std::size_t>(learner)];
        const auto part = step.gradient(learner, step.learners(), one.weights);
        kernels::pull_to_mean(pull, mean, one.weights);
        kernels::local_step(step.rule(), part.mean, one.weights, one.velocity);
    }
    common_is_mean(state);
}

void ada_sgd_step(GroupState& state, GroupStep& step) {
    switch (kernels::ada_sgd_at(step.step(), step.task().synchronisation.change_step)) {
        case kernels::AdaSgdStep::averaging: kungfu_averaging_step(state, step); return;
        case kernels::AdaSgdStep::take_rank_0:
            if (!state.learners.empty()) {
                state.common = state.learners.front().weights;
                state.velocity = state.learners.front().velocity;
            }
            break;
        case kernels::AdaSgdStep::s_sgd: break;
    }
    state.learners.clear();
    s_sgd_step(state, step);
}

// Between exchanges the common model is what the mean would be.
void local_sgd_step(GroupState& state, GroupStep& step) {
    ensure_learners(state, step.learners());
    local_steps(state, step);
    common_is_mean(state);
    if (!kernels::exchanges_after(step.step(), step.task().synchronisation.period)) return;
    for (GroupState::Learner& one : state.learners) one.weights = state.common;
}

}  // namespace ukemi::sim
