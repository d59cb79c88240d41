// s_sgd.cpp — synchronous SGD: one model, the mean gradient over all learners, maybe coded.
#include "sim/learning/real/rules.hpp"

namespace ukemi::sim {

void s_sgd_step(GroupState& state, GroupStep& step) {
    const auto mean = step.exchanged_mean(state.common, state);
    kernels::local_step(step.rule(), mean, state.common, state.velocity);
}

}  // namespace ukemi::sim
