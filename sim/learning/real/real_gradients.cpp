#include "sim/learning/real/real_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "kernels/bit_hash.hpp"
#include "kernels/codec.hpp"

namespace ukemi::sim {

namespace {

struct RealMemory final : LearningMemory {
    GroupState state;
    std::int64_t correct = 0;  // of the test samples, at the last evaluation
    std::int64_t correct_most = 0;
    std::int64_t evaluated_at = 0;       // samples
    std::uint64_t evaluated_digest = 0;  // of the states at all evaluations so far
};
using Kept = std::shared_ptr<const RealMemory>;

class RealGradientsModel final : public LearningModel {
public:
    RealGradientsModel(RealGradients settings, std::uint64_t seed)
        : settings_(std::move(settings)), seed_(seed), step_(*settings_.task, seed) {
        const RealTask& task = *settings_.task;
        target_ = settings_.samples;
        if (settings_.target) {
            const double correct = *settings_.target * static_cast<double>(task.test.count);
            target_ = std::clamp<std::int64_t>(round_up(correct - 1e-9), 1, task.test.count);
        }
    }

    std::int64_t target() const override { return target_; }
    // No more samples than the job has, as a live run: it may end short of its target.
    bool done(const LearningState& at) const override {
        return at.progress >= target_ || (at.memory && is_used_up(*kept(at)));
    }

    LearningState start() const override {
        auto first = std::make_shared<RealMemory>();
        first->state = first_state(*settings_.task, seed_);
        evaluate(*first);
        return stated(first);
    }

    LearningState after(const LearningState& from, std::int64_t steps,
                        const LearningStep& step) const override {
        follow(from, step);
        if (ahead_ && ahead_->steps == steps) {
            behind_ = *ahead_;
        } else if (steps != behind_.steps) {
            if (steps < behind_.steps) behind_ = {0, kept(from)};
            behind_.memory = walk(behind_.memory, steps - behind_.steps, step).memory;
            behind_.steps = steps;
        }
        return stated(behind_.memory);
    }

    // To the next evaluation; the last one is where the samples are used up.
    LookAhead look_ahead(const LearningState& from, const LearningStep& step,
                         std::int64_t most) const override {
        INVARIANT(most >= 1 && !done(from));
        follow(from, step);
        if (!ahead_) {
            const std::int64_t position = kept(from)->state.position;
            const std::int64_t goal =
                std::min(settings_.samples,
                         (position / settings_.evaluate_every + 1) * settings_.evaluate_every);
            const std::int64_t steps = std::min(most, (goal - position - 1) / step.batch + 1);
            ahead_ = walk(kept(from), steps, step);
        }
        if (ahead_->steps > most) return {most, false};
        return {ahead_->steps, done(stated(ahead_->memory))};
    }

    // As somebody would guess who has planned for so many samples.
    std::int64_t samples_left(const LearningState& at, const LearningStep& step) const override {
        if (done(at)) return 0;
        const std::int64_t used = at.memory ? kept(at)->state.position : 0;
        return std::max(step.batch, settings_.samples - used);
    }

    policies::GradientStatistics gradient(const LearningState& at,
                                          const LearningStep&) const override {
        const kernels::NoiseAverages& noise = kept(at)->state.noise;
        return {std::max(0.0, noise.squared_norm), std::max(0.0, noise.covariance_trace),
                noise.noise_scale().value_or(0), kept(at)->state.applied_squared_norm};
    }

    std::optional<double> codec_error(const LearningState& at,
                                      const LearningStep& step) const override {
        const GroupState& state = kept(at)->state;
        const bool same = state.codec == step.codec &&
                          state.codec_level == kernels::level_meant(step.codec, step.codec_level);
        if (!same || state.codec == policies::Codec::none || state.steps == 0) return std::nullopt;
        return state.codec_error;
    }

    std::optional<std::uint64_t> digest(const LearningState& at) const override {
        return with_digest(kept(at)->evaluated_digest, kept(at)->state);
    }

    std::optional<double> metric(const LearningState& at) const override {
        return share_of_test(kept(at)->correct);
    }

    std::optional<double> metric_now(const LearningState& at) const override {
        const Kept here = kept(at);
        if (here->evaluated_at == here->state.position) return metric(at);
        return share_of_test(correct_in(here->state));
    }

    bool really_trains() const override { return true; }
    bool rate_of_plan() const override { return true; }

    std::shared_ptr<const LearningModel> drawn(std::uint64_t seed) const override {
        return std::make_shared<RealGradientsModel>(settings_, seed);
    }

private:
    struct Point {
        std::int64_t steps = 0;  // from the beginning of the stretch
        Kept memory;
    };

