// throughput_resize.cpp — workers are added while each brings enough, and taken away while they do
// not.
//
// The autoscaling engine of Or et al. (MLSys'20; the rule is in scaling_rule.hpp). Every
// `every_steps` steps since the group was last formed, and not while it waits for workers, it
// compares the mean throughput at the sizes tried so far. The first step of a group is not
// measured. A policy cannot see a batch's own time, so what is measured is the time between two
// steps.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"
#include "policies/size/group_watch.hpp"
#include "policies/size/scaling_rule.hpp"

namespace ukemi::policies {

namespace {

struct ThroughputResizeSettings {
    ScalingLimits limits;
    std::int64_t every_steps = 10;
    double threshold = 0.1;
    bool keeps_machines = true;
    std::string condition = "throughput";
    std::vector<UtilityOfTime::Point> utility;  // linear: its intercepts alone
    bool linear = true;
    Price worker_price = dollars_per_hour(1);
};

class ThroughputResize final : public MeasuringResize {
public:
    explicit ThroughputResize(ThroughputResizeSettings settings) : settings_(std::move(settings)) {}
    std::string_view name() const override { return "throughput_resize"; }
    Decision after_step(const PolicyView& view) override {
        measure(view.seen);
        const std::int64_t steps = group_.steps_since_restart();
        if (steps == 0 || steps % settings_.every_steps != 0 || sizes_.empty()) return {};
        if (group_.workers() != view.plan.workers_max) return {};  // some are on their way
        const std::int32_t target = target_size(view);
        if (target == view.plan.workers_max) return {};
        Decision decision = resized_to(target);
        if (settings_.keeps_machines) decision.count = std::max(fleet_count(view.plan), target);
        decision.reason = target > view.plan.workers_max ? "more workers may pay" : "fewer will do";
        return decision;
    }

private:
    void measure(const Observation& seen) override {
        const auto taken = group_.look(seen);
        if (!taken || group_.steps_since_restart() <= 1) return;
        MeasuredSize& size = sizes_[seen.workers];
        size.workers = seen.workers;
        const double rate = static_cast<double>(taken->samples) / to_seconds(taken->time);
        size.steps += taken->steps;
        size.samples_per_second += (rate - size.samples_per_second) *
                                   static_cast<double>(taken->steps) /
                                   static_cast<double>(size.steps);
    }

    std::int32_t target_size(const PolicyView& view) {
        std::vector<MeasuredSize> measured;
        for (const auto& [workers, size] : sizes_) measured.push_back(size);
        if (measured.size() == 1) fix_utility(view.seen, measured.front());
        std::vector<bool> passes;
        for (std::size_t i = 1; i < measured.size(); ++i) {
            passes.push_back(pays(view.seen, measured[i - 1], measured[i]));
        }
        ScalingLimits limits = settings_.limits;
        limits.most = std::min(limits.most, view.instances_max);
        limits.least = std::min(limits.least, limits.most);
        const std::int32_t wanted = next_size(measured, passes, limits);
        return std::clamp(wanted, limits.least, limits.most);
    }
    bool pays(const Observation& seen, const MeasuredSize& smaller, const MeasuredSize& larger) {
        if (settings_.condition == "throughput") {
            return scaling_efficiency(smaller, larger) > settings_.threshold;
        }
        if (!utility_) fix_utility(seen, smaller);
        const JobAhead job{seen.earlier + seen.now.since_start(), samples_left(seen),
                           to_dollars_per_hour(settings_.worker_price)};
        return utility_passes(smaller, larger, *utility_, job);
    }
    static std::int64_t samples_left(const Observation& seen) {
        return std::max<std::int64_t>(seen.samples_total - seen.samples_done, 0);
    }
    // The time that the first size would take altogether is where steps of utility end.
    void fix_utility(const Observation& seen, const MeasuredSize& first) {
        if (settings_.condition == "throughput" || utility_) return;
        if (settings_.linear) {
            utility_ = UtilityOfTime::linear(settings_.utility.front());
            return;
        }
        const double left = static_cast<double>(samples_left(seen)) / first.samples_per_second;
        const double longest = to_seconds(days(36'500));
        const double total =
            std::min(to_seconds(seen.earlier + seen.now.since_start()) + left, longest);
        utility_ = UtilityOfTime::steps(settings_.utility, seconds(total));
    }

    ThroughputResizeSettings settings_;
    std::map<std::int32_t, MeasuredSize> sizes_;
    std::optional<UtilityOfTime> utility_;
};

std::int32_t small_integer(ConfigReader& parameters, std::string_view key, std::int32_t otherwise) {
    return static_cast<std::int32_t>(parameters.integer(key, 1, 1'000'000, otherwise));
}

// "utility_dollars" and "utility_until": the intercepts of a line, or with "steps" its points.
void read_utility(ConfigReader& parameters, ThroughputResizeSettings& settings) {
    static constexpr std::string_view shapes[] = {"linear", "steps"};
    settings.linear = parameters.one_of("utility", shapes, "linear") == "linear";
    settings.worker_price = parameters.price("worker_price", dollars_per_hour(1));
    Duration before;
    for (ConfigReader& one : parameters.objects("utility_points")) {
        const double worth = one.number("dollars", 0, 1e12);
        const Duration until = one.duration("until");
        if (until <= before) one.fail("until", "expected times that rise from above zero");
        if (until > days(36'500)) one.fail("until", "expected at most 36500 d");
        before = until;
        one.finish();
        settings.utility.push_back({worth, until});
    }
    if (settings.utility.empty() || (settings.linear && settings.utility.size() != 1)) {
        parameters.fail("utility_points", settings.linear
                                              ? "expected one point: the line's intercepts"
                                              : "expected at least one point");
    }
}

}  // namespace

std::unique_ptr<Policy> make_throughput_resize(ConfigReader& parameters) {
    static constexpr std::string_view conditions[] = {"throughput", "utility"};
    ThroughputResizeSettings settings;
    ScalingLimits& limits = settings.limits;
    limits.spawn = small_integer(parameters, "spawn", limits.spawn);
    limits.least = small_integer(parameters, "workers_min", limits.least);
    limits.most = small_integer(parameters, "workers_max", limits.most);
    limits.consecutive_passes = small_integer(parameters, "consecutive_passes", 3);
    limits.stay_steps = parameters.integer("stay_steps", 1, 1'000'000'000, limits.stay_steps);
    if (limits.least % limits.spawn != 0) {
        parameters.fail("workers_min", "expected a multiple of \"spawn\"");
    }
    if (limits.most % limits.spawn != 0) {
        parameters.fail("workers_max", "expected a multiple of \"spawn\"");
    }
    if (limits.most < limits.least) {
        parameters.fail("workers_max", "expected at least \"workers_min\"");
    }
    settings.every_steps = parameters.integer("every_steps", 2, 1'000'000'000, 10);
    settings.threshold = parameters.number("threshold", -1000, 1000, settings.threshold);
    settings.keeps_machines = parameters.flag("keeps_machines", true);
    settings.condition = parameters.one_of("condition", conditions, "throughput");
    if (settings.condition == "utility") read_utility(parameters, settings);
    return std::make_unique<ThroughputResize>(std::move(settings));
}

}  // namespace ukemi::policies
