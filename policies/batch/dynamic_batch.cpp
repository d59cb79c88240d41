// dynamic_batch.cpp — batch and learning rate follow the workers, the rate with a delay.
//
// Lin et al., «Dynamic Mini-batch SGD for Elastic Distributed Training» (arXiv:1904.12043): each
// worker keeps its batch and the rate is in proportion to the workers. When they become k times as
// many, the old momentum is k² times too noisy for the new rate; moving to it over T steps lets the
// momentum forget (T = 8 was enough). The paper scales the momentum's coefficient meanwhile; a Plan
// has no momentum, so here the rate alone goes to its new value in T equal parts.
#include <memory>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

class DynamicBatch final : public Policy {
public:
    explicit DynamicBatch(std::int64_t ramp_steps) : ramp_steps_(ramp_steps) {}
    std::string_view name() const override { return "dynamic_batch"; }
    KnobSet knobs() const override { return {Knob::batch, Knob::learning_rate}; }
    HookSet hooks() const override {
        return {Hook::before_train, Hook::on_event, Hook::after_step};
    }

    Decision before_train(const PolicyView& view) override {
        const std::int32_t workers = std::max(view.plan.workers_max, 1);
        per_worker_ = std::max<std::int64_t>(samples_per_step(view.plan, workers) / workers, 1);
        rate_a_worker_ = view.plan.learning_rate / workers;
        workers_ = workers;
        goal_ = view.plan.learning_rate;
        return {};
    }
    Decision on_event(EventKind, const PolicyView& view) override {
        if (view.seen.workers < 1 || view.seen.workers == workers_) return {};
        workers_ = view.seen.workers;
        goal_ = rate_a_worker_ * workers_;
        part_ = (goal_ - view.plan.learning_rate) / static_cast<double>(ramp_steps_);
        steps_left_ = ramp_steps_;
        Decision decision;
        decision.global_batch =
            whole_batch(static_cast<double>(per_worker_) * workers_, 1, batch_most);
        decision.reason = "the batch follows the workers";
        return decision;
    }
    Decision after_step(const PolicyView& view) override {
        Decision decision;
        if (steps_left_ == 0) return decision;
        --steps_left_;
        decision.learning_rate = steps_left_ == 0 ? goal_ : view.plan.learning_rate + part_;
        decision.reason = "the momentum forgets";
        return decision;
    }

private:
    std::int64_t ramp_steps_;
    std::int64_t per_worker_ = 1;
    double rate_a_worker_ = 0;
    std::int32_t workers_ = 1;
    double goal_ = 0;
    double part_ = 0;
    std::int64_t steps_left_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_dynamic_batch(ConfigReader& parameters) {
    return std::make_unique<DynamicBatch>(parameters.integer("ramp_steps", 1, 100'000, 8));
}

}  // namespace ukemi::policies
