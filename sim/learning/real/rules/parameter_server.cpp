// parameter_server.cpp — learners that push gradients when they have them and pull what is there:
// asynchronous, stale-synchronous, with the rate divided by the staleness on request.
//
// One step of the group is as many pushes as it has learners, in the order in which their drawn
// step times end; of equal times the lower learner is first. Each push has a share of the batch.
#include <algorithm>
#include <limits>

#include "base/invariant.hpp"
#include "sim/learning/real/rules.hpp"

namespace ukemi::sim {

namespace {

constexpr std::int64_t waiting = -1;

void pull_who_may(GroupState& state, GroupStep& step, std::int64_t now) {
    for (int learner = 0; learner < step.learners(); ++learner) {
        const auto index = static_cast<std::size_t>(learner);
        if (state.finish[index] != waiting || !state.server->may_pull(learner)) continue;
        state.server->pull(learner, state.learners[index].weights);
        state.finish[index] = now + step.step_time(learner, state.server->clock(learner));
    }
}

}  // namespace

void parameter_server_step(GroupState& state, GroupStep& step) {
    const SynchronisationSettings& settings = step.task().synchronisation;
    const int learners = step.learners();
    if (!state.server) {
        state.server.emplace(
            state.common, learners,
            kernels::ServerSettings{settings.clock_lead_max, settings.by_staleness});
        ensure_learners(state, learners);
        state.finish.assign(static_cast<std::size_t>(learners), waiting);
        pull_who_may(state, step, 0);
    }
    for (int push = 0; push < learners; ++push) {
        std::size_t next = state.finish.size();
        for (std::size_t i = 0; i < state.finish.size(); ++i) {
            if (state.finish[i] == waiting) continue;
            if (next == state.finish.size() || state.finish[i] < state.finish[next]) next = i;
        }
        INVARIANT(next < state.finish.size());
        const std::int64_t now = state.finish[next];
        const auto part = step.gradient(push, learners, state.learners[next].weights);
        state.server->push(static_cast<int>(next), part.mean, step.rate());
        state.finish[next] = waiting;
        pull_who_may(state, step, now);
    }
    // Times count from the last push on, so that they stay small however long the run is.
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t at : state.finish) {
        if (at != waiting) least = std::min(least, at);
    }
    for (std::int64_t& at : state.finish) {
        if (at != waiting) at -= least;
    }
    state.common.assign(state.server->weights().begin(), state.server->weights().end());
}

}  // namespace ukemi::sim
