// coverage.hpp — how often the intervals that a table prints hold the true mean.
//
// Traces are drawn from a population: generated markets of one V100 whose quiet times and outages
// are longer or shorter from trace to trace, by factors that are lognormal. Each trace is replayed
// from the windows that do not overlap, as `ukemi replay` does it, under two policies whose costs
// are skewed: bounded below by spot, above by on-demand. The true means are those of a long
// simulation of other traces of the same population.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/pairs.hpp"
#include "analysis/policy_means.hpp"
#include "base/parallel_for.hpp"
#include "base/rng.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace ukemi::coverage {

inline constexpr std::string_view scenario_of_population = R"({
  "name": "coverage", "seed": 1,
  "job": {"work": "48 h", "deadline": "60 h", "restart": "6 min",
          "checkpoint": {"cost": "45 s", "restore": "60 s"}},
  "cluster": {"instance": "p3.2xlarge", "count": 1},
  "market": {"generate": {"market": "v100-1-good", "zones": 1, "length": "10 d"},
             "on_demand_price": "3.06 USD/h", "notice": "2 min", "provisioning": "90 s"},
  "replay": ["greedy+daly", "uniform_progress+daly"]
})";

class MarketPopulation {
public:
    // `spread` is the standard deviation of the factors' logarithms; zero: all traces are alike.
    explicit MarketPopulation(double spread)
        : scenario_(scenarios::scenario_from_text(scenario_of_population, "coverage.json")),
          spread_(spread) {}

    std::string label(std::size_t policy) const { return scenario_.policies[policy].label(); }

    // What a trace of that number gives: windows × policies.
    void add_runs(std::uint64_t trace, std::vector<records::RunResult>& runs) const {
        scenarios::Scenario scenario = scenario_;
        RandomStream random(trace, "coverage/market");
        traces::MarketParameters& market = *scenario.market.generator_parameters;
        for (traces::ShortOrLong* times : {&market.quiet, &market.outage}) {
            const double factor = random.lognormal(0, spread_);
            times->short_h_mean *= factor;
            times->long_h_mean *= factor;
        }
        const scenarios::NamedMarket whole = scenarios::make_market(scenario, trace);
        const auto windows = scenarios::windows_of(scenarios::parse_starts("apart", ""),
                                                   scenarios::trace_length(whole.data), false,
                                                   scenarios::window_span(scenario.job));
        for (const scenarios::TraceWindow& window : windows) {
            scenarios::NamedMarket part = whole;
            part.data = scenarios::begun_later(whole.data, window.start);
            part.start = window.start;
            part.stretch = window.stretch;
            for (const scenarios::PolicyList& list : scenario.policies) {
                runs.push_back(scenarios::run_one(scenario, part, list, trace).result);
            }
        }
    }

private:
    scenarios::Scenario scenario_;
    double spread_;
};

inline constexpr std::array<std::string_view, 4> interval_names{
    "mean, greedy", "mean, uniform_progress", "difference of pairs", "ratio of pairs"};

struct PrintedInterval {
    double mean = 0;
    double low = 0;
    double high = 0;
    bool holds(double truth) const { return low <= truth && truth <= high; }
};
using PrintedIntervals = std::array<PrintedInterval, interval_names.size()>;

// What the tables say of these runs.
inline PrintedIntervals intervals_of(std::span<const records::RunResult> runs,
                                     const std::string& baseline) {
    PrintedIntervals all;
    const auto means = analysis::policy_means(runs);
    for (std::size_t policy = 0; policy < means.size(); ++policy) {
        const Summary& cost = means[policy].cost_usd;
        all[policy] = {cost.mean, cost.mean_low_95, cost.mean_high_95};
    }
    const auto pairs = analysis::pairs_with(runs, baseline);
    const analysis::PairedQuantity& cost = pairs.front().quantities.front();
    all[2] = {cost.difference.mean, cost.difference.mean_low_95, cost.difference.mean_high_95};
    const double ratio = cost.ratio.value_or(0);
    all[3] = {ratio, ratio - cost.ratio_half_width_95, ratio + cost.ratio_half_width_95};
    return all;
}

// The traces of the long simulation and of the repetitions are all different ones.
inline PrintedIntervals long_simulation(const MarketPopulation& population, std::size_t traces,
                                        int threads) {
    std::vector<std::vector<records::RunResult>> parts(traces);
    parallel_for(traces, threads,
                 [&](std::size_t trace) { population.add_runs(trace, parts[trace]); });
    std::vector<records::RunResult> runs;
    for (const auto& part : parts) runs.insert(runs.end(), part.begin(), part.end());
    return intervals_of(runs, population.label(0));
}

// How many of the repetitions, each of so many traces, hold the true values.
inline std::array<std::size_t, interval_names.size()> times_held(const MarketPopulation& population,
                                                                 const PrintedIntervals& truth,
                                                                 std::size_t traces,
                                                                 std::size_t repetitions,
                                                                 int threads) {
    std::vector<PrintedIntervals> printed(repetitions);
    parallel_for(repetitions, threads, [&](std::size_t repetition) {
        constexpr std::uint64_t other_traces = 1'000'000;
        std::vector<records::RunResult> runs;
        for (std::size_t trace = 0; trace < traces; ++trace) {
            population.add_runs(other_traces * traces + repetition * traces + trace, runs);
        }
        printed[repetition] = intervals_of(runs, population.label(0));
    });
    std::array<std::size_t, interval_names.size()> held{};
    for (const PrintedIntervals& one : printed) {
        for (std::size_t i = 0; i < held.size(); ++i) held[i] += one[i].holds(truth[i].mean);
    }
    return held;
}

}  // namespace ukemi::coverage
