#include "policies/job_profile.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace ukemi {

std::int64_t steps_within(StepRate rate, Duration time) {
    INVARIANT(rate.steps > 0 && rate.per > Duration{} && time >= Duration{});
    if (rate.steps == rate.per.raw()) return time.raw();  // one step a nanosecond: fluid work
    const Int128 steps = static_cast<Int128>(time.raw()) * rate.steps / rate.per.raw();
    INVARIANT(steps <= std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(steps);
}

namespace {

Int128 nanoseconds_for(StepRate rate, std::int64_t steps) {
    INVARIANT(rate.steps > 0 && rate.per > Duration{} && steps >= 0);
    if (rate.steps == rate.per.raw()) return steps;
    return (static_cast<Int128>(steps) * rate.per.raw() + rate.steps - 1) / rate.steps;
}

// Of two rates, so long that both have enough whole steps in it to be interpolated between.
Duration common_span(StepRate a, StepRate b) {
    constexpr Duration longest = hours(1'000'000);
    Duration span = hours(1);
    const auto steps_in_span = [&](StepRate rate) {
        return static_cast<Int128>(rate.steps) * span.raw() / rate.per.raw();
    };
    while (span < longest && std::min(steps_in_span(a), steps_in_span(b)) < 1'000'000'000 &&
           std::max(steps_in_span(a), steps_in_span(b)) < 1'000'000'000'000) {
        span = 10 * span;
    }
    return span;
}

}  // namespace

namespace {

StepRate times_ratio(StepRate rate, std::int64_t numerator, std::int64_t denominator) {
    const std::int64_t shared = std::gcd(rate.steps, rate.per.raw());
    Int128 steps = static_cast<Int128>(rate.steps / shared) * numerator;
    Int128 per = static_cast<Int128>(rate.per.raw() / shared) * denominator;
    constexpr Int128 most = std::numeric_limits<std::int64_t>::max();
    while (steps > most || per > most) {  // to 1 part in 10^15, and equal on every machine
        steps /= 2;
        per /= 2;
    }
    steps = std::max<Int128>(steps, 1);
    return {static_cast<std::int64_t>(steps), Duration::of(static_cast<std::int64_t>(per))};
}

}  // namespace

StepRate slowed(StepRate rate, Duration more) { return {1, time_for(rate, 1) + more}; }

StepRate scaled(StepRate rate, std::int32_t per_mille) {
    INVARIANT(per_mille > 0);
    return per_mille == 1000 ? rate : times_ratio(rate, per_mille, 1000);
}

Duration time_for(StepRate rate, std::int64_t steps) {
    const Int128 time = nanoseconds_for(rate, steps);
    INVARIANT(time <= std::numeric_limits<std::int64_t>::max());
    return nanoseconds(static_cast<std::int64_t>(time));
}

StepRate rate_of(const JobProfile& profile, std::int32_t workers) {
    INVARIANT(!profile.throughput.empty());
    const auto& points = profile.throughput;
    if (workers <= points.front().workers) return points.front().rate;
    for (std::size_t right = 1; right < points.size(); ++right) {
        if (points[right].workers < workers) continue;
        const ThroughputPoint& a = points[right - 1];
        const ThroughputPoint& b = points[right];
        if (b.workers == workers) return b.rate;
        // Steps per span at both ends, interpolated: integers, so equal on every machine.
        const Duration span = common_span(a.rate, b.rate);
        const auto per_span = [&](StepRate rate) {
            return static_cast<Int128>(rate.steps) * span.raw() / rate.per.raw();
        };
        const Int128 low = per_span(a.rate);
        const Int128 rise = (per_span(b.rate) - low) * (workers - a.workers);
        return {static_cast<std::int64_t>(low + rise / (b.workers - a.workers)), span};
    }
    return points.back().rate;
}

Duration exposed_communication(const JobProfile& profile, const Plan& plan, std::int32_t workers) {
    if (workers < 2) return {};
    const auto& known = profile.communication;
    const auto own = std::ranges::find(known, plan.collective, &ExposedCommunication::collective);
    if (own != known.end()) return time_for_size(own->times, workers);
    Duration longest;
    for (const ExposedCommunication& one : known) {
        longest = std::max(longest, time_for_size(one.times, workers));
    }
    return longest;
}

namespace {

StepRate compute_rate(const JobProfile& profile, const Plan& plan, std::int32_t workers) {
    if (profile.step_time) return {1, step_of(*profile.step_time, plan, workers)};
    const StepRate rate = rate_of(profile, workers);
    if (profile.learner_speeds.empty() || plan.learners_per_gpu == 1) return rate;
    const auto last = std::ssize(profile.learner_speeds) - 1;
    const auto index = std::min<std::ptrdiff_t>(plan.learners_per_gpu - 1, last);
    // A step has as many batches as there are learners.
    return times_ratio(rate, profile.learner_speeds[static_cast<std::size_t>(index)],
                       std::int64_t{1000} * plan.learners_per_gpu);
}

}  // namespace

StepRate rate_of(const JobProfile& profile, const Plan& plan, std::int32_t workers) {
    const StepRate rate = compute_rate(profile, plan, workers);
    const Duration exposed = exposed_communication(profile, plan, workers);
    return exposed > Duration{} ? slowed(rate, exposed) : rate;
}

namespace {

class ProfilePredictor final : public Predictor {
public:
    explicit ProfilePredictor(JobProfile profile) : profile_(std::move(profile)) {}

    Duration work_time(std::int64_t samples, const Plan& plan,
                       std::int32_t workers) const override {
        const std::int64_t per_step = samples_per_step(plan, workers);
        const std::int64_t steps = samples / per_step + (samples % per_step != 0 ? 1 : 0);
        const Int128 training =
            std::min(nanoseconds_for(rate_of(profile_, plan, workers), steps), longest);
        if (profile_.lossless || plan.checkpoint_interval == never_checkpoint) {
            return nanoseconds(static_cast<std::int64_t>(training));
        }
        // Saves come at step boundaries: after the whole steps that fit into the interval.
        const StepRate rate = rate_of(profile_, plan, workers);
        const Int128 fit =
            static_cast<Int128>(plan.checkpoint_interval.raw()) * rate.steps / rate.per.raw();
        const Int128 apart = std::max<Int128>(fit, 1) * rate.per.raw() / rate.steps;
        const Int128 saves = training / std::max<Int128>(apart, 1);
        const Int128 with_saves = training + saves * profile_.checkpoint.raw();
        return nanoseconds(static_cast<std::int64_t>(std::min(with_saves, longest)));
    }
    Duration transition_time(const Plan&, const Plan&) const override {
        // Whether somebody will have the state by then, nobody can know.
        return profile_.provisioning + profile_.spawn + std::max(profile_.restart, profile_.resize);
    }
    Duration checkpoint_time(const Plan&) const override {
        return profile_.lossless ? Duration{} : profile_.checkpoint;
    }
    Duration restore_time(const Plan&) const override {
        return profile_.lossless ? Duration{} : profile_.restore;
    }
    bool loses_work() const override { return !profile_.lossless; }
    void observe(const Observation&) override {}

private:
    // A guess stays below what a Duration holds, with room to add to it: nobody waits longer.
    static constexpr Int128 longest = days(36'500).raw();

    JobProfile profile_;
};

}  // namespace

std::unique_ptr<Predictor> make_profile_predictor(JobProfile profile) {
    return std::make_unique<ProfilePredictor>(std::move(profile));
}

}  // namespace ukemi