    static Kept kept(const LearningState& at) {
        INVARIANT(at.memory != nullptr);
        return std::static_pointer_cast<const RealMemory>(at.memory);
    }
    LearningState stated(const Kept& memory) const {
        return {settings_.target ? memory->correct_most
                                 : std::min(memory->state.position, settings_.samples),
                memory};
    }

    bool is_used_up(const RealMemory& memory) const {
        return memory.state.position >= settings_.samples;
    }
    static std::uint64_t with_digest(std::uint64_t before, const GroupState& state) {
        kernels::BitHash hash;
        hash.add(before);
        hash.add(digest_of(state));
        return hash.value();
    }

    double share_of_test(std::int64_t correct) const {
        return static_cast<double>(correct) / static_cast<double>(settings_.task->test.count);
    }
    std::int64_t correct_in(const GroupState& state) const {
        return round_nearest(
            evaluated(*settings_.task, settings_.task->test, state.common).correct);
    }

    void evaluate(RealMemory& memory) const {
        memory.correct = correct_in(memory.state);
        memory.evaluated_at = memory.state.position;
        memory.correct_most = std::max(memory.correct_most, memory.correct);
        memory.evaluated_digest = with_digest(memory.evaluated_digest, memory.state);
    }

    // The last step uses what is left of the samples that may be used; those after it change
    // nothing.
    Point walk(const Kept& from, std::int64_t steps, const LearningStep& step) const {
        auto made = std::make_shared<RealMemory>(*from);
        GroupState& state = made->state;
        for (std::int64_t i = 0; i < steps && state.position < settings_.samples; ++i) {
            const std::int64_t periods = state.position / settings_.evaluate_every;
            LearningStep one = step;
            one.batch = std::min(step.batch, settings_.samples - state.position);
            take_step(state, step_, one);
            if (is_used_up(*made) || state.position / settings_.evaluate_every > periods)
                evaluate(*made);
        }
        return {steps, made};
    }

    // A stretch of equal steps from one state. What was trained ahead of it is kept while it goes
    // on, also from a state on the way.
    void follow(const LearningState& from, const LearningStep& step) const {
        const Kept here = kept(from);
        if (here == begin_ && step == settings_of_stretch_) return;
        const bool goes_on = step == settings_of_stretch_ && here == behind_.memory && ahead_ &&
                             ahead_->steps > behind_.steps;
        if (goes_on) {
            ahead_->steps -= behind_.steps;
        } else {
            ahead_.reset();
        }
        begin_ = here;
        behind_ = {0, here};
        settings_of_stretch_ = step;
    }

    RealGradients settings_;
    std::uint64_t seed_;
    std::int64_t target_ = 1;
    mutable GroupStep step_;  // buffers
    mutable LearningStep settings_of_stretch_;
    mutable Kept begin_;
    mutable Point behind_;
    mutable std::optional<Point> ahead_;
};

}  // namespace

std::int64_t test_samples_in(std::int64_t samples, double test_share) {
    return std::clamp<std::int64_t>(round_nearest(test_share * static_cast<double>(samples)), 1,
                                    samples - 1);
}

std::pair<kernels::DataSet, kernels::DataSet> split_data(const kernels::DataSet& data,
                                                         double test_share, TestSamples which) {
    INVARIANT(data.count >= 2 && test_share > 0 && test_share < 1);
    std::vector<std::int64_t> order(static_cast<std::size_t>(data.count));
    std::iota(order.begin(), order.end(), 0);
    RandomStream random(0, "data/split");
    for (std::size_t last = order.size() - 1; last > 0 && which == TestSamples::drawn; --last) {
        const auto chosen = random.integer(0, static_cast<std::int64_t>(last));
        std::swap(order[last], order[static_cast<std::size_t>(chosen)]);
    }
    const std::int64_t test = test_samples_in(data.count, test_share);
    const auto part = [&](std::int64_t begin, std::int64_t end) {
        kernels::DataSet set{end - begin, data.features, data.classes, {}, {}};
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t from = order[static_cast<std::size_t>(i)];
            const auto sample = data.sample(from);
            set.values.insert(set.values.end(), sample.begin(), sample.end());
            set.labels.push_back(data.labels[static_cast<std::size_t>(from)]);
        }
        return set;
    };
    return {part(0, data.count - test), part(data.count - test, data.count)};
}

const GroupState& group_of(const LearningState& state) {
    INVARIANT(state.memory != nullptr);
    return static_cast<const RealMemory&>(*state.memory).state;
}

std::shared_ptr<const LearningModel> make_real_gradients(RealGradients settings) {
    INVARIANT(settings.task != nullptr && settings.samples >= 1 && settings.evaluate_every >= 1);
    return std::make_shared<RealGradientsModel>(std::move(settings), 0);
}

}  // namespace ukemi::sim
