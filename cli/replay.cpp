// replay.cpp — `ukemi replay`: one scenario, many traces, policies and seeds; a table and figures.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/pairs.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/results.hpp"
#include "analysis/table.hpp"
#include "cli/command.hpp"
#include "cli/experiment_setup.hpp"
#include "cli/run_options.hpp"
#include "records/run_json.hpp"
#include "sim/job/world.hpp"

namespace ukemi::cli {

namespace {

struct ReplayOptions : ExperimentOptions {
    std::filesystem::path scenario;  // the only one
    bool no_files = false;
    bool log_observations = false;
    bool log_events = false;
    std::string details = "first";
    std::filesystem::path provider_log;  // of a live run
};

scenarios::Details details_of(const std::string& name) {
    return name == "none"  ? scenarios::Details::none
           : name == "all" ? scenarios::Details::all
                           : scenarios::Details::first;
}

void print_tables(const analysis::PreparedRuns& runs, std::span<const records::RunResult> results) {
    fmt::print(
        "{}{}{}",
        analysis::policy_table(results, terminal_columns().value_or(analysis::table_width_least)),
        analysis::phase_table(results), analysis::pipeline_table(results));
    const std::string& baseline = runs.inputs.baseline;
    if (!baseline.empty()) {
        constexpr std::string_view cost[] = {"cost_usd"};
        fmt::print("{}", analysis::pairs_table(analysis::pairs_with(results, baseline), cost));
    }
    print_notes(runs, results);
    fmt::print("\n");
}

// What would choose the market, beside a log that is one.
void expect_no_market(const ReplayOptions& options) {
    const std::vector<std::pair<const char*, bool>> others{
        {"--traces", !options.traces.empty()},
        {"--zones", options.zones},
        {"--starts", !options.starts.empty()},
        {"--vary", !options.variation.varied.empty()},
    };
    for (const auto& [name, is_there] : others) {
        if (!is_there) continue;
        throw InputError(name, "", "the market is that of --provider-log: expected none beside it");
    }
}

// What a run is told if it is not as long as the live one, and its bill is of another time; empty
// for one that is, within a tenth.
std::string ended_apart(const records::RunResult& result, Duration live) {
    const double share = result.duration / live;
    if (share > 0.9 && share < 1.1) return {};
    return fmt::format(
        "{}, seed {}: {} after {:.3f} s, and the live run ended after {:.3f} s: its bill is of "
        "another time (how long a step takes is the scenario's guess, or that of its \"costs\")",
        result.policy, result.seed, result.finished ? "the work is done" : "the replay ends",
        to_seconds(result.duration), to_seconds(live));
}

// The machines of a live run once more, for each policy and seed.
std::vector<scenarios::FinishedRun> run_provided(analysis::PreparedRuns& runs,
                                                 const ReplayOptions& options) {
    const scenarios::ExperimentCase& one = runs.cases.front();
    const scenarios::NamedMarket market = scenarios::told_market(*one.scenario, "agents");
    std::vector<std::string> zones;
    for (const sim::ZoneData& zone : market.data.zones) zones.push_back(zone.name);
    const scenarios::ProviderLog log = scenarios::read_provider_log(options.provider_log, zones);
    const sim::JobSpec job = scenarios::job_on(*one.scenario, market.data);
    std::vector<scenarios::FinishedRun> finished;
    for (const scenarios::PolicyList& list : one.policies) {
        scenarios::check_policies(list, *one.scenario,
                                  sim::simulated_capabilities(market.data, job));
        for (const std::uint64_t seed : one.seeds) {
            finished.push_back(
                scenarios::run_one(*one.scenario, market, list, seed, runs.setup.options, &log));
        }
    }
    if (!options.output.json) {
        fmt::print("the live run made {} requests and cost {:.6f} USD in {}\n", log.requests.size(),
                   to_dollars(log.cost), format_duration(log.ended.since_start()));
    }
    for (const scenarios::FinishedRun& run : finished) {
        const std::string apart = ended_apart(run.result, log.ended.since_start());
        if (!apart.empty()) runs.inputs.warnings.push_back(apart);
    }
    analysis::warn(runs.inputs.warnings, false);
    runs.inputs.live = nlohmann::json{{"provider_log", options.provider_log.string()}}.dump();
    return finished;
}

void replay(const ReplayOptions& options) {
    if (!options.provider_log.empty()) expect_no_market(options);
    analysis::PreparedRuns runs = analysis::prepare_runs(options, true);
    if (!runs.inputs.more.empty()) {
        throw InputError(options.scenarios.front().string(), "",
                         "is of several scenarios: ukemi compare runs it");
    }
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    CsvFile csv(output);
    const bool files = !options.no_files && (!output.json || !output.out.empty());
    std::optional<analysis::OutputFolder> folder;
    if (files) {
        folder.emplace(output.out.empty() ? analysis::default_results_folder(runs.inputs)
                                          : std::filesystem::path(output.out),
                       output.force);
        runs.setup.details = details_of(options.details);
        runs.setup.options = {true, true, options.log_observations, options.log_events};
    }
    const std::vector<scenarios::FinishedRun> finished = options.provider_log.empty()
                                                             ? run_prepared(runs, options.strict)
                                                             : run_provided(runs, options);
    std::vector<records::RunResult> results;
    for (const scenarios::FinishedRun& run : finished) results.push_back(run.result);
    plots::FigureResult figures;
    if (folder) figures = analysis::write_results(*folder, runs.inputs, finished, draw);
    if (output.json) {
        fmt::print("{}",
                   analysis::results_json(results, runs.inputs.baseline, runs.inputs.warnings));
    } else {
        print_tables(runs, results);
    }
    if (csv.is_wanted()) csv.write(records::runs_csv(results));
    if (folder) say_results(output, folder->path(), figures);
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_replay(CLI::App& app) {
    auto options = std::make_shared<ReplayOptions>();
    CLI::App* command =
        app.add_subcommand("replay", "replay recorded spot markets against policies");
    command
        ->add_option("SCENARIO", options->scenario,
                     "a scenario file, or a folder of results (or its run.json): runs them again")
        ->required();
    add_experiment_options(*command, *options, "apart where recorded, else 1: its beginning");
    add_judgement_options(*command, *options);
    add_output_options(
        *command, options->output,
        {"print the runs as JSON instead of the table", "write a row a run to this file, too",
         "folder for results and figures (default: results/<scenario>-<hash>)"});
    command->add_option("--provider-log", options->provider_log,
                        "provider.jsonl of a live run (train --provider): its machines, refusals, "
                        "prices and notices once more, in place of a market");
    command->add_flag("--no-files", options->no_files, "print only; write no results, no figures");
    command
        ->add_option("--details", options->details,
                     "timeline and decisions of: none, first (one run a policy), all runs")
        ->check(CLI::IsMember({"none", "first", "all"}));
    command->add_flag("--log-observations", options->log_observations,
                      "decisions.jsonl holds every question, as replay-log needs");
    command->add_flag("--log-events", options->log_events, "also write events.jsonl");
    command->callback([options] {
        options->scenarios = {options->scenario};
        replay(*options);
    });
}

}  // namespace ukemi::cli
