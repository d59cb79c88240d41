// constant_batch.cpp — one batch from the first step to the last: what schedules are held against.
#include <memory>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

class ConstantBatch final : public Policy {
public:
    explicit ConstantBatch(std::int64_t batch) : batch_(batch) {}
    std::string_view name() const override { return "constant_batch"; }
    KnobSet knobs() const override { return {Knob::batch}; }
    HookSet hooks() const override { return {Hook::before_train}; }

    Decision before_train(const PolicyView&) override {
        Decision decision;
        if (batch_ > 0) decision.global_batch = batch_;
        decision.reason = "one batch for all of it";
        return decision;
    }

private:
    std::int64_t batch_;  // zero: as the first Plan says
};

}  // namespace

std::unique_ptr<Policy> make_constant_batch(ConfigReader& parameters) {
    return std::make_unique<ConstantBatch>(parameters.integer("batch", 1, batch_most, 0));
}

}  // namespace ukemi::policies
