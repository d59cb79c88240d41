// accordion.cpp — little compression while the gradient changes fast, much otherwise.
//
// Accordion (Agarwal et al., arXiv:2010.16248, Alg. 1; the rule is in critical_regime.hpp): every
// 10 epochs the norm of the gradient is compared with that of the period before; a change by half
// is a critical regime, and so is the first period: rank 2 there, rank 1 elsewhere. The authors ask
// it for every layer, of gradients accumulated over the period. A Plan has one codec for all
// layers, and an Observation the norms of single steps: what is compared is the root of their mean
// square over the period, of the average as it was applied (with a codec: of what it left), or
// |G|² where a world shows no other.
#include <memory>

#include "policies/batch/batch_view.hpp"
#include "policies/batch/critical_regime.hpp"
#include "policies/codec_text.hpp"

namespace ukemi::policies {

namespace {

struct AccordionSettings {
    CodecChoice critical;
    CodecChoice otherwise;
    std::int64_t every_epochs = 10;
    std::int64_t measure_every = 1;
    double threshold = accordion_threshold;
};

class Accordion final : public Policy {
public:
    explicit Accordion(const AccordionSettings& settings)
        : settings_(settings), regime_(settings.threshold) {}
    std::string_view name() const override { return "accordion"; }
    KnobSet knobs() const override { return {Knob::codec}; }
    HookSet hooks() const override {
        return {Hook::before_train, Hook::after_step, Hook::after_epoch};
    }
    std::int64_t every_steps() const override { return settings_.measure_every; }

    Decision before_train(const PolicyView& view) override {
        periods_ = view.seen.epoch / settings_.every_epochs;
        return send_with(settings_.critical, "the beginning is a critical regime");
    }
    Decision after_step(const PolicyView& view) override {
        const GradientStatistics& gradient = view.seen.gradient;
        const double squared = gradient.applied_squared_norm != 0 ? gradient.applied_squared_norm
                                                                  : gradient.squared_norm;
        if (std::isfinite(squared) && squared != 0) {  // zero: not measured
            sum_ += squared;
            ++count_;
        }
        return {};
    }
    Decision after_epoch(const PolicyView& view) override {
        // An epoch that is done again ends no other period.
        const std::int64_t periods = view.seen.epoch / settings_.every_epochs;
        if (periods <= periods_ || count_ == 0) return {};
        periods_ = periods;
        const double norm = std::sqrt(std::max(sum_ / static_cast<double>(count_), 0.0));
        sum_ = 0;
        count_ = 0;
        return regime_.after_period(norm)
                   ? send_with(settings_.critical, "the gradient's norm changed")
                   : send_with(settings_.otherwise, "the gradient's norm is steady");
    }

private:
    static Decision send_with(const CodecChoice& choice, std::string_view reason) {
        Decision decision;
        decision.codec = choice.codec;
        decision.codec_level = choice.level;
        decision.reason = reason;
        return decision;
    }

    AccordionSettings settings_;
    CriticalRegime regime_;
    std::int64_t periods_ = 0;  // that have ended
    double sum_ = 0;            // of squared norms, over this period
    std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_accordion(ConfigReader& parameters) {
    AccordionSettings settings;
    settings.critical = read_codec_choice(parameters, "critical_codec", "power_sgd:2");
    settings.otherwise = read_codec_choice(parameters, "codec", "power_sgd:1");
    settings.every_epochs = parameters.integer("every_epochs", 1, 1'000'000, 10);
    settings.measure_every = parameters.integer("measure_every_steps", 1, 1'000'000, 1);
    settings.threshold = parameters.number("threshold", 0, 1000, accordion_threshold);
    return std::make_unique<Accordion>(settings);
}

}  // namespace ukemi::policies
