// goodput_resize.cpp — scales out while each worker still brings much of what one alone would.
//
// Pollux's rule for a job in a cloud (Qiao et al., OSDI'21; goodput_rule.hpp), with the throughput
// that the Predictor expects at each size and the efficiency that the measured noise scale gives.
// Pollux chooses the best batch for each size as well; here the batch is the Plan's. As published
// the rule only scales out.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"
#include "policies/size/goodput_rule.hpp"

namespace ukemi::policies {

namespace {

struct GoodputResizeSettings {
    GoodputThresholds thresholds;
    std::int64_t period_steps = 100;
    std::int64_t initial_batch = 0;  // zero: one worker's of the first Plan
    std::int32_t most = 64;
};

class GoodputResize final : public Policy {
public:
    explicit GoodputResize(const GoodputResizeSettings& settings) : settings_(settings) {}
    std::string_view name() const override { return "goodput_resize"; }
    KnobSet knobs() const override { return {Knob::count, Knob::workers}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }

    Decision before_train(const PolicyView& view) override {
        if (settings_.initial_batch == 0) settings_.initial_batch = samples_per_step(view.plan, 1);
        return {};
    }
    Decision after_step(const PolicyView& view) override {
        const double noise_scale = view.seen.gradient.noise_scale;
        if (std::isfinite(noise_scale) && noise_scale != 0) {  // zero: not measured
            sum_ += noise_scale;
            ++count_;
        }
        if (view.seen.steps_done % settings_.period_steps != 0 || count_ == 0) return {};
        const double mean = sum_ / static_cast<double>(count_);  // one estimate may be negative
        sum_ = 0;
        count_ = 0;
        if (!(mean > 0)) return {};
        const std::int32_t size = view.plan.workers_max;
        const std::int32_t most = std::min(settings_.most, view.instances_max);
        if (size >= most || view.seen.workers != size) return {};
        const std::int32_t target =
            goodput_size(goodputs(view, mean, most), size, settings_.thresholds);
        if (target == size) return {};
        Decision decision = resized_to(target);
        decision.reason = "each worker brings enough progress";
        return decision;
    }

private:
    std::vector<double> goodputs(const PolicyView& view, double noise_scale,
                                 std::int32_t most) const {
        std::vector<double> list;
        for (std::int32_t workers = 1; workers <= most; ++workers) {
            const std::int64_t batch = samples_per_step(view.plan, workers);
            const std::int64_t steps = batch < 1'000'000'000'000 ? 1000 : 1;
            const Duration time = view.predictor.work_time(steps * batch, view.plan, workers);
            const double throughput =
                static_cast<double>(steps * batch) / std::max(to_seconds(time), 1e-9);
            const auto initial =
                static_cast<double>(std::max<std::int64_t>(settings_.initial_batch, 1));
            list.push_back(throughput * statistical_efficiency(noise_scale, initial,
                                                               static_cast<double>(batch)));
        }
        return list;
    }

    GoodputResizeSettings settings_;
    double sum_ = 0;  // of the noise scale, over this period
    std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_goodput_resize(ConfigReader& parameters) {
    GoodputResizeSettings settings;
    GoodputThresholds& thresholds = settings.thresholds;
    thresholds.high = parameters.number("high", 0, 1000, thresholds.high);
    thresholds.low = parameters.number("low", 0, 1000, thresholds.low);
    if (thresholds.low > thresholds.high) parameters.fail("low", "expected at most \"high\"");
    settings.period_steps = parameters.integer("every_steps", 1, 1'000'000'000, 100);
    if (parameters.has("initial_batch")) {
        settings.initial_batch = parameters.integer("initial_batch", 1, 1'000'000'000);
    }
    const std::int64_t most = parameters.integer("workers_max", 1, 100'000, settings.most);
    settings.most = static_cast<std::int32_t>(most);
    return std::make_unique<GoodputResize>(settings);
}

}  // namespace ukemi::policies
