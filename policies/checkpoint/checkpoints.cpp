// checkpoints.cpp — when to save: every so often, by Young's rule, by Daly's, or upon a notice.
//
// Young and Daly need the mean time between failures. It is estimated from what the job has seen:
// (prior + spot time so far) / (1 + bursts of losses so far), the mean after one imagined loss at
// the prior; `mean_time_between_failures` sets the prior. The interval is left alone while the
// estimate moves it by less than a tenth. On on-demand, which is not taken away, they do not save:
// the world saves before a planned change back to spot.
#include <algorithm>
#include <memory>

#include "base/bounded_duration.hpp"
#include "policies/checkpoint/checkpoint_interval.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

class PeriodicCheckpoint final : public Policy {
public:
    explicit PeriodicCheckpoint(Duration interval) : interval_(interval) {}
    std::string_view name() const override { return "periodic_checkpoint"; }
    KnobSet knobs() const override { return {Knob::checkpoint_interval}; }
    HookSet hooks() const override { return {Hook::before_train}; }
    Decision before_train(const PolicyView&) override {
        Decision decision;
        decision.checkpoint_interval = interval_;
        decision.reason = "every so often";
        return decision;
    }

private:
    Duration interval_;
};

class OptimalCheckpoint final : public Policy {
public:
    OptimalCheckpoint(std::string_view name, IntervalRule rule, Duration prior)
        : name_(name), rule_(rule), prior_(prior) {}
    std::string_view name() const override { return name_; }
    KnobSet knobs() const override { return {Knob::checkpoint_interval}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) override { return choose(view); }
    Decision on_event(EventKind, const PolicyView& view) override {
        const bool on_demand = fleet_market(view.plan) == Market::on_demand;
        if (view.seen.spot_loss_events == losses_seen_ && on_demand == on_demand_) return {};
        return choose(view);
    }
    // The wish was not fulfilled: choose again at the next question.
    void discarded(const Plan&, std::string_view) override { losses_seen_ = -1; }

private:
    Decision choose(const PolicyView& view) {
        Decision decision;
        if (!view.predictor.loses_work()) return decision;  // nothing to save from
        const Observation& seen = view.seen;
        losses_seen_ = seen.spot_loss_events;
        on_demand_ = fleet_market(view.plan) == Market::on_demand;
        if (on_demand_) {
            if (view.plan.checkpoint_interval == never_checkpoint) return decision;
            decision.checkpoint_interval = never_checkpoint;
            decision.reason = "on-demand is not taken away";
            return decision;
        }
        const double mean_s =
            to_seconds(prior_ + seen.spot_time) / static_cast<double>(1 + seen.spot_loss_events);
        const Duration cost = view.predictor.checkpoint_time(view.plan);
        const Duration best = saving_interval(rule_, cost, seconds(mean_s));
        const Duration now = view.plan.checkpoint_interval;
        if (now != never_checkpoint && std::abs(best / now - 1) < 0.1) return decision;
        decision.checkpoint_interval = best;
        decision.reason = "failure rate estimated anew";
        return decision;
    }

    std::string_view name_;
    IntervalRule rule_;
    Duration prior_;
    std::int64_t losses_seen_ = 0;
    bool on_demand_ = false;
};

class CheckpointOnNotice final : public Policy {
public:
    std::string_view name() const override { return "checkpoint_on_notice"; }
    KnobSet knobs() const override { return {Knob::checkpoint_on_notice}; }
    HookSet hooks() const override { return {Hook::before_train}; }
    Decision before_train(const PolicyView&) override {
        Decision decision;
        decision.checkpoint_on_notice = true;
        decision.reason = "always";
        return decision;
    }
};

Duration at_least_a_second(ConfigReader& parameters, std::string_view key, Duration otherwise) {
    return bounded_duration(parameters, key, whole_seconds(1), days(36'500), otherwise);
}

std::unique_ptr<Policy> make_optimal(ConfigReader& parameters, std::string_view name,
                                     IntervalRule rule) {
    return std::make_unique<OptimalCheckpoint>(
        name, rule, at_least_a_second(parameters, "mean_time_between_failures", hours(6)));
}

}  // namespace

std::unique_ptr<Policy> make_periodic_checkpoint(ConfigReader& parameters) {
    return std::make_unique<PeriodicCheckpoint>(
        at_least_a_second(parameters, "interval", hours(1)));
}
std::unique_ptr<Policy> make_young_checkpoint(ConfigReader& parameters) {
    return make_optimal(parameters, "young_checkpoint", young_interval);
}
std::unique_ptr<Policy> make_daly_checkpoint(ConfigReader& parameters) {
    return make_optimal(parameters, "daly_checkpoint", daly_interval);
}
std::unique_ptr<Policy> make_checkpoint_on_notice(ConfigReader&) {
    return std::make_unique<CheckpointOnNotice>();
}

}  // namespace ukemi::policies
