// gain_resize.cpp — a worker more as long as the last one made the whole group enough faster.
//
// KungFu's adaptive provisioning (Mai et al., OSDI'20, figure 6; policy/scaling.py): after each
// window of steps the throughput T of its second half is compared with that of one worker fewer.
// T(n) < (1 + α ÷ n) × T(n − 1) takes the last worker away again and ends the growth; else one is
// added, up to the most there are. The first size has nothing to be compared with.
#include <algorithm>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"
#include "policies/size/group_watch.hpp"

namespace ukemi::policies {

namespace {

class GainResize final : public MeasuringResize {
public:
    GainResize(double alpha, std::int64_t window_steps, std::int32_t most)
        : alpha_(alpha), window_steps_(window_steps), most_(most) {}
    std::string_view name() const override { return "gain_resize"; }
    Decision after_step(const PolicyView& view) override {
        measure(view.seen);
        if (stopped_ || group_.steps_since_restart() < window_steps_) return {};
        if (group_.workers() != view.plan.workers_max || time_ <= Duration{}) return {};
        const double throughput = static_cast<double>(samples_) / to_seconds(time_);
        const std::int32_t workers = view.plan.workers_max;
        if (throughput < (1 + alpha_ / workers) * before_) {
            if (workers == 1) return {};
            return resized(workers - 1, "the last worker brought too little");
        }
        if (workers >= std::min(most_, view.instances_max)) {
            stopped_ = true;
            return {};
        }
        measured_ = throughput;
        return resized(workers + 1, "the last worker was worth it");
    }
    void committed(const Plan& plan) override {
        if (plan.workers_max == asked_for_) {
            stopped_ = stopped_ || shrinks_;
            before_ = measured_;
        }
        asked_for_ = 0;
    }
    void discarded(const Plan&, std::string_view) override { asked_for_ = 0; }

private:
    Decision resized(std::int32_t size, std::string_view reason) {
        shrinks_ = reason.starts_with("the last worker brought");
        asked_for_ = size;
        Decision decision = resized_to(size);
        decision.reason = reason;
        return decision;
    }
    void measure(const Observation& seen) override {
        const auto taken = group_.look(seen);
        if (group_.steps_since_restart() == 0) {
            samples_ = 0;
            time_ = Duration{};
        }
        const bool second_half = 2 * group_.steps_since_restart() > window_steps_;
        if (!taken || !second_half) return;
        samples_ += taken->samples;
        time_ += taken->time;
    }

    double alpha_;
    std::int64_t window_steps_;
    std::int32_t most_;
    std::int64_t samples_ = 0;  // in the second half of the window
    Duration time_;
    double measured_ = 0;  // at the size that is being left
    double before_ = 0;    // at one worker fewer; zero: never measured
    std::int32_t asked_for_ = 0;
    bool shrinks_ = false;
    bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Policy> make_gain_resize(ConfigReader& parameters) {
    const double alpha = parameters.number("alpha", 0, 1000, 1.0 / 3);
    const std::int64_t window = parameters.integer("window_steps", 2, 1'000'000'000, 800);
    const std::int64_t most = parameters.integer("workers_max", 1, 1'000'000, 1'000'000);
    return std::make_unique<GainResize>(alpha, window, static_cast<std::int32_t>(most));
}

}  // namespace ukemi::policies
