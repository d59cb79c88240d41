// accordion_batch.cpp — a small batch while the gradient changes fast, a large one otherwise.
//
// Accordion's second use (Agarwal et al., arXiv:2010.16248, §5; the rule is in
// critical_regime.hpp): batch 512 in critical regimes, else 4096, judged every 10 epochs; the
// first period is critical. As in `accordion`, what is compared is the root of the mean |G|² of a
// period, over the whole model.
#include <memory>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"
#include "policies/batch/critical_regime.hpp"

namespace ukemi::policies {

namespace {

class AccordionBatch final : public Policy {
public:
    AccordionBatch(std::int64_t critical, std::int64_t otherwise, std::int64_t every_epochs,
                   std::int64_t measure_every, double threshold)
        : critical_(critical),
          otherwise_(otherwise),
          every_epochs_(every_epochs),
          measure_every_(measure_every),
          regime_(threshold) {}
    std::string_view name() const override { return "accordion_batch"; }
    KnobSet knobs() const override { return {Knob::batch}; }
    HookSet hooks() const override {
        return {Hook::before_train, Hook::after_step, Hook::after_epoch};
    }
    std::int64_t every_steps() const override { return measure_every_; }

    Decision before_train(const PolicyView& view) override {
        periods_ = view.seen.epoch / every_epochs_;
        return train_with(critical_, "the beginning is a critical regime");
    }
    Decision after_step(const PolicyView& view) override {
        const double squared_norm = view.seen.gradient.squared_norm;
        if (std::isfinite(squared_norm) && squared_norm != 0) {  // zero: not measured
            sum_ += squared_norm;
            ++count_;
        }
        return {};
    }
    Decision after_epoch(const PolicyView& view) override {
        // An epoch that is done again ends no other period.
        const std::int64_t periods = view.seen.epoch / every_epochs_;
        if (periods <= periods_ || count_ == 0) return {};
        periods_ = periods;
        const double norm = std::sqrt(std::max(sum_ / static_cast<double>(count_), 0.0));
        sum_ = 0;
        count_ = 0;
        return regime_.after_period(norm) ? train_with(critical_, "the gradient's norm changed")
                                          : train_with(otherwise_, "the gradient's norm is steady");
    }

private:
    static Decision train_with(std::int64_t batch, std::string_view reason) {
        Decision decision;
        decision.global_batch = batch;
        decision.reason = reason;
        return decision;
    }

    std::int64_t critical_;
    std::int64_t otherwise_;
    std::int64_t every_epochs_;
    std::int64_t measure_every_;
    CriticalRegime regime_;
    std::int64_t periods_ = 0;  // that have ended
    double sum_ = 0;            // of |G|², over this period
    std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_accordion_batch(ConfigReader& parameters) {
    const std::int64_t critical = parameters.integer("critical_batch", 1, batch_most, 512);
    const std::int64_t otherwise = parameters.integer("batch", 1, batch_most, 4096);
    const std::int64_t every = parameters.integer("every_epochs", 1, 1'000'000, 10);
    const std::int64_t measured = parameters.integer("measure_every_steps", 1, 1'000'000, 1);
    const double threshold = parameters.number("threshold", 0, 1000, accordion_threshold);
    return std::make_unique<AccordionBatch>(critical, otherwise, every, measured, threshold);
}

}  // namespace ukemi::policies
