#include "sim/learning/learning_model.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi {

namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a - 1) / b + 1; }

}  // namespace

std::int64_t progress_after(const LearningModel& model, std::int64_t from, std::int64_t steps,
                            const LearningStep& step) {
    std::int64_t progress = from;
    while (steps > 0 && progress < model.target()) {
        const std::int64_t worth = model.worth(progress, step);
        INVARIANT(worth >= 0);
        if (worth == 0) break;
        const std::int64_t until = std::min(model.same_until(progress), model.target());
        INVARIANT(until > progress);
        const std::int64_t made = std::min(steps, divided_up(until - progress, worth));
        progress += made * worth;
        steps -= made;
    }
    return progress;
}

std::optional<std::int64_t> steps_to_target(const LearningModel& model, std::int64_t from,
                                            const LearningStep& step) {
    std::int64_t progress = from;
    std::int64_t steps = 0;
    while (progress < model.target()) {
        const std::int64_t worth = model.worth(progress, step);
        if (worth == 0) return std::nullopt;
        const std::int64_t until = std::min(model.same_until(progress), model.target());
        const std::int64_t made = divided_up(until - progress, worth);
        progress += made * worth;
        steps += made;
    }
    return steps;
}

std::int64_t samples_left(const LearningModel& model, std::int64_t progress,
                          const LearningStep& step) {
    constexpr std::int64_t most = 1'000'000'000'000'000;
    if (progress >= model.target()) return 0;
    const std::int64_t worth = model.worth(progress, step);
    if (worth == 0) return most;
    const std::int64_t steps = divided_up(model.target() - progress, worth);
    return steps > most / step.batch ? most : steps * step.batch;
}

}  // namespace ukemi
