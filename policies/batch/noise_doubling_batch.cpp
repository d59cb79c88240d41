// noise_doubling_batch.cpp — the batch doubles after each epoch in which gradients became noisier.
//
// The policy of KungFu's Fig. 4 (Mai et al., OSDI'20; the released gns_policy.py): after each step
// r = |noise scale| ÷ batch of a worker, smoothed with weight 0.9 for what was before, a new value
// clipped to [average/2, 2·average]; after each epoch, if the average is above the one at the end
// of the epoch before, the batch of each worker doubles, up to 1024. It never shrinks.
#include <memory>
#include <optional>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

struct DoublingSettings {
    std::int64_t worker_batch_max = 1024;
    std::int64_t measure_every = 1;
    double smoothing = 0.9;
    double cap = 2;
};

class NoiseDoublingBatch final : public Policy {
public:
    explicit NoiseDoublingBatch(const DoublingSettings& settings) : settings_(settings) {}
    std::string_view name() const override { return "noise_doubling_batch"; }
    KnobSet knobs() const override { return {Knob::batch}; }
    HookSet hooks() const override { return {Hook::after_step, Hook::after_epoch}; }
    std::int64_t every_steps() const override { return settings_.measure_every; }

    Decision after_step(const PolicyView& view) override {
        const double noise = std::abs(view.seen.gradient.noise_scale);
        if (!(noise > 0) || !std::isfinite(noise)) return {};  // not measured
        const double ratio = noise / static_cast<double>(worker_batch(view));
        if (!average_) {
            average_ = ratio;
            return {};
        }
        const double clipped =
            std::clamp(ratio, *average_ / settings_.cap, *average_ * settings_.cap);
        average_ = settings_.smoothing * *average_ + (1 - settings_.smoothing) * clipped;
        return {};
    }
    Decision after_epoch(const PolicyView& view) override {
        if (!average_) return {};
        const bool rose = last_epoch_ && *average_ > *last_epoch_;
        last_epoch_ = average_;
        Decision decision;
        if (!rose) return decision;
        const std::int64_t workers = std::max(view.seen.workers, 1);
        const std::int64_t most = std::min(settings_.worker_batch_max, batch_most / workers);
        const std::int64_t wanted = std::min(2 * worker_batch(view), most) * workers;
        if (wanted <= batch_of(view)) return decision;
        decision.global_batch = wanted;
        decision.reason = "gradients became noisier";
        return decision;
    }

private:
    static std::int64_t worker_batch(const PolicyView& view) {
        return std::max<std::int64_t>(batch_of(view) / std::max(view.seen.workers, 1), 1);
    }

    DoublingSettings settings_;
    std::optional<double> average_;
    std::optional<double> last_epoch_;
};

}  // namespace

std::unique_ptr<Policy> make_noise_doubling_batch(ConfigReader& parameters) {
    DoublingSettings settings;
    settings.worker_batch_max =
        parameters.integer("worker_batch_max", 1, batch_most, settings.worker_batch_max);
    settings.measure_every = parameters.integer("measure_every_steps", 1, 1'000'000, 1);
    settings.smoothing = parameters.number("smoothing", 0, 1, settings.smoothing);
    settings.cap = parameters.number("cap", 1, 1e6, settings.cap);
    return std::make_unique<NoiseDoublingBatch>(settings);
}

}  // namespace ukemi::policies
