// scaled_rate.cpp — a learning rate in proportion to the batch, with a gradual warm-up and drops.
//
// Goyal et al. (arXiv:1706.02677): η = η₀·k for a batch of k times the first, reached in a straight
// line from η₀ over the first 5 epochs, and ×0.1 at epochs 30, 60 and 80. `rule`: `linear`,
// `square_root` (η₀·√k; Krizhevsky 2014, Hoffer et al. 2017), `legw` (η₀·√k with a warm-up of k
// times the epochs; You et al. 2019) or `fixed` (η₀ at any batch). `times`: of the Plan's first
// rate, η₀.
#include <array>
#include <memory>
#include <vector>

#include "base/config_reader.hpp"
#include "base/invariant.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

enum class RateGoal : std::uint8_t { linear, square_root, legw, fixed };

struct ScaledRateSettings {
    RateGoal goal = RateGoal::linear;
    double times = 1;
    double warm_up_epochs = 5;
    std::vector<double> drop_at_epochs{30, 60, 80};
    double drop_factor = 0.1;
    std::int64_t every_steps = 1;
    double least_change = 0.01;
};

class ScaledRate final : public Policy {
public:
    explicit ScaledRate(ScaledRateSettings settings) : settings_(std::move(settings)) {}
    std::string_view name() const override { return "scaled_rate"; }
    KnobSet knobs() const override { return {Knob::learning_rate}; }
    HookSet hooks() const override {
        if (settings_.drop_at_epochs.empty() && settings_.warm_up_epochs <= 0) {
            return {Hook::before_train, Hook::after_step};
        }
        return {Hook::before_train, Hook::before_epoch, Hook::after_step};
    }
    std::int64_t every_steps() const override { return settings_.every_steps; }

    Decision before_train(const PolicyView& view) override {
        reference_ = static_cast<double>(batch_of(view));
        rate_ = settings_.times * view.plan.learning_rate;
        return {};
    }
    Decision before_epoch(const PolicyView& view) override { return rate_now(view); }
    Decision after_step(const PolicyView& view) override { return rate_now(view); }

private:
    static double epochs_done(const PolicyView& view) {
        if (view.samples_per_epoch == 0) return static_cast<double>(view.seen.epoch);
        return static_cast<double>(view.seen.samples_done) /
               static_cast<double>(view.samples_per_epoch);
    }

    double goal_of(double times) const {
        switch (settings_.goal) {
            case RateGoal::linear: return times;
            case RateGoal::square_root:
            case RateGoal::legw: return std::sqrt(times);
            case RateGoal::fixed: return 1;
        }
        INVARIANT(false);
        return 1;
    }

    Decision rate_now(const PolicyView& view) {
        const double times = static_cast<double>(batch_of(view)) / reference_;
        const bool longer = settings_.goal == RateGoal::legw;
        const double warm_up = settings_.warm_up_epochs * (longer ? std::max(times, 1.0) : 1);
        const double epochs = epochs_done(view);
        const double warmed = warm_up > 0 ? std::min(1.0, epochs / warm_up) : 1;
        double wanted = rate_ * (1 + (goal_of(times) - 1) * warmed);
        for (const double at : settings_.drop_at_epochs) {
            if (epochs >= at) wanted *= settings_.drop_factor;
        }
        Decision decision;
        const double now = view.plan.learning_rate;
        if (std::abs(wanted - now) <= settings_.least_change * now) return decision;
        decision.learning_rate = wanted;
        decision.reason = "in proportion to the batch";
        return decision;
    }

    ScaledRateSettings settings_;
    double reference_ = 1;  // the first batch
    double rate_ = 0;       // that goes with it
};

}  // namespace

std::unique_ptr<Policy> make_scaled_rate(ConfigReader& parameters) {
    static constexpr std::array<std::string_view, 4> rules{"linear", "square_root", "legw",
                                                           "fixed"};
    ScaledRateSettings settings;
    settings.goal = parameters.choice<RateGoal>("rule", rules, "linear");
    settings.times = parameters.number("times", 1e-6, 1e6, settings.times);
    settings.warm_up_epochs = parameters.number("warm_up_epochs", 0, 1e6, settings.warm_up_epochs);
    if (parameters.has("drop_at_epochs")) {
        settings.drop_at_epochs = parameters.numbers("drop_at_epochs", 0, 1e9);
    }
    settings.drop_factor = parameters.number("drop_factor", 1e-6, 1, settings.drop_factor);
    settings.every_steps = parameters.integer("every_steps", 1, 100'000, settings.every_steps);
    settings.least_change = parameters.number("least_change", 0, 1, settings.least_change);
    return std::make_unique<ScaledRate>(std::move(settings));
}

}  // namespace ukemi::policies
