// ada_sgd.cpp — model averaging first, gradients later.
//
// KungFu's AdaptiveSGDOptimizer (its ada_sgd.py): synchronous model averaging until `change_step`,
// then synchronous SGD from rank 0's model. Averaging leaves replicas room to explore while the
// gradient is steep; S-SGD makes them one model at the end. A world that changes from averaging to
// S-SGD begins with the central model (kernels/training_step.hpp).
#include <algorithm>
#include <memory>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

class AdaSgd final : public Policy {
public:
    explicit AdaSgd(std::int64_t change_step) : change_step_(change_step) {}
    std::string_view name() const override { return "ada_sgd"; }
    KnobSet knobs() const override { return {Knob::synchronisation}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }
    std::int64_t every_steps() const override { return std::max<std::int64_t>(change_step_, 1); }

    Decision before_train(const PolicyView& view) override { return by_step(view); }
    Decision after_step(const PolicyView& view) override { return by_step(view); }

private:
    Decision by_step(const PolicyView& view) const {
        Decision decision;
        const bool early = change_step_ == 0 || view.seen.steps_done < change_step_;
        decision.synchronisation =
            early ? Synchronisation::synchronous_averaging : Synchronisation::s_sgd;
        decision.reason = early ? "models are averaged first" : "gradients from here on";
        return decision;
    }

    std::int64_t change_step_;  // zero: never
};

}  // namespace

std::unique_ptr<Policy> make_ada_sgd(ConfigReader& parameters) {
    return std::make_unique<AdaSgd>(parameters.integer("change_step", 1, 1'000'000'000, 0));
}

}  // namespace ukemi::policies
