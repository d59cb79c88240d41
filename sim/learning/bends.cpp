#include "sim/learning/bends.hpp"

#include "base/invariant.hpp"

namespace ukemi::sim {

std::vector<std::int64_t> bends(const LearningModel& model, const LearningState& from,
                                const LearningStep& step, std::int64_t most) {
    std::vector<std::int64_t> found;
    LearningState at = from;
    std::int64_t steps = 0;
    while (at.progress < model.target()) {
        const std::int64_t made = model.straight_steps(at, step);
        INVARIANT(made >= 1);
        if (made >= most - steps) break;
        at = model.after(at, made, step);
        steps += made;
        found.push_back(steps);
    }
    return found;
}

}  // namespace ukemi::sim
