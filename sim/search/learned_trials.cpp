#include "sim/search/learned_trials.hpp"

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {

LearnedTrial::LearnedTrial(TrialSettings settings, TrialJob job, std::int64_t units,
                           std::uint64_t seed)
    : settings_(std::move(settings)),
      job_(std::move(job)),
      units_(units),
      model_(job_.learning->drawn(seed)) {
    known_.emplace(0, model_->start());
}

LearnedTrial::LearnedTrial(TrialSettings settings, TrialJob job, LearnedTrial& other,
                           std::int64_t at, std::uint64_t seed)
    : settings_(std::move(settings)),
      job_(std::move(job)),
      units_(other.units_),
      model_(job_.learning->drawn(seed)) {
    known_.emplace(at, other.state(at));
}

std::int64_t LearnedTrial::steps_at(std::int64_t units) const {
    const Int128 samples = static_cast<Int128>(job_.samples) * units;
    const Int128 of_step = static_cast<Int128>(units_) * job_.step.batch;
    return static_cast<std::int64_t>((samples + of_step - 1) / of_step);
}

std::int64_t LearnedTrial::steps(std::int64_t from, std::int64_t to) const {
    INVARIANT(from >= known_.begin()->first && to >= from);
    return steps_at(to) - steps_at(from);
}

const LearningState& LearnedTrial::state(std::int64_t units) {
    auto known = known_.upper_bound(units);
    INVARIANT(known != known_.begin());
    --known;
    if (known->first == units) return known->second;
    const std::int64_t more = steps(known->first, units);
    LearningState reached =
        more == 0 ? known->second : model_->after(known->second, more, job_.step);
    return known_.emplace(units, std::move(reached)).first->second;
}

double LearnedTrial::metric(std::int64_t units) {
    const std::optional<double> metric = model_->metric_now(state(units));
    if (!metric) {
        throw InputError("", "/trial/learning",
                         "shows no metric on its way, by which trials could be compared: expected "
                         "\"metric\", recorded curves or real gradients");
    }
    return *metric;
}

LearnedTrial& LearnedTrials::made(std::map<std::size_t, LearnedTrial>& all, std::size_t trial,
                                  const std::vector<TrialSettings>& settings) {
    const auto known = all.find(trial);
    if (known != all.end()) return known->second;
    const TrialSettings& of_it = settings.at(trial);
    return all.try_emplace(trial, of_it, make_(of_it), units_, seed_of(trial)).first->second;
}

LearnedTrial& LearnedTrials::drawn(std::size_t trial) {
    if (trial >= settings_.size()) {
        settings_ = drawn_settings(space_, std::max(trial + 1, 2 * settings_.size()), seed_);
    }
    return made(drawn_, trial, settings_);
}

LearnedTrial& LearnedTrials::on_grid(std::size_t trial) {
    if (grid_.empty()) grid_ = grid_settings(space_);
    return made(on_grid_, trial, grid_);
}

std::unique_ptr<LearnedTrial> LearnedTrials::explored(LearnedTrial& other, std::size_t trial,
                                                      std::int64_t at) {
    TrialSettings settings = explored_settings(space_, other.settings(), seed_, trial, at);
    TrialJob job = make_(settings);
    return std::make_unique<LearnedTrial>(std::move(settings), std::move(job), other, at,
                                          seed_of(trial));
}

}  // namespace ukemi::sim
