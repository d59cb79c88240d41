// learned_trials.hpp — what the trials of a search have learned, each trained once.
//
// What a trial knows after so many units is a function of its settings, the seed and the units: not
// of who asks, nor of the machines that it ran on. So searchers share what was trained.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/quantity.hpp"
#include "sim/learning/learning_model.hpp"
#include "sim/search/search_space.hpp"

namespace ukemi::sim {

// Settings made into something that learns.
struct TrialJob {
    std::shared_ptr<const LearningModel> learning;
    LearningStep step;
    std::int64_t samples = 1;         // of a full training
    std::vector<Duration> step_time;  // by number of GPUs; [0] is 0
    std::int32_t gpus = 1;            // that it asks for
    bool larger_is_better = true;     // of its metric
};
using MakeTrial = std::function<TrialJob(const TrialSettings& settings)>;

// One trial, or what it has become after it took over another's weights.
class LearnedTrial {
public:
    LearnedTrial(TrialSettings settings, TrialJob job, std::int64_t units, std::uint64_t seed);
    // From what `other` knew at so many units, with these settings and an order of samples of its
    // own.
    LearnedTrial(TrialSettings settings, TrialJob job, LearnedTrial& other, std::int64_t at,
                 std::uint64_t seed);

    const TrialSettings& settings() const { return settings_; }
    const TrialJob& job() const { return job_; }
    // Steps from one number of units to another, neither below where it began.
    std::int64_t steps(std::int64_t from, std::int64_t to) const;
    // InputError where the way of learning knows no metric on its way.
    double metric(std::int64_t units);

private:
    std::int64_t steps_at(std::int64_t units) const;
    const LearningState& state(std::int64_t units);

    TrialSettings settings_;
    TrialJob job_;
    std::int64_t units_;
    std::shared_ptr<const LearningModel> model_;
    std::map<std::int64_t, LearningState> known_;  // by units
};

// Of one seed.
class LearnedTrials {
public:
    LearnedTrials(const SearchSpace& space, MakeTrial make, std::int64_t units, std::uint64_t seed)
        : space_(space), make_(std::move(make)), units_(units), seed_(seed) {}

    const SearchSpace& space() const { return space_; }
    std::uint64_t seed() const { return seed_; }
    // Each trial has weights and an order of samples of its own.
    std::uint64_t seed_of(std::size_t trial) const { return seed_ * 1'000'003 + trial; }
    std::int64_t units() const { return units_; }
    LearnedTrial& drawn(std::size_t trial);
    LearnedTrial& on_grid(std::size_t trial);
    // `trial` goes on as `other` was, with settings a little changed. Belongs to one search.
    std::unique_ptr<LearnedTrial> explored(LearnedTrial& other, std::size_t trial, std::int64_t at);

private:
    LearnedTrial& made(std::map<std::size_t, LearnedTrial>& all, std::size_t trial,
                       const std::vector<TrialSettings>& settings);

    const SearchSpace& space_;
    MakeTrial make_;
    std::int64_t units_;
    std::uint64_t seed_;
    std::vector<TrialSettings> settings_;  // drawn so far
    std::vector<TrialSettings> grid_;      // once it is asked for
    std::map<std::size_t, LearnedTrial> drawn_;
    std::map<std::size_t, LearnedTrial> on_grid_;
};

}  // namespace ukemi::sim
