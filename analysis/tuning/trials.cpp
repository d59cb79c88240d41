#include "analysis/tuning/trials.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>

#include "base/invariant.hpp"
#include "base/rng.hpp"

namespace ukemi::analysis {

namespace {

using PlaceKey = std::tuple<std::size_t, std::size_t, std::uint64_t>;

PlaceKey key_of(const scenarios::PlannedRun& run) {
    return {run.trace, run.window_number, run.seed};
}

std::size_t policy_number(const scenarios::PlannedRun& run) {
    return static_cast<std::size_t>(run.policies - run.of->policies.data());
}

}  // namespace

std::vector<TrialPlace> places_of(const scenarios::ExperimentCase& of,
                                  const scenarios::ExperimentSetup& setup) {
    std::vector<TrialPlace> places;
    scenarios::RunTaker taker;
    taker.wanted = [&](const scenarios::PlannedRun& run) {
        if (policy_number(run) == 0) {
            places.push_back({run.trace, run.window, run.seed, run.window_number});
        }
        return false;
    };
    taker.take = [](const scenarios::PlannedRun&, const scenarios::FinishedRun&) {};
    run_experiment({&of, 1}, setup, taker);
    return places;
}

void spread_places(std::vector<TrialPlace>& places, std::uint64_t seed) {
    RandomStream random(seed, "tune/places");
    for (std::size_t i = places.size(); i > 1; --i) {  // Fisher and Yates
        const auto other = random.integer(0, static_cast<std::int64_t>(i) - 1);
        std::swap(places[i - 1], places[static_cast<std::size_t>(other)]);
    }
    std::map<std::size_t, std::size_t> of_trace;
    std::vector<std::pair<std::size_t, TrialPlace>> rounds;  // the n-th of its trace
    for (const TrialPlace& one : places) rounds.emplace_back(of_trace[one.trace]++, one);
    std::ranges::stable_sort(rounds, {}, [](const auto& one) { return one.first; });
    std::ranges::transform(rounds, places.begin(), [](const auto& one) { return one.second; });
}

Trials::Trials(const scenarios::ExperimentCase& of, scenarios::ExperimentSetup setup,
               std::vector<TrialPlace> places)
    : of_(of), setup_(std::move(setup)), places_(std::move(places)) {}

void Trials::make(std::span<const std::size_t> policies, std::size_t places, bool judged) {
    INVARIANT(places <= places_.size());
    std::map<PlaceKey, std::size_t> numbers;
    for (std::size_t place = 0; place < places; ++place) {
        const TrialPlace& one = places_[place];
        numbers[{one.trace, one.window_number, one.seed}] = place;
    }
    setup_.judged = judged;
    std::mutex mutex;
    scenarios::RunTaker taker;
    taker.wanted = [&](const scenarios::PlannedRun& run) {
        const std::size_t policy = policy_number(run);
        const auto place = numbers.find(key_of(run));
        if (place == numbers.end() || std::ranges::find(policies, policy) == policies.end()) {
            return false;
        }
        const auto made = made_.find({policy, place->second});
        return made == made_.end() || (judged && made->second.optimum_kind.empty());
    };
    taker.take = [&](const scenarios::PlannedRun& run, scenarios::FinishedRun finished) {
        const std::scoped_lock lock(mutex);
        made_[{policy_number(run), numbers.at(key_of(run))}] = std::move(finished.result);
    };
    run_experiment({&of_, 1}, setup_, taker);
}

std::vector<records::RunResult> Trials::results(std::size_t policy, std::size_t places) const {
    std::vector<records::RunResult> runs;
    for (std::size_t place = 0; place < places; ++place) runs.push_back(made_.at({policy, place}));
    return runs;
}

}  // namespace ukemi::analysis
