// learner_tuner.cpp — learners are added to each GPU while throughput rises by more than a
// threshold.
//
// Crossbow's auto-tuner (Koliousis et al., VLDB'19; ModelManager.java): δ = (now − before) ÷
// before, the first time 1; δ above the threshold adds a learner per GPU, anything else takes the
// last one back and ends the tuning. Crossbow reads a throughput averaged over a second at every
// synchronisation, so two questions may fall into one window and stop it too early; here each
// question waits for a whole window after the last change.
#include <limits>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"

namespace ukemi {

namespace {

class LearnerTuner final : public Policy {
public:
    LearnerTuner(std::int64_t window_steps, double threshold, std::int32_t learners_max)
        : window_steps_(window_steps), threshold_(threshold), learners_max_(learners_max) {}
    std::string_view name() const override { return "learner_tuner"; }
    KnobSet knobs() const override { return {Knob::learners_per_gpu}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }

    Decision before_train(const PolicyView& view) override {
        begin_window(view.seen);
        return {};
    }
    Decision after_step(const PolicyView& view) override {
        if (done_) return {};
        const Observation& seen = view.seen;
        if (seen.steps_done < began_step_ || seen.workers != began_workers_) begin_window(seen);
        if (seen.steps_done - began_step_ < window_steps_) return {};
        const Duration time = seen.now - began_;
        if (time <= Duration{}) return {};
        const double now =
            static_cast<double>(seen.samples_done - began_samples_) / to_seconds(time);
        const double rise = before_ > 0 ? (now - before_) / before_ : 1;
        before_last_ = before_;
        before_ = now;
        begin_window(seen);
        return tuned(view.plan.learners_per_gpu, rise);
    }
    // A window must not mix two Plans.
    void committed(const Plan&) override { began_step_ = never_; }
    void discarded(const Plan&, std::string_view) override {  // asks the same again, later
        before_ = before_last_;
        done_ = false;
        began_step_ = never_;
    }

private:
    Decision tuned(std::int32_t learners, double rise) {
        Decision decision;
        if (rise > threshold_ && learners < learners_max_) {
            decision.learners_per_gpu = learners + 1;
            decision.reason = "throughput rose";
            return decision;
        }
        done_ = true;
        if (rise > threshold_ || learners == 1) return {};
        decision.learners_per_gpu = learners - 1;
        decision.reason = "throughput rises no more";
        return decision;
    }
    void begin_window(const Observation& seen) {
        began_ = seen.now;
        began_step_ = seen.steps_done;
        began_samples_ = seen.samples_done;
        began_workers_ = seen.workers;
    }

    static constexpr std::int64_t never_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t window_steps_;
    double threshold_;
    std::int32_t learners_max_;
    bool done_ = false;
    double before_ = 0;       // samples a second in the window before
    double before_last_ = 0;  // and in the one before that
    Instant began_;
    std::int64_t began_step_ = never_;
    std::int64_t began_samples_ = 0;
    std::int32_t began_workers_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_learner_tuner(ConfigReader& parameters) {
    const std::int64_t window = parameters.integer("window_steps", 1, 1'000'000'000, 100);
    const double threshold = parameters.number("threshold", 0, 1000, 0.1);
    const std::int64_t most = parameters.integer("learners_max", 1, 1024, 16);
    return std::make_unique<LearnerTuner>(window, threshold, static_cast<std::int32_t>(most));
}

}  // namespace ukemi
