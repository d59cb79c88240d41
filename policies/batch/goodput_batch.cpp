// goodput_batch.cpp — the batch with the most useful samples a second.
//
// Pollux (Qiao et al., OSDI'21): goodput(B) = throughput(B) × efficiency(B), efficiency = (φ + M₀)
// ÷ (φ + B) with M₀ the first batch (eq. 5 to 7). Throughput is the Predictor's; φ is what was
// measured. As AdaptDL does, 50 batches in geometric steps from M₀ to `batch_max` are tried.
#include <memory>

#include "base/bounded_duration.hpp"
#include "base/exact_math.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

struct GoodputBatchSettings {
    std::int64_t batch_max = 65'536;
    double least_gain = 0.05;  // in goodput, for a change
    Duration interval = whole_seconds(60);
};

class GoodputBatch final : public Policy {
public:
    explicit GoodputBatch(const GoodputBatchSettings& settings) : settings_(settings) {}
    std::string_view name() const override { return "goodput_batch"; }
    KnobSet knobs() const override { return {Knob::batch}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }

    Decision before_train(const PolicyView& view) override {
        first_batch_ = batch_of(view);
        return best(view);
    }
    Decision on_event(EventKind, const PolicyView& view) override { return best(view); }

private:
    static constexpr int points = 50;

    Decision best(const PolicyView& view) const {
        Decision decision;
        decision.ask_again_in = settings_.interval;
        const double noise = noise_scale_of(view);
        if (noise == 0) return decision;
        const std::int64_t most = std::max(settings_.batch_max, first_batch_);
        const double ratio = static_cast<double>(most) / static_cast<double>(first_batch_);
        const std::int64_t now = batch_of(view);
        double best_goodput = (1 + settings_.least_gain) * goodput(view, now, noise);
        for (int point = 0; point < points; ++point) {
            const double power = static_cast<double>(point) / (points - 1);
            const std::int64_t batch = whole_batch(
                static_cast<double>(first_batch_) * exact::pow(ratio, power), first_batch_, most);
            const double of_it = goodput(view, batch, noise);
            if (of_it <= best_goodput || batch == now) continue;
            best_goodput = of_it;
            decision.global_batch = batch;
            decision.reason = "more goodput";
        }
        return decision;
    }

    double goodput(const PolicyView& view, std::int64_t batch, double noise) const {
        constexpr std::int64_t steps = 1000;  // so that rounding does not matter
        Plan plan = view.plan;
        plan.global_batch = batch;
        plan.checkpoint_interval = never_checkpoint;
        const std::int32_t workers = std::max({view.seen.workers, view.seen.workers_min, 1});
        const double time_s = to_seconds(view.predictor.work_time(batch * steps, plan, workers));
        const double size = static_cast<double>(batch);
        const double efficiency = (noise + static_cast<double>(first_batch_)) / (noise + size);
        return time_s > 0 ? size * efficiency / time_s : 0;
    }

    GoodputBatchSettings settings_;
    std::int64_t first_batch_ = 1;
};

}  // namespace

std::unique_ptr<Policy> make_goodput_batch(ConfigReader& parameters) {
    GoodputBatchSettings settings;
    settings.batch_max = parameters.integer("batch_max", 1, batch_most, settings.batch_max);
    settings.least_gain = parameters.number("least_gain", 0, 10, settings.least_gain);
    settings.interval =
        bounded_duration(parameters, "interval", whole_seconds(1), days(30), settings.interval);
    return std::make_unique<GoodputBatch>(settings);
}

}  // namespace ukemi::policies
