// noise_scale_resize.cpp — one worker more whenever the gradient noise scale has risen.
//
// The example policy with which KungFu (Mai et al., OSDI'20) was presented: a noisier gradient
// bears a larger batch (McCandlish et al. 2018), so the cluster, and with it the global batch,
// grows while the noise scale does. It never shrinks. KungFu compares averages over all workers at
// each step; here a world shows one noise scale for the whole job, and what is compared are means
// over an epoch or over `every_steps` steps, because the estimate of a single step is mostly noise.
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "base/bounded_duration.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

class NoiseScaleResize final : public Policy {
public:
    NoiseScaleResize(std::int64_t period_steps, std::int64_t measure_every, Duration analysis)
        : period_steps_(period_steps), measure_every_(measure_every), analysis_(analysis) {}
    std::string_view name() const override { return "noise_scale_resize"; }
    KnobSet knobs() const override { return {Knob::count, Knob::workers}; }
    HookSet hooks() const override {
        if (period_steps_ > 0) return {Hook::after_step};
        return {Hook::after_step, Hook::after_epoch};
    }
    std::int64_t every_steps() const override { return measure_every_; }

    Decision after_step(const PolicyView& view) override {
        const double noise_scale = view.seen.gradient.noise_scale;
        if (std::isfinite(noise_scale) && noise_scale != 0) {  // zero: not measured
            sum_ += noise_scale;
            ++count_;
        }
        const bool ends = period_steps_ > 0 && view.seen.steps_done % period_steps_ == 0;
        return ends ? end_period(view) : known_by_now(view);
    }
    Decision after_epoch(const PolicyView& view) override { return end_period(view); }

private:
    Decision end_period(const PolicyView& view) {
        if (count_ == 0) return {};
        const double mean = sum_ / static_cast<double>(count_);
        const bool rose = before_ && mean > *before_;
        before_ = mean;
        sum_ = 0;
        count_ = 0;
        if (rose) known_at_.push_back(view.seen.now + analysis_);
        return known_by_now(view);
    }
    // What was measured is known at once, or when the records have been processed.
    Decision known_by_now(const PolicyView& view) {
        if (known_at_.empty() || known_at_.front() > view.seen.now) return {};
        known_at_.erase(known_at_.begin());
        const std::int32_t size = view.plan.workers_max;
        if (size >= view.instances_max) return {};
        Decision decision = resized_to(size + 1);
        decision.reason = "the noise scale rose";
        return decision;
    }

    std::int64_t period_steps_;  // zero: an epoch
    std::int64_t measure_every_;
    Duration analysis_;
    std::vector<Instant> known_at_;  // rises that were not acted upon yet
    double sum_ = 0;                 // over the measurements of this period
    std::int64_t count_ = 0;
    std::optional<double> before_;  // the mean of the period before
};

}  // namespace

std::unique_ptr<Policy> make_noise_scale_resize(ConfigReader& parameters) {
    constexpr std::int64_t most = 1'000'000'000;
    const std::int64_t period = parameters.integer("every_steps", 1, most, 0);
    const std::int64_t measured = parameters.integer("measure_every_steps", 1, most, 1);
    if (period % measured != 0) {
        parameters.fail("measure_every_steps", "expected a divisor of \"every_steps\"");
    }
    const Duration analysis =
        bounded_duration(parameters, "analysis_time", Duration{}, days(366), Duration{});
    return std::make_unique<NoiseScaleResize>(period, measured, analysis);
}

}  // namespace ukemi::policies
