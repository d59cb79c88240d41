// watched_model.hpp — a model of learning that shows its states to a test.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "sim/learning/learning_model.hpp"

namespace ukemi {

class WatchedModel final : public sim::LearningModel {
public:
    using Watcher = std::function<void(const sim::LearningState&)>;

    // Shows each state of which the digest is taken, the last one of a run among them, and each one
    // that steps lead to. Either may be empty.
    WatchedModel(std::shared_ptr<const sim::LearningModel> inner, Watcher digested, Watcher reached)
        : inner_(std::move(inner)), digested_(std::move(digested)), reached_(std::move(reached)) {}

    std::int64_t target() const override { return inner_->target(); }
    bool done(const sim::LearningState& at) const override { return inner_->done(at); }
    sim::LearningState start() const override { return inner_->start(); }
    sim::LearningState after(const sim::LearningState& from, std::int64_t steps,
                             const sim::LearningStep& step) const override {
        sim::LearningState to = inner_->after(from, steps, step);
        if (reached_) reached_(to);
        return to;
    }
    sim::LookAhead look_ahead(const sim::LearningState& from, const sim::LearningStep& step,
                              std::int64_t most) const override {
        return inner_->look_ahead(from, step, most);
    }
    std::int64_t samples_left(const sim::LearningState& at,
                              const sim::LearningStep& step) const override {
        return inner_->samples_left(at, step);
    }
    policies::GradientStatistics gradient(const sim::LearningState& at,
                                          const sim::LearningStep& step) const override {
        return inner_->gradient(at, step);
    }
    std::optional<double> metric(const sim::LearningState& at) const override {
        return inner_->metric(at);
    }
    std::optional<std::uint64_t> digest(const sim::LearningState& at) const override {
        if (digested_) digested_(at);
        return inner_->digest(at);
    }
    bool rate_of_plan() const override { return inner_->rate_of_plan(); }
    std::shared_ptr<const sim::LearningModel> drawn(std::uint64_t seed) const override {
        return std::make_shared<WatchedModel>(inner_->drawn(seed), digested_, reached_);
    }

private:
    std::shared_ptr<const sim::LearningModel> inner_;
    Watcher digested_;
    Watcher reached_;
};

}  // namespace ukemi
