// experiment.hpp — many runs of one scenario: traces × windows × policies × seeds, in parallel.
//
// The order of the results is that of (variant, trace, window, policy, seed) as given, whatever the
// number of threads; each run is by itself on one thread. Results are a list, or they are handed to
// somebody one by one, and then a million runs need no more memory than ten.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "records/decision_log.hpp"
#include "records/run_result.hpp"
#include "scenarios/experiment/provider_log.hpp"
#include "scenarios/experiment/run_layout.hpp"
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
    std::function<bool()> stopped;  // from any thread, in the midst of runs: true ends them
};

struct FinishedRun {
    records::RunResult result;
    std::string decisions;                                   // decisions.jsonl
    std::string events;                                      // events.jsonl
    std::vector<std::pair<std::string, std::string>> files;  // more of its folder: name and text
    double wall_s = 0;                                       // that it took to make
};

// The scenario's market with nothing ever taken away: every zone carries what the job may ask for.
NamedMarket calm_market(const Scenario& scenario);

// Throws the first InputError in the order of the runs, if a trace cannot be read.
std::vector<FinishedRun> run_experiment(const Scenario& scenario, const ExperimentSetup& setup);

// The variants of a scenario side by side, on the same traces; the policies and the seeds of the
// setup are not looked at. What cannot run is refused before the first run, with its variant.
std::vector<FinishedRun> run_experiment(std::span<const ExperimentCase> cases,
                                        const ExperimentSetup& setup);

// What the markets are called in results: the traces, or all of them as zones of one market. Empty
// where the scenario's own is run on.
std::vector<std::string> market_labels(const ExperimentSetup& setup);

// Who takes the runs one by one. What may be empty is not asked.
struct RunTaker {
    // Before the first run, in any order: which are to be made at all. May be empty.
    std::function<bool(const PlannedRun& run)> wanted;
    // How many there are, and how many of them are wanted. May be empty.
    std::function<void(std::size_t runs, std::size_t wanted)> begin;
    // From any thread, several at a time, in any order. What it throws ends the experiment.
    std::function<void(const PlannedRun& run, FinishedRun finished)> take;
    // From any thread, before each run: true ends the experiment. May be empty.
    std::function<bool()> stopped;
    // From any thread: the group that is made next, until there is none. Empty: all in turn.
    std::function<std::optional<std::size_t>()> next_group;
};
// Throws the first failure in the order of the groups; runs that were taken before stay taken.
void run_experiment(std::span<const ExperimentCase> cases, const ExperimentSetup& setup,
                    const RunTaker& taker);

// The market of a live run whose machines somebody else has: nothing is recorded of it, and a zone
// that has refused is left alone for a minute.
NamedMarket told_market(const Scenario& scenario, std::string name);

// One run, for callers that have made the market themselves. With a provider's log of a live run,
// which was in its told_market: what that run was told, until it ended. `stopped` is asked between
// events, now and then: true ends the run with sim::RunStopped.
FinishedRun run_one(const Scenario& scenario, const NamedMarket& market, const PolicyList& list,
                    std::uint64_t seed, const RunOptions& options = {},
                    const ProviderLog* provided = nullptr,
                    const std::function<bool()>& stopped = {});

// The head of a run's decisions.jsonl.
records::DecisionLogHeader decision_log_header(const Scenario& scenario, const std::string& trace,
                                               const sim::JobSpec& job,
                                               const policies::Capabilities& world,
                                               const PolicyList& list, std::uint64_t seed,
                                               bool all_questions);

// The same for a world of the user's own that has this scenario's job and market, and logs every
// question. InputError for a list that cannot run there, or that asks an oracle: nobody has one.
records::DecisionLogHeader advice_header(const Scenario& scenario, const PolicyList& list,
                                         std::uint64_t seed);

// One line of events.jsonl.
std::string event_line(Instant at, sim::Phase phase, const sim::Event& event);

}  // namespace ukemi::scenarios
