// grow_batch.cpp — where others lower the learning rate, the batch grows.
//
// Smith et al., «Don't Decay the Learning Rate, Increase the Batch Size» (ICLR'18): the noise of
// SGD is g ≈ ε·N ÷ (B·(1 − m)), so a rate lowered by f and a batch grown by 1/f do the same to it.
// Once the batch is as large as it may be, the rest of a drop is taken from the rate.
#include <memory>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

class GrowBatch final : public Policy {
public:
    GrowBatch(std::vector<double> at_epochs, double factor, std::int64_t batch_max)
        : at_epochs_(std::move(at_epochs)), factor_(factor), batch_max_(batch_max) {}
    std::string_view name() const override { return "grow_batch"; }
    KnobSet knobs() const override { return {Knob::batch, Knob::learning_rate}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::before_epoch}; }

    Decision before_train(const PolicyView& view) override {
        batch_ = static_cast<double>(batch_of(view));
        rate_ = view.plan.learning_rate;
        return {};
    }
    // From the beginning each time, so that an epoch that is done again finds what it had.
    Decision before_epoch(const PolicyView& view) override {
        double batch = batch_;
        double rate = rate_;
        for (const double at : at_epochs_) {
            if (static_cast<double>(view.seen.epoch) < at) continue;
            const double grown = std::min(batch * factor_, std::max(batch, most()));
            rate *= grown / (batch * factor_);
            batch = grown;
        }
        Decision decision;
        decision.global_batch = whole_batch(batch, 1, batch_most);
        decision.learning_rate = rate;
        decision.reason = "a larger batch for a lower rate";
        return decision;
    }

private:
    double most() const { return static_cast<double>(batch_max_); }

    std::vector<double> at_epochs_;
    double factor_;
    std::int64_t batch_max_;
    double batch_ = 1;  // at the beginning
    double rate_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_grow_batch(ConfigReader& parameters) {
    std::vector<double> at{30, 60, 80};
    if (parameters.has("at_epochs")) at = parameters.numbers("at_epochs", 0, 1e9);
    const double factor = parameters.number("factor", 1, 1000, 10);
    const std::int64_t most = parameters.integer("batch_max", 1, batch_most, 65'536);
    return std::make_unique<GrowBatch>(std::move(at), factor, most);
}

}  // namespace ukemi::policies
