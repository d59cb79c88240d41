// adaptive_codec.cpp — whether to compress gradients, with what and how much, by trying it.
//
// Some steps without a codec and some with each option are measured (compute, what of the
// communication it hides, encoding, the codec's relative error); then compression_rule.hpp chooses,
// and «compression hurts here» is one of its answers. What an option costs depends on the group, so
// another number of workers begins the trials anew; one worker alone sends nothing. An option that
// the world does not commit is left out.
#include <memory>
#include <optional>

#include "policies/batch/batch_view.hpp"
#include "policies/codec_text.hpp"
#include "policies/exchange/compression_rule.hpp"

namespace ukemi::policies {

namespace {

struct AdaptiveSettings {
    std::vector<CodecChoice> options;  // the first is none
    CompressionBounds bounds;
    std::int64_t trial_steps = 10;  // that are asked about, for each option
    std::int64_t again_every = 0;   // asked-about steps after a choice; 0: never
    std::int64_t measure_every = 1;
};

std::string_view reason_of(CompressionVerdict verdict) {
    switch (verdict) {
        case CompressionVerdict::hidden: return "communication hides behind computing";
        case CompressionVerdict::hurts: return "compression hurts here";
        case CompressionVerdict::too_lossy: return "what would help loses too much";
        case CompressionVerdict::pays: return "compression pays";
    }
    return "";
}

// Means over the steps of one trial.
struct CodecTrial {
    std::int64_t steps = 0;
    Int128 compute_ns = 0;
    Int128 communication_ns = 0;
    Int128 encoding_ns = 0;
    Int128 exposed_ns = 0;
    double squared_errors = 0;

    void add(const ExchangeView& seen) {
        ++steps;
        compute_ns += seen.compute.raw();
        communication_ns += seen.communication.raw();
        encoding_ns += seen.encoding.raw();
        exposed_ns += seen.exposed.raw();
        squared_errors += seen.relative_error * seen.relative_error;
    }
    Duration mean(Int128 sum) const {
        return nanoseconds(static_cast<std::int64_t>(sum / std::max<std::int64_t>(steps, 1)));
    }
};

class AdaptiveCodec final : public Policy {
public:
    explicit AdaptiveCodec(AdaptiveSettings settings) : settings_(std::move(settings)) {}
    std::string_view name() const override { return "adaptive_codec"; }
    KnobSet knobs() const override { return {Knob::codec}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }
    std::int64_t every_steps() const override { return settings_.measure_every; }

    Decision before_train(const PolicyView&) override {
        begin_trials();
        return wish();
    }
    Decision after_step(const PolicyView& view) override {
        if (view.seen.workers != workers_) {
            workers_ = view.seen.workers;
            begin_trials();
            return wish();
        }
        const ExchangeView& seen = view.seen.exchange;
        const bool measured = workers_ > 1 && seen.communication > Duration{};
        if (!measured) return wish();
        if (chosen_) {
            if (settings_.again_every > 0 && ++asked_ >= settings_.again_every) begin_trials();
            return wish();
        }
        const CodecChoice& now = settings_.options[trying_];
        if (view.plan.codec != now.codec || view.plan.codec_level != now.level) {
            // Asked for and not had: this world has no such codec.
            if (++refused_ > refusals_most) next_trial();
            return wish();
        }
        refused_ = 0;
        if (!warm_) {
            warm_ = true;  // what is measured now may be of the step before the change
            return wish();
        }
        trials_[trying_].add(seen);
        if (trials_[trying_].steps >= settings_.trial_steps) next_trial();
        return wish();
    }

private:
    static constexpr std::int64_t refusals_most = 3;

    void begin_trials() {
        trials_.assign(settings_.options.size(), CodecTrial{});
        trying_ = 0;
        chosen_.reset();
        asked_ = refused_ = 0;
        warm_ = false;
        reason_ = "to be measured";
    }

    void next_trial() {
        refused_ = 0;
        warm_ = false;
        if (++trying_ < settings_.options.size()) return;
        trying_ = 0;
        choose();
    }

    void choose() {
        asked_ = 0;
        const CodecTrial& plain = trials_.front();
        const auto of = [](const CodecTrial& trial, Int128 CodecTrial::*sum) {
            return trial.mean(trial.*sum);
        };
        CompressedStep step;
        step.compute = of(plain, &CodecTrial::compute_ns);
        step.hideable =
            std::max(of(plain, &CodecTrial::communication_ns) - of(plain, &CodecTrial::exposed_ns),
                     Duration{});
        std::vector<CompressionOption> options;
        std::vector<std::size_t> numbers;
        for (std::size_t i = 0; i < trials_.size(); ++i) {
            const CodecTrial& trial = trials_[i];
            if (i > 0 && trial.steps == 0) continue;
            const auto steps = static_cast<double>(std::max<std::int64_t>(trial.steps, 1));
            options.push_back({settings_.options[i].codec, settings_.options[i].level,
                               of(trial, &CodecTrial::encoding_ns),
                               of(trial, &CodecTrial::communication_ns),
                               std::sqrt(trial.squared_errors / steps)});
            numbers.push_back(i);
        }
        const CompressionChoice choice = choose_compression(step, options, settings_.bounds);
        chosen_ = numbers[choice.option];
        reason_ = reason_of(choice.verdict);
    }

    Decision wish() const {
        const CodecChoice& wanted = settings_.options[chosen_.value_or(trying_)];
        Decision decision;
        decision.codec = wanted.codec;
        decision.codec_level = wanted.level;
        decision.reason = reason_;
        return decision;
    }

    AdaptiveSettings settings_;
    std::vector<CodecTrial> trials_{1};
    std::size_t trying_ = 0;
    std::optional<std::size_t> chosen_;
    std::int32_t workers_ = 0;
    std::int64_t asked_ = 0;
    std::int64_t refused_ = 0;
    bool warm_ = false;
    std::string_view reason_ = "to be measured";
};

}  // namespace

std::unique_ptr<Policy> make_adaptive_codec(ConfigReader& parameters) {
    AdaptiveSettings settings;
    settings.options = read_codec_choices(parameters, "options", "fp16,power_sgd:4,power_sgd:2");
    std::erase(settings.options, CodecChoice{});
    settings.options.insert(settings.options.begin(), CodecChoice{});
    settings.bounds.relative_error_max = parameters.number("error_max", 0, 1e6, 0.5);
    settings.bounds.gain_min = parameters.number("gain_min", 0, 1, settings.bounds.gain_min);
    settings.trial_steps = parameters.integer("trial_steps", 1, 1'000'000, 10);
    settings.again_every = parameters.integer("again_every", 0, 1'000'000'000, 0);
    settings.measure_every = parameters.integer("measure_every_steps", 1, 1'000'000, 1);
    return std::make_unique<AdaptiveCodec>(std::move(settings));
}

}  // namespace ukemi::policies
