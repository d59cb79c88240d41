#include "sim/learning/bends.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {

std::vector<std::int64_t> bends(const LearningModel& model, const LearningState& from,
                                const LearningStep& step, std::int64_t most) {
    const auto* law = dynamic_cast<const ProgressLaw*>(&model);
    if (law == nullptr) return {};
    const auto* cornered = dynamic_cast<const CorneredLaw*>(law);
    std::vector<std::int64_t> found;
    std::int64_t progress = from.progress;
    std::int64_t steps = 0;
    while (progress < law->target()) {
        const std::int64_t one = law->worth(progress, step);
        if (one == 0) break;
        std::int64_t until = std::min(law->same_until(progress), law->target());
        if (cornered != nullptr) until = std::min(until, cornered->straight_until(progress));
        INVARIANT(until > progress);
        const std::int64_t made = (until - progress - 1) / one + 1;
        if (made >= most - steps) break;
        progress += made * one;
        steps += made;
        found.push_back(steps);
    }
    return found;
}

}  // namespace ukemi::sim
