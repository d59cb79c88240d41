// search_results.hpp — what `ukemi search` leaves behind: who won, what it took, and what became of
// each trial.
//
// RESULTS/: run.json (how to repeat it: `ukemi search RESULTS/run.json`), search.csv (a row a
// search), trials.csv (a row a trial), pieces.csv (a row a stretch of training), search.json (the
// first table, means over the seeds, and pairs) and figures/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/output_folder.hpp"
#include "analysis/scenario_folder.hpp"
#include "analysis/seeded_runs.hpp"
#include "analysis/simulated_steps.hpp"
#include "scenarios/reader/search_scenario.hpp"

namespace ukemi::analysis {

// One search: of a variant, a seed and a searcher.
struct SearchedRun {
    std::vector<records::VariedValue> varied;
    const scenarios::SearchScenario* scenario = nullptr;
    std::uint64_t seed = 0;
    std::string searcher;
    sim::SearchOutcome outcome;
    std::optional<sim::FullComparison> full;  // if it was asked for
    double makespan_s() const { return to_seconds(outcome.schedule.end.since_start()); }
    // Of what training all in full takes; nothing for real trials, of which nobody knows that.
    std::optional<double> gpu_share() const {
        if (!outcome.full_gpu_s) return std::nullopt;
        return outcome.gpu_s / *outcome.full_gpu_s;
    }
    const sim::SearchedTrial& winner() const { return outcome.trials[outcome.winner]; }

    std::string outcome_hash;  // of every piece and of what became of it
    const std::string& decided_by() const { return searcher; }
    bool finished() const { return !outcome.schedule.interrupted; }
    std::optional<bool> deadline_met() const { return std::nullopt; }
};

// What a search reports: the columns of search.csv and the keys of search.json.
std::span<const SummaryColumn<SearchedRun>> search_columns();

// The searchers of one scenario under one seed; what one of them has trained the others need not
// train again.
class SearcherRuns {
public:
    // `full`: all trials are trained to their ends, too, to see who should have won.
    SearcherRuns(const scenarios::SearchScenario& scenario, std::uint64_t seed, bool full)
        : scenario_(scenario),
          seed_(seed),
          full_(full),
          learned_(scenario.space, scenario.make_trial, scenario.units, seed) {}
    std::size_t count() const { return scenario_.searchers.size(); }
    SearchedRun run(std::size_t searcher);

private:
    const scenarios::SearchScenario& scenario_;
    std::uint64_t seed_;
    bool full_;
    sim::LearnedTrials learned_;
};

// Each variant under each seed (without any, its own) and searcher, in that order; seeds several at
// a time. Runs point into the scenarios.
std::vector<SearchedRun> run_searches(std::span<const scenarios::SearchScenario> variants,
                                      std::span<const std::uint64_t> seeds, bool full,
                                      const RunProgress& progress = {});

// Means over the seeds, and pairs with a searcher, unless that is empty.
GroupedRuns search_means(std::span<const SearchedRun> runs, const std::string& baseline);

// One of the scenario's searchers. With a `world` trials are trained there, and nothing is learned
// of them in `learned`.
SearchedRun searched_run(const scenarios::SearchScenario& scenario,
                         const scenarios::NamedSearcher& named, sim::LearnedTrials& learned,
                         sim::TrialWorld* world);

std::string searches_table(const scenarios::SearchScenario& first,
                           std::span<const SearchedRun> runs, const std::string& baseline);
std::string searches_csv(std::span<const SearchedRun> runs);
std::string searched_trials_csv(std::span<const SearchedRun> runs);
std::string searches_json(const scenarios::SearchScenario& first, std::span<const SearchedRun> runs,
                          const std::string& baseline);

plots::FigureResult write_searches(OutputFolder& folder, const StepDocument& document,
                                   std::span<const scenarios::SearchScenario> variants,
                                   std::span<const SearchedRun> runs,
                                   const plots::FigureOptions& options, MoreFiles more = {});

// Whether a results folder is of searches; what `ukemi plot` draws of it.
bool is_searched(const std::filesystem::path& folder);
plots::FigureInput read_searched(const std::filesystem::path& folder);

}  // namespace ukemi::analysis
