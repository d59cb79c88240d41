// backup_workers.cpp — S-SGD that does not wait for its slowest (Chen et al., arXiv:1604.00981):
// the gradients of the first learners count, those of the last `backups` are dropped.
#include <algorithm>

#include "sim/learning/real/rules.hpp"

namespace ukemi::sim {

void backup_workers_step(GroupState& state, GroupStep& step) {
    const int learners = step.learners();
    const int needed = std::max(1, learners - step.task().synchronisation.backups);
    std::vector<Duration> times;
    for (int learner = 0; learner < learners; ++learner) {
        times.push_back(nanoseconds(step.step_time(learner, step.step())));
    }
    const kernels::FirstFinished first = kernels::first_finished(times, needed);
    const auto mean = learners == 1 ? step.mean_gradient(state.common, state)
                                    : step.mean_gradient(state.common, state, first.ranks);
    state.applied_squared_norm = squared_norm(mean);
    kernels::local_step(step.rule(), mean, state.common, state.velocity);
}

}  // namespace ukemi::sim
