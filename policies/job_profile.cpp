#include "policies/job_profile.hpp"

#include <limits>
#include <utility>

namespace ukemi {

std::int64_t steps_within(StepRate rate, Duration time) {
    INVARIANT(rate.steps > 0 && rate.per > Duration{} && time >= Duration{});
    if (rate.steps == rate.per.raw()) return time.raw();  // one step a nanosecond: fluid work
    const Int128 steps = static_cast<Int128>(time.raw()) * rate.steps / rate.per.raw();
    INVARIANT(steps <= std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(steps);
}

Duration time_for(StepRate rate, std::int64_t steps) {
    INVARIANT(rate.steps > 0 && rate.per > Duration{} && steps >= 0);
    if (rate.steps == rate.per.raw()) return nanoseconds(steps);
    const Int128 time =
        (static_cast<Int128>(steps) * rate.per.raw() + rate.steps - 1) / rate.steps;
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
        // Steps per hour at both ends, interpolated: integers, so equal on every machine.
        const Duration hour = hours(1);
        const auto per_hour = [&](StepRate rate) {
            return static_cast<Int128>(rate.steps) * hour.raw() / rate.per.raw();
        };
        const Int128 low = per_hour(a.rate);
        const Int128 rise = (per_hour(b.rate) - low) * (workers - a.workers);
        return {static_cast<std::int64_t>(low + rise / (b.workers - a.workers)), hour};
    }
    return points.back().rate;
}

namespace {

class ProfilePredictor final : public Predictor {
public:
    explicit ProfilePredictor(JobProfile profile) : profile_(std::move(profile)) {}

    Duration work_time(std::int64_t samples, const Plan& plan,
                       std::int32_t workers) const override {
        const std::int64_t per_step = samples_per_step(plan, workers);
        const std::int64_t steps = (samples + per_step - 1) / per_step;
        const Duration training = time_for(rate_of(profile_, workers), steps);
        if (profile_.lossless || plan.checkpoint_interval == never_checkpoint) return training;
        const std::int64_t saves = training.raw() / plan.checkpoint_interval.raw();
        return training + saves * profile_.checkpoint;
    }
    Duration transition_time(const Plan&, const Plan&) const override {
        return profile_.provisioning + profile_.restart;
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
    JobProfile profile_;
};

}  // namespace

std::unique_ptr<Predictor> make_profile_predictor(JobProfile profile) {
    return std::make_unique<ProfilePredictor>(std::move(profile));
}

}  // namespace ukemi
