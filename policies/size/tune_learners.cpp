// tune_learners.cpp — a learner more on every GPU while that brings throughput.
//
// Crossbow's auto-tuner (Koliousis et al., VLDB'19; the rule is in learner_tuning.hpp). Each number
// of learners is judged by one whole window under it: steps before the change, the time in which
// the group was formed anew, and windows that a change of the group cut short do not count.
#include <memory>

#include "base/bounded_duration.hpp"
#include "policies/policy.hpp"
#include "policies/size/group_watch.hpp"
#include "policies/size/learner_tuning.hpp"

namespace ukemi::policies {

namespace {

class TuneLearners final : public Policy {
public:
    TuneLearners(std::int32_t learners_max, double threshold, Duration window)
        : tuning_(learners_max, threshold), window_(window) {}
    std::string_view name() const override { return "tune_learners"; }
    KnobSet knobs() const override { return {Knob::learners_per_gpu}; }
    HookSet hooks() const override { return {Hook::on_event, Hook::after_step}; }

    Decision on_event(EventKind, const PolicyView& view) override {
        look(view);
        return {};
    }
    Decision after_step(const PolicyView& view) override {
        look(view);
        if (tuning_.done() || time_ < window_) return {};
        const double throughput = static_cast<double>(samples_) / to_seconds(time_);
        const std::int32_t learners =
            tuning_.after_window(view.plan.learners_per_gpu, throughput, view.learners_max);
        begin_window(view);
        if (learners == view.plan.learners_per_gpu) return {};
        Decision decision;
        decision.learners_per_gpu = learners;
        decision.reason = tuning_.done() ? "one learner fewer, for good" : "one learner more";
        return decision;
    }

private:
    void begin_window(const PolicyView& view) {
        samples_ = 0;
        time_ = Duration{};
        learners_ = view.plan.learners_per_gpu;
    }
    void look(const PolicyView& view) {
        const auto taken = group_.look(view.seen);
        const bool first = group_.steps_since_restart() <= 1;  // of a new group
        if (learners_ != view.plan.learners_per_gpu || first) {
            begin_window(view);
            return;
        }
        if (!taken) return;
        samples_ += taken->samples;
        time_ += taken->time;
    }

    LearnerTuning tuning_;
    Duration window_;
    GroupWatch group_;
    std::int32_t learners_ = 0;
    std::int64_t samples_ = 0;
    Duration time_;
};

}  // namespace

std::unique_ptr<Policy> make_tune_learners(ConfigReader& parameters) {
    const auto learners_max =
        static_cast<std::int32_t>(parameters.integer("learners_max", 1, 64, 4));
    const double threshold = parameters.number("threshold", 0, 10, learner_threshold);
    const Duration window =
        bounded_duration(parameters, "window", nanoseconds(1), days(1), whole_seconds(1));
    return std::make_unique<TuneLearners>(learners_max, threshold, window);
}

}  // namespace ukemi::policies
