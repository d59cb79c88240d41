// noise_scale_batch.cpp — the batch follows the gradient noise scale.
//
// McCandlish et al. (arXiv:1812.06162, appendix D): with r the samples that one step less is worth,
// samples + r × steps is least where B = √(r·φ) at each moment. Without an exchange rate B = φ, the
// batch at which twice the least steps and twice the least samples are taken.
#include <memory>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

struct NoiseScaleBatchSettings {
    double exchange_rate = 0;  // samples a step; zero: the noise scale itself
    std::int64_t batch_min = 1;
    std::int64_t batch_max = 65'536;
    double least_change = 0.1;
    std::int64_t every_steps = 0;  // zero: every epoch
};

class NoiseScaleBatch final : public Policy {
public:
    explicit NoiseScaleBatch(const NoiseScaleBatchSettings& settings) : settings_(settings) {}
    std::string_view name() const override { return "noise_scale_batch"; }
    KnobSet knobs() const override { return {Knob::batch}; }
    HookSet hooks() const override {
        if (settings_.every_steps > 0) return {Hook::before_train, Hook::after_step};
        return {Hook::before_train, Hook::after_epoch};
    }
    std::int64_t every_steps() const override {
        return std::max<std::int64_t>(settings_.every_steps, 1);
    }

    Decision before_train(const PolicyView& view) override { return follow(view); }
    Decision after_step(const PolicyView& view) override { return follow(view); }
    Decision after_epoch(const PolicyView& view) override { return follow(view); }

private:
    Decision follow(const PolicyView& view) const {
        Decision decision;
        const double noise = noise_scale_of(view);
        if (noise == 0) return decision;
        const double rate = settings_.exchange_rate > 0 ? settings_.exchange_rate : noise;
        const std::int64_t wanted =
            whole_batch(std::sqrt(rate * noise), settings_.batch_min, settings_.batch_max);
        const double now = static_cast<double>(batch_of(view));
        const double change = std::abs(static_cast<double>(wanted) - now);
        if (change < settings_.least_change * now) return decision;
        decision.global_batch = wanted;
        decision.reason = "the noise scale changed";
        return decision;
    }

    NoiseScaleBatchSettings settings_;
};

}  // namespace

std::unique_ptr<Policy> make_noise_scale_batch(ConfigReader& parameters) {
    NoiseScaleBatchSettings settings;
    settings.exchange_rate = parameters.number("exchange_rate", 1e-3, 1e15, 0);
    settings.batch_min = parameters.integer("batch_min", 1, batch_most, settings.batch_min);
    settings.batch_max = parameters.integer("batch_max", settings.batch_min, batch_most,
                                            std::max(settings.batch_min, settings.batch_max));
    settings.least_change = parameters.number("least_change", 0, 10, settings.least_change);
    settings.every_steps = parameters.integer("every_steps", 1, 1'000'000'000, 0);
    return std::make_unique<NoiseScaleBatch>(settings);
}

}  // namespace ukemi::policies
