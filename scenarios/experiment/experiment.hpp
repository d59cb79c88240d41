// experiment.hpp — many runs of one scenario: traces × windows × policies × seeds, in parallel.
//
// The order of the results is that of (variant, trace, window, policy, seed) as given, whatever the
// number of threads; each run is by itself on one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "records/decision_log.hpp"
#include "records/run_result.hpp"
#include "scenarios/experiment/starts.hpp"
#include "scenarios/reader/scenario.hpp"

namespace ukemi::scenarios {

// What a run keeps besides its result.
struct RunOptions {
    bool timeline = false;
    bool decisions = false;
    bool all_questions = false;  // in decisions, also those that led to no change
    bool events = false;
};

enum class Details : std::uint8_t { none, first, all };  // first: of each policy, one run

struct ExperimentSetup {
    std::vector<std::filesystem::path> traces;  // empty: the scenario's own market
    bool calm = false;                          // that market is its calm_market
    bool join_zones = false;                    // the traces are zones of one market
    StartsChoice starts;                        // where in each trace runs begin
    std::vector<PolicyList> policies;
    std::vector<std::uint64_t> seeds;
    int threads = 1;
    RunOptions options;
    Details details = Details::none;  // which runs the options are for
    // With every run, what the work would have cost at least, and what makes it doubtful.
    bool judged = false;
    // Called from any thread, one at a time, after each run.
    std::function<void(std::size_t done, std::size_t total)> progress;
};

struct FinishedRun {
    records::RunResult result;
    std::string decisions;                                   // decisions.jsonl
    std::string events;                                      // events.jsonl
    std::vector<std::pair<std::string, std::string>> files;  // more of its folder: name and text
};

// The scenario's market with nothing ever taken away: every zone carries what the job may ask for.
NamedMarket calm_market(const Scenario& scenario);

// Throws the first InputError in the order of the runs, if a trace cannot be read.
std::vector<FinishedRun> run_experiment(const Scenario& scenario, const ExperimentSetup& setup);

// One scenario of several, with what runs in it: neither list is empty.
struct ExperimentCase {
    const Scenario* scenario = nullptr;
    std::vector<PolicyList> policies;
    std::vector<std::uint64_t> seeds;
};
// The variants of a scenario side by side, on the same traces; the policies and the seeds of the
// setup are not looked at. What cannot run is refused before the first run, with its variant.
std::vector<FinishedRun> run_experiment(std::span<const ExperimentCase> cases,
                                        const ExperimentSetup& setup);

// One run, for callers that have made the market themselves.
FinishedRun run_one(const Scenario& scenario, const NamedMarket& market, const PolicyList& list,
                    std::uint64_t seed, const RunOptions& options = {});

// The head of a run's decisions.jsonl.
records::DecisionLogHeader decision_log_header(const Scenario& scenario, const std::string& trace,
                                               const sim::JobSpec& job,
                                               const policies::Capabilities& world,
                                               const PolicyList& list, std::uint64_t seed,
                                               bool all_questions);

// One line of events.jsonl.
std::string event_line(Instant at, sim::Phase phase, const sim::Event& event);

}  // namespace ukemi::scenarios
