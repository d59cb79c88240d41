#include "sim/learning/learning_model.hpp"

#include <algorithm>
#include <limits>

#include "base/invariant.hpp"

namespace ukemi::sim {

LearningState ProgressLaw::after(const LearningState& from, std::int64_t steps,
                                 const LearningStep& step) const {
    std::int64_t progress = from.progress;
    while (steps > 0 && progress < target()) {
        const std::int64_t one = worth(progress, step);
        INVARIANT(one >= 0);
        if (one == 0) break;
        const std::int64_t until = std::min(same_until(progress, step), target());
        INVARIANT(until > progress);
        const std::int64_t made = std::min(steps, steps_to_cover(until - progress, one));
        progress += made * one;
        steps -= made;
    }
    return progress;
}

LookAhead ProgressLaw::look_ahead(const LearningState& from, const LearningStep& step,
                                  std::int64_t most) const {
    std::int64_t progress = from.progress;
    std::int64_t steps = 0;
    while (progress < target()) {
        const std::int64_t one = worth(progress, step);
        if (one == 0) return {most, false};
        const std::int64_t until = std::min(same_until(progress, step), target());
        const std::int64_t made = steps_to_cover(until - progress, one);
        progress += made * one;
        steps += made;
    }
    return steps <= most ? LookAhead{steps, true} : LookAhead{most, false};
}

std::int64_t ProgressLaw::straight_steps(const LearningState& from,
                                         const LearningStep& step) const {
    const std::int64_t one = worth(from.progress, step);
    if (one == 0) return std::numeric_limits<std::int64_t>::max();
    return steps_to_cover(std::min(same_until(from.progress, step), target()) - from.progress, one);
}

std::int64_t ProgressLaw::samples_left(const LearningState& at, const LearningStep& step) const {
    constexpr std::int64_t most = 1'000'000'000'000'000;
    if (at.progress >= target()) return 0;
    const std::int64_t one = worth(at.progress, step);
    if (one == 0) return most;
    const std::int64_t steps = steps_to_cover(target() - at.progress, one);
    return steps > most / step.batch ? most : steps * step.batch;
}

std::optional<std::int64_t> steps_to_target(const LearningModel& model, LearningState from,
                                            const LearningStep& step) {
    constexpr std::int64_t farthest = std::numeric_limits<std::int64_t>::max() / 2;
    std::int64_t steps = 0;
    while (!model.done(from)) {
        const LookAhead ahead = model.look_ahead(from, step, farthest - steps);
        steps += ahead.steps;
        if (!ahead.done && steps >= farthest) return std::nullopt;
        from = model.after(from, ahead.steps, step);
    }
    if (from.progress < model.target()) return std::nullopt;
    return steps;
}

}  // namespace ukemi::sim
