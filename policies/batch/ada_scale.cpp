// ada_scale.cpp — the learning rate that a larger batch earns, from the measured noise scale.
//
// AdaScale SGD (Johnson et al., ICML'20, alg. 1): η_t = r_t·lr(⌊τ_t⌋) and τ_{t+1} = τ_t + r_t, with
// the gain r_t = (σ² + μ²) ÷ (σ²/S + μ²) in [1, S]. σ² is the variance of one small batch's
// gradient, so σ²/μ² = φ ÷ (small batch) and the gain is one of the noise scale alone. Estimates
// are averaged with θ = max(1 − S/1000, 0) a step, bias corrected.
#include <memory>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

struct AdaScaleSettings {
    std::vector<double> drop_at;  // in steps of the first batch, as τ counts
    double drop_factor = 0.1;
    std::int64_t every_steps = 1;
    double least_change = 0.01;
};

class AdaScale final : public Policy {
public:
    explicit AdaScale(AdaScaleSettings settings) : settings_(std::move(settings)) {}
    std::string_view name() const override { return "ada_scale"; }
    KnobSet knobs() const override { return {Knob::learning_rate}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }
    std::int64_t every_steps() const override { return settings_.every_steps; }

    Decision before_train(const PolicyView& view) override {
        reference_ = static_cast<double>(batch_of(view));
        rate_ = view.plan.learning_rate;
        return {};
    }
    Decision after_step(const PolicyView& view) override {
        const double scale = static_cast<double>(batch_of(view)) / reference_;
        average(noise_scale_of(view), scale);
        const double gain = gain_now(scale);
        const std::int64_t steps = view.seen.steps_done - steps_seen_;
        if (steps > 0) useful_steps_ += gain * static_cast<double>(steps);
        steps_seen_ = view.seen.steps_done;  // less after a loss: τ keeps what was tried
        double wanted = rate_ * gain;
        for (const double at : settings_.drop_at) {
            if (useful_steps_ >= at) wanted *= settings_.drop_factor;
        }
        Decision decision;
        const double now = view.plan.learning_rate;
        if (std::abs(wanted - now) <= settings_.least_change * now) return decision;
        decision.learning_rate = wanted;
        decision.reason = "what the batch gains";
        return decision;
    }

private:
    void average(double noise_scale, double scale) {
        if (noise_scale == 0) return;
        const double keep_a_step = std::max(1 - scale / 1000, 0.0);
        double keep = 1;  // over the steps since the last look
        for (std::int64_t step = 0; step < settings_.every_steps; ++step) keep *= keep_a_step;
        noise_ = keep * noise_ + (1 - keep) * noise_scale;
        weight_ = keep * weight_ + (1 - keep);
    }
    double gain_now(double scale) const {
        if (weight_ == 0) return 1;
        return gain_of(noise_ / weight_, scale * reference_, reference_);
    }

    AdaScaleSettings settings_;
    double reference_ = 1;  // the first batch
    double rate_ = 0;       // that goes with it
    double noise_ = 0;
    double weight_ = 0;
    double useful_steps_ = 0;  // τ
    std::int64_t steps_seen_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_ada_scale(ConfigReader& parameters) {
    AdaScaleSettings settings;
    if (parameters.has("drop_at")) settings.drop_at = parameters.numbers("drop_at", 1, 1e15);
    settings.drop_factor = parameters.number("drop_factor", 1e-6, 1, settings.drop_factor);
    settings.every_steps = parameters.integer("every_steps", 1, 100'000, settings.every_steps);
    settings.least_change = parameters.number("least_change", 0, 1, settings.least_change);
    return std::make_unique<AdaScale>(std::move(settings));
}

}  // namespace ukemi::policies
