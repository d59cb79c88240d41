// pair_averaging.cpp — AD-PSGD as KungFu does it: each learner takes one other's saved model.
//
// KungFu draws one of all n; a rank that draws itself takes the next, which therefore is taken
// with a chance of 2/n. `uniform_peers` gives every other one 1/(n − 1).
#include <fmt/format.h>

#include "base/rng.hpp"
#include "sim/learning/real/rules.hpp"

namespace ukemi::sim {

void pair_averaging_step(GroupState& state, GroupStep& step) {
    const int learners = step.learners();
    ensure_learners(state, learners);
    std::vector<std::vector<float>> saved;  // with the step before
    for (const GroupState::Learner& one : state.learners) saved.push_back(one.weights);
    const bool uniform = step.task().synchronisation.uniform_peers;
    for (int learner = 0; learner < learners; ++learner) {
        GroupState::Learner& one = state.learners[static_cast<std::size_t>(learner)];
        const auto part = step.gradient(learner, learners, one.weights);
        if (learners >= 2) {
            RandomStream random(step.seed(), fmt::format("pairs/{}/{}", step.step(), learner));
            const int peer = uniform ? kernels::uniform_peer(random, learner, learners)
                                     : kernels::kungfu_peer(random, learner, learners);
            kernels::pair_with(saved[static_cast<std::size_t>(peer)], one.weights);
        }
        kernels::local_step(step.rule(), part.mean, one.weights, one.velocity);
    }
    common_is_mean(state);
}

}  // namespace ukemi::sim
