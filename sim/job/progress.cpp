// progress.cpp — counting steps and checkpoints, and the arithmetic of steps at a constant rate.
#include "sim/job/progress.hpp"

#include <algorithm>

namespace ukemi::sim {

void Progress::reached(std::int64_t samples_done) {
    samples_most_ = std::max(samples_most_, samples_done);
}

void Progress::steps_made(std::int64_t steps, Duration time, Instant until) {
    made_.steps += steps;
    made_.time += time;
    made_.from = std::min(made_.from, until - time);
    if (steps > 0) made_.until = until;
}

std::optional<Duration> Progress::until_checkpoint(Duration interval) const {
    if (interval == policies::never_checkpoint) return std::nullopt;
    return std::max(Duration{}, interval - run_since_checkpoint_);
}

void Progress::checkpoint_ended(const std::optional<SavedWork>& saved) {
    run_since_checkpoint_ = Duration{};
    if (!saved) return;
    kept_ = *saved;
    ++checkpoints_;
}

std::optional<SavedWork> Progress::roll_back(std::int64_t samples_done) {
    if (samples_done <= kept_.samples) return std::nullopt;
    run_since_checkpoint_ = Duration{};
    return kept_;
}

std::int64_t steps_for(std::int64_t samples_left, std::int64_t samples_per_step) {
    return samples_left <= 0 ? 0 : (samples_left + samples_per_step - 1) / samples_per_step;
}

std::optional<Instant> latest_save(Instant deadline, Duration takes, Instant now) {
    const Instant latest = deadline - takes - whole_seconds(1);
    return latest < now ? std::nullopt : std::optional(latest);
}

std::int64_t Segment::steps_by(Instant now) const {
    const Duration time = now - since - first_later;
    return time < Duration{} ? 0 : policies::steps_within(rate, time);
}

Instant Segment::end_of(std::int64_t steps) const {
    const Instant even = since + policies::time_for(rate, steps);
    return steps > 0 ? even + first_later : even;
}

Instant Segment::boundary_after(Instant now) const {
    const std::int64_t steps = steps_by(now);
    const bool fluid = rate.steps >= rate.per.raw();
    return fluid || end_of(steps) == now ? now : end_of(steps + 1);
}

Instant Segment::redone_until(std::int64_t steps) const {
    return end_of(std::min(steps, steps_for(samples_to_redo, samples_per_step)));
}

std::int64_t Segment::steps_until(Instant moment) const {
    const std::int64_t whole = steps_by(moment);
    return whole + (whole == 0 || end_of(whole) < moment ? 1 : 0);
}

std::optional<std::int64_t> Segment::steps_to_checkpoint(Duration rest, std::int64_t least,
                                                         std::int64_t steps_left) const {
    if (rest >= end_of(steps_left) - since) return std::nullopt;
    const std::int64_t steps = std::max(least, steps_by(since + rest));
    return steps < steps_left ? std::optional(steps) : std::nullopt;
}

}  // namespace ukemi::sim
