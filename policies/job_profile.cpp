#include "policies/job_profile.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace ukemi::policies {

std::int64_t steps_within(StepRate rate, Duration time) {
    INVARIANT(rate.steps > 0 && rate.per > Duration{} && time >= Duration{});
    if (rate.steps == rate.per.raw()) return time.raw();  // one step a nanosecond: fluid work
    const Int128 steps = static_cast<Int128>(time.raw()) * rate.steps / rate.per.raw();
    INVARIANT(steps <= std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(steps);
}

Int128 nanoseconds_for(StepRate rate, std::int64_t steps) {
    INVARIANT(rate.steps > 0 && rate.per > Duration{} && steps >= 0);
    if (rate.steps == rate.per.raw()) return steps;
    return (static_cast<Int128>(steps) * rate.per.raw() + rate.steps - 1) / rate.steps;
}

namespace {

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

StepRate stretched(StepRate rate, std::int64_t numerator, std::int64_t denominator) {
    INVARIANT(numerator > 0 && denominator > 0);
    return numerator == denominator ? rate : times_ratio(rate, denominator, numerator);
}

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

namespace {

StepRate rate_in(const JobProfile& profile, std::int32_t workers) {
    const std::vector<ThroughputPoint>& points = profile.throughput;
    const bool grows = profile.batch_grows;
    INVARIANT(!points.empty() && workers > 0);
    if (workers <= points.front().workers) return points.front().rate;
    for (std::size_t right = 1; right < points.size(); ++right) {
        if (points[right].workers < workers) continue;
        const ThroughputPoint& a = points[right - 1];
        const ThroughputPoint& b = points[right];
        if (b.workers == workers) return b.rate;
        // Batches per span at both ends, interpolated: integers, so equal on every machine.
        const Duration span = common_span(a.rate, b.rate);
        const auto per_span = [&](const ThroughputPoint& point) {
            return static_cast<Int128>(point.rate.steps) * span.raw() / point.rate.per.raw() *
                   (grows ? point.workers : 1);
        };
        const Int128 low = per_span(a);
        const Int128 rise = (per_span(b) - low) * (workers - a.workers);
        const Int128 batches = low + rise / (b.workers - a.workers);
        return {static_cast<std::int64_t>(batches / (grows ? workers : 1)), span};
    }
    const ThroughputPoint& last = points.back();
    return grows ? times_ratio(last.rate, last.workers, workers) : last.rate;
}

struct StepOverLinks {
    Duration computing;
    Duration exposed;
};

// `throughput` has the ring over the hosts in it: no step is longer than it was measured.
StepOverLinks step_over_links(const JobProfile& profile, const Plan& plan, std::int32_t workers) {
    const Duration step = time_for(rate_in(profile, workers), 1);
    const Duration around =
        std::min(ring_over_hosts(profile.links, workers), step - nanoseconds(1));
    const bool by_tree = goes_by_tree(profile.links, plan, workers);
    return {step - around, by_tree ? tree_over_hosts(profile.links, plan.tree) : around};
}

}  // namespace

Duration exposed_communication(const JobProfile& profile, const Plan& plan, std::int32_t workers) {
    if (workers < 2) return {};
    if (profile.links.known()) return step_over_links(profile, plan, workers).exposed;
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
    const auto deep =
        std::ranges::find(profile.pipelines, plan.layout.pipeline, &PipelineSteps::stages);
    if (deep != profile.pipelines.end()) {
        const auto whole = static_cast<std::size_t>(std::max(workers / deep->stages, 1));
        return {1, deep->steps[std::min(whole, deep->steps.size()) - 1]};
    }
    if (profile.step_time) return {1, step_of(*profile.step_time, plan, workers)};
    const StepRate rate = rate_in(profile, workers);
    if (profile.learner_speeds.empty() || plan.learners_per_gpu == 1) return rate;
    const auto last = std::ssize(profile.learner_speeds) - 1;
    const auto index = std::min<std::ptrdiff_t>(plan.learners_per_gpu - 1, last);
    // A step has as many batches as there are learners.
    return times_ratio(rate, profile.learner_speeds[static_cast<std::size_t>(index)],
                       std::int64_t{1000} * plan.learners_per_gpu);
}

}  // namespace

StepRate rate_of(const JobProfile& profile, const Plan& plan, std::int32_t workers) {
    if (goes_by_tree(profile.links, plan, workers)) {
        const StepOverLinks step = step_over_links(profile, plan, workers);
        return {1, step.computing + step.exposed};
    }
    const StepRate rate = compute_rate(profile, plan, workers);
    if (profile.links.known()) return rate;
    const Duration exposed = exposed_communication(profile, plan, workers);
    return exposed > Duration{} ? slowed(rate, exposed) : rate;
}

}  // namespace ukemi::policies
