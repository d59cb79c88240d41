// learning_model.hpp — what a step of training is worth, and when enough has been learned.
//
// Progress is an integer: millionths of a sample at the reference batch, so that at this batch a
// step is worth exactly its samples, reports may come at any moment, and equal runs are equal to
// the bit. A model is a pure function of the progress and of how a step is made. Worths are
// computed with + − × ÷, square roots and exact_math, never with libm.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "policies/observation.hpp"

namespace ukemi {

inline constexpr std::int64_t progress_per_sample = 1'000'000;

struct LearningStep {
    std::int64_t batch = 1;
    double learning_rate = 0;  // of the Plan
    friend bool operator==(const LearningStep&, const LearningStep&) = default;
};

class LearningModel {
public:
    virtual ~LearningModel() = default;

    virtual std::int64_t target() const = 0;  // the work is done there; at least 1
    // Progress that one step makes at this point, never negative; 0: it learns nothing.
    virtual std::int64_t worth(std::int64_t progress, const LearningStep& step) const = 0;
    // A step's worth stays what it is until there: more than `progress`.
    virtual std::int64_t same_until(std::int64_t progress) const = 0;
    // What a monitor would measure. What the model does not know stays zero.
    virtual GradientStatistics gradient(std::int64_t progress, const LearningStep& step) const = 0;
    virtual std::optional<double> metric(std::int64_t progress) const = 0;
    // Whether the learning rate is the Plan's, so that policies may turn it; else a rule sets it.
    virtual bool rate_of_plan() const = 0;
    // The same task as one run meets it: luck with the seed makes the way longer or shorter.
    virtual std::shared_ptr<const LearningModel> drawn(std::uint64_t seed) const = 0;
};

// Where `steps` steps lead from `from`: not much farther than the target.
std::int64_t progress_after(const LearningModel& model, std::int64_t from, std::int64_t steps,
                            const LearningStep& step);
// The first number of steps after which the target is reached; nothing if it never is.
std::optional<std::int64_t> steps_to_target(const LearningModel& model, std::int64_t from,
                                            const LearningStep& step);
// As a real job would guess: what is left, if every step is worth what one is worth now. At most
// 10^15, and 0 exactly at the target.
std::int64_t samples_left(const LearningModel& model, std::int64_t progress,
                          const LearningStep& step);

}  // namespace ukemi
