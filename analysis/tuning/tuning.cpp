#include "analysis/tuning/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::analysis {

namespace {

using Results = std::vector<records::RunResult>;

constexpr std::size_t kept_share = 3;    // one of so many goes on
constexpr std::size_t left_at_last = 3;  // settings
constexpr std::size_t places_least = 3;

double goal_of(const records::RunResult& run, TuningGoal goal) {
    return goal == TuningGoal::cost_usd ? to_dollars(run.cost) : to_hours(run.duration);
}

std::size_t late_among(const Results& runs) {
    return static_cast<std::size_t>(
        std::ranges::count_if(runs, [](const records::RunResult& run) { return !run.in_time(); }));
}

double mean_goal(const Results& runs, TuningGoal goal) {
    double sum = 0;
    for (const records::RunResult& run : runs) sum += goal_of(run, goal);
    return sum / static_cast<double>(runs.size());
}

// Rungs from the first to the last, which has all places; each has as many times those of the one
// before, three times where there are enough.
std::vector<TuningRung> rungs_for(std::size_t settings, std::size_t places) {
    std::vector<TuningRung> rungs{{settings, places}};
    while (rungs.back().settings > left_at_last) {
        rungs.push_back({(rungs.back().settings + kept_share - 1) / kept_share, places});
    }
    const std::size_t last = rungs.size() - 1;
    double first = static_cast<double>(places);
    for (std::size_t i = 0; i < last; ++i) first /= kept_share;
    first = std::max(first, static_cast<double>(std::min(places, places_least)));
    for (std::size_t i = 0; i < last; ++i) {
        const double share = static_cast<double>(i) / static_cast<double>(last);
        rungs[i].places = static_cast<std::size_t>(
            std::round(first * exact::pow(static_cast<double>(places) / first, share)));
    }
    return rungs;
}

// What a policy came to, beside the untuned one on the same places.
TuningOutcome outcome_of(const Results& runs, const Results& untuned, TuningGoal goal) {
    TuningOutcome outcome;
    outcome.late = late_among(runs);
    outcome.means = policy_means(runs).front();
    if (runs.front().policy == untuned.front().policy) return outcome;
    Results both = untuned;
    both.insert(both.end(), runs.begin(), runs.end());
    for (const PolicyPair& pair : pairs_with(both, untuned.front().policy)) {
        const char* const name = goal == TuningGoal::cost_usd ? "cost_usd" : "hours";
        const auto found = std::ranges::find(pair.quantities, name, &PairedQuantity::name);
        INVARIANT(found != pair.quantities.end());
        if (pair.pairs > 0) outcome.pair = *found;
    }
    return outcome;
}

void describe(const Trials& trials, TuningMarkets& markets) {
    const Results runs = trials.results(0, trials.place_count());
    markets.places = runs.size();
    markets.optimum = optimum_mean(runs);
    for (const records::RunResult& run : runs) {
        if (std::ranges::find(markets.traces, run.trace) == markets.traces.end()) {
            markets.traces.push_back(run.trace);
        }
    }
    std::ranges::sort(markets.traces);
    markets.clusters_words = policy_means(runs).front().clusters_words;
}

// The settings (by their policies' numbers) in order of what they came to on the first places.
void sort_settings(std::vector<std::size_t>& policies, Tuning& tuning, const Trials& training,
                   std::size_t rung) {
    for (const std::size_t policy : policies) {
        TriedSetting& one = tuning.tried[policy - 1];
        const Results runs = training.results(policy, tuning.rungs[rung].places);
        one.rung = rung;
        one.places = runs.size();
        one.mean = mean_goal(runs, tuning.goal);
        one.late = late_among(runs);
    }
    std::ranges::stable_sort(policies, {}, [&](std::size_t policy) {
        const TriedSetting& one = tuning.tried[policy - 1];
        return std::pair(one.late, one.mean);
    });
}

}  // namespace

Tuning tune(std::span<const TunedSetting> settings, TuningGoal goal, Trials& training,
            Trials& held_out) {
    Tuning tuning;
    tuning.goal = goal;
    tuning.rungs = rungs_for(settings.size(), training.place_count());
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        tuning.tried.push_back({settings[i]});
        left.push_back(i + 1);
    }
    for (std::size_t rung = 0; rung < tuning.rungs.size(); ++rung) {
        left.resize(tuning.rungs[rung].settings);
        training.make(left, tuning.rungs[rung].places, false);
        sort_settings(left, tuning, training, rung);
    }
    std::vector<std::size_t> shown{0};
    shown.insert(shown.end(), left.begin(), left.end());
    const std::size_t places = training.place_count();
    const std::size_t others = held_out.place_count();
    training.make(shown, places, true);
    held_out.make(shown, others, true);
    describe(training, tuning.training);
    describe(held_out, tuning.held_out);
    const Results untuned = training.results(0, places);
    const Results untuned_elsewhere = held_out.results(0, others);
    for (const std::size_t policy : shown) {
        TuningRow row;
        if (policy > 0) row.setting = settings[policy - 1];
        const Results runs = training.results(policy, places);
        row.policies = runs.front().policy;
        row.training = outcome_of(runs, untuned, goal);
        row.held_out = outcome_of(held_out.results(policy, others), untuned_elsewhere, goal);
        if (policy == 0) {
            tuning.untuned = std::move(row);
        } else {
            tuning.best.push_back(std::move(row));
        }
    }
    return tuning;
}

}  // namespace ukemi::analysis
