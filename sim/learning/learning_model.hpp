// learning_model.hpp — what a step of training is worth, and when enough has been learned.
//
// Progress is an integer. Laws count millionths of a sample at the reference batch, so that at this
// batch a step is worth exactly its samples; a ProgressLaw needs to know nothing else. What else a
// model knows stands beside the number: what colder steps have taught, or trained weights. Either
// way a model is a pure function of a state and of how steps are made: reports may come at any
// moment, and equal runs are equal to the bit. Worths are computed with + − × ÷, square roots and
// exact_math, never with libm.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/observation.hpp"

namespace ukemi::sim {

inline constexpr std::int64_t progress_per_sample = 1'000'000;

// Who makes a step, by rank.
using Members = std::shared_ptr<const std::vector<InstanceId>>;

struct LearningStep {
    std::int64_t batch = 1;
    double learning_rate = 0;  // of the Plan
    std::int32_t workers = 1;  // who make the step together
    std::int32_t learners_per_worker = 1;
    // How their models or gradients meet, as the Plan has it. Only what really trains looks at it.
    policies::Synchronisation synchronisation = policies::Synchronisation::s_sgd;
    policies::Codec codec = policies::Codec::none;
    double codec_level = 0;
    Members members = nullptr;  // null: not told apart
    friend bool operator==(const LearningStep&, const LearningStep&) = default;
};

// What a model remembers beside the number. Never changed once it is there, so states are values.
class LearningMemory {
public:
    virtual ~LearningMemory() = default;
};

struct LearningState {
    LearningState(std::int64_t made = 0, std::shared_ptr<const LearningMemory> kept = nullptr)
        : progress(made), memory(std::move(kept)) {}
    std::int64_t progress;
    std::shared_ptr<const LearningMemory> memory;  // of a model that needs one; else empty
};

struct LookAhead {
    std::int64_t steps = 0;  // at least 1
    bool done = false;       // whether training ends after so many, and not before
};

class LearningModel {
public:
    virtual ~LearningModel() = default;

    virtual std::int64_t target() const = 0;  // the work is done there; at least 1
    // Whether training ends here: at the target, or where nothing is left to train on.
    virtual bool done(const LearningState& at) const { return at.progress >= target(); }
    virtual LearningState start() const { return {}; }
    virtual LearningState after(const LearningState& from, std::int64_t steps,
                                const LearningStep& step) const = 0;
    // How far it is to the end, which is not reached yet. A model that has to train to know may
    // look a part of the way, `most` ≥ 1 steps at the farthest: ask again from there.
    virtual LookAhead look_ahead(const LearningState& from, const LearningStep& step,
                                 std::int64_t most) const = 0;
    // Steps, at least 1, for which what is shown goes on in a straight line; the most there are
    // where nothing is known of that.
    virtual std::int64_t straight_steps(const LearningState&, const LearningStep&) const {
        return std::numeric_limits<std::int64_t>::max();
    }
    // As a real job would guess; 0 exactly where it is done.
    virtual std::int64_t samples_left(const LearningState& at, const LearningStep& step) const = 0;
    // What a monitor would measure. What the model does not know stays zero.
    virtual policies::GradientStatistics gradient(const LearningState& at,
                                                  const LearningStep& step) const = 0;
    virtual std::optional<double> metric(const LearningState& at) const = 0;
    // Of this very state, where metric() is what was seen at the last evaluation on the way.
    virtual std::optional<double> metric_now(const LearningState& at) const { return metric(at); }
    // √(Σ|p − what of p arrived|² ÷ Σ|p|²) over the learners' gradients p in the step that led
    // here, if that was coded as `step` is and the model knows what a codec loses.
    virtual std::optional<double> codec_error(const LearningState&, const LearningStep&) const {
        return std::nullopt;
    }
    // Over all bits that later steps depend on, and those of every evaluation on the way; nothing
    // where the number says it all.
    virtual std::optional<std::uint64_t> digest(const LearningState&) const { return std::nullopt; }
    // How sure all this is, in a line for people; empty where nothing is known of it.
    virtual std::string uncertainty() const { return {}; }
    // Whether learners train and meet as the Plan says; else a law says what steps are worth.
    virtual bool really_trains() const { return false; }
    // Whether the learning rate is the Plan's, so that policies may turn it; else a rule sets it.
    virtual bool rate_of_plan() const = 0;
    // The same task as one run meets it: luck with the seed makes the way longer or shorter. What
    // it gives serves one run, so one thread; the model itself serves any number.
    virtual std::shared_ptr<const LearningModel> drawn(std::uint64_t seed) const = 0;
};

// A model to which a state is only the number, and whose steps are worth numbers.
class ProgressLaw : public LearningModel {
public:
    // Progress that one step makes at this point, never negative; 0: it learns nothing.
    virtual std::int64_t worth(std::int64_t progress, const LearningStep& step) const = 0;
    // A step that begins before this is worth what one is worth at `progress`, which is less.
    virtual std::int64_t same_until(std::int64_t progress, const LearningStep& step) const = 0;

    LearningState after(const LearningState& from, std::int64_t steps,
                        const LearningStep& step) const final;
    LookAhead look_ahead(const LearningState& from, const LearningStep& step,
                         std::int64_t most) const final;
    std::int64_t straight_steps(const LearningState& from, const LearningStep& step) const final;
    // What is left if every step is worth what one is worth now; at most 10^15.
    std::int64_t samples_left(const LearningState& at, const LearningStep& step) const final;
};

// Both above 0: the least number of steps, each worth `one`, that lead so far.
constexpr std::int64_t steps_to_cover(std::int64_t way, std::int64_t one) {
    return (way - 1) / one + 1;
}

// The first number of steps after which the target is reached; nothing if it never is, also where
// training ends before.
std::optional<std::int64_t> steps_to_target(const LearningModel& model, LearningState from,
                                            const LearningStep& step);

}  // namespace ukemi::sim
