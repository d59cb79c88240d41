// accordion.cpp — little compression while the gradient changes fast, much of it otherwise.
//
// Agarwal et al. (arXiv:2010.16248; the rule is in critical_regime.hpp) for a whole model: an
// Observation shows no layers and no accumulated gradient. What is compared is the root of the mean
// |G|² over a period, which changes when the norm of the accumulated gradient does unless its
// direction alone does. A layer's own rule needs its accumulated norm, which no world reports yet.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "base/config_reader.hpp"
#include "policies/critical_regime.hpp"
#include "policies/policy.hpp"

namespace ukemi {

namespace {

struct AccordionSettings {
    Codec codec = Codec::power_sgd;
    double critical_level = 2;  // little compression
    double level = 1;           // much
    double threshold = accordion_threshold;
    std::int64_t every_epochs = 10;
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

    Decision before_train(const PolicyView&) override {
        return compress(settings_.critical_level, "the beginning is a critical regime");
    }
    Decision after_step(const PolicyView& view) override {
        const double squared_norm = view.seen.gradient.squared_norm;
        if (std::isfinite(squared_norm) && squared_norm != 0) {  // zero: not measured
            sum_ += squared_norm;
            ++count_;
        }
        return {};
    }
    Decision after_epoch(const PolicyView&) override {
        if (++epochs_ % settings_.every_epochs != 0 || count_ == 0) return {};
        // Estimates of |G|² may be negative one by one.
        const double norm = std::sqrt(std::max(sum_ / static_cast<double>(count_), 0.0));
        sum_ = 0;
        count_ = 0;
        if (regime_.after_period(norm)) {
            return compress(settings_.critical_level, "the gradient's norm changed");
        }
        return compress(settings_.level, "the gradient's norm is steady");
    }

private:
    Decision compress(double level, std::string_view reason) const {
        Decision decision;
        decision.codec = settings_.codec;
        decision.codec_level = level;
        decision.reason = reason;
        return decision;
    }

    AccordionSettings settings_;
    CriticalRegime regime_;
    std::int64_t epochs_ = 0;
    double sum_ = 0;  // of |G|², over this period
    std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_accordion(ConfigReader& parameters) {
    AccordionSettings settings;
    const std::string codec = parameters.one_of("codec", codec_names(), "power_sgd");
    const auto place = std::ranges::find(codec_names(), codec) - codec_names().begin();
    settings.codec = static_cast<Codec>(place);
    settings.critical_level = parameters.number("critical_level", 0, 1e6, 2);
    settings.level = parameters.number("level", 0, 1e6, 1);
    settings.threshold = parameters.number("threshold", 0, 1e6, accordion_threshold);
    settings.every_epochs = parameters.integer("every_epochs", 1, 1'000'000, 10);
    return std::make_unique<Accordion>(settings);
}

}  // namespace ukemi
