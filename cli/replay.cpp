// replay.cpp — `ukemi replay`: one scenario, many traces, policies and seeds; a table and figures.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "analysis/pairs.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/results.hpp"
#include "analysis/table.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/figure_options.hpp"
#include "records/run_json.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::cli {

namespace {

struct ReplayOptions {
    std::filesystem::path scenario;
    std::string traces;
    bool zones = false;
    std::string policies;
    std::vector<std::string> settings;
    std::vector<std::string> varied;
    std::string seeds;
    std::string starts;
    std::string baseline;
    int threads = 0;
    bool json = false;
    std::string out;
    bool force = false;
    FigureFlags figures;
    bool no_files = false;
    bool strict = false;
    bool log_observations = false;
    bool log_events = false;
    std::string details = "first";
};

scenarios::Details details_of(const std::string& name) {
    return name == "none"  ? scenarios::Details::none
           : name == "all" ? scenarios::Details::all
                           : scenarios::Details::first;
}

// A line on the terminal that is overwritten as runs finish; nothing where there is no terminal.
class ProgressLine {
public:
    ProgressLine() : shown_(isatty(STDERR_FILENO) == 1) {}
    void operator()(std::size_t done, std::size_t total) {
        const auto now = std::chrono::steady_clock::now();
        if (!shown_ || (done < total && now - last_ < std::chrono::milliseconds(100))) return;
        last_ = now;
        fmt::print(stderr, "\r{} of {} runs", done, total);
        if (done == total) fmt::print(stderr, "\r\x1b[K");
        std::fflush(stderr);
    }

private:
    bool shown_;
    std::chrono::steady_clock::time_point last_{};
};

// A file of 0 and 1 gives no hint when it is read the wrong way round.
void print_polarity(const scenarios::Scenario& scenario, const scenarios::ExperimentSetup& setup) {
    if (setup.traces.empty() || scenario.market.polarity == traces::Polarity::as_documented) return;
    const bool available = scenario.market.polarity == traces::Polarity::one_is_available;
    fmt::print("traces read with 1 = {}, as one_means at /market says\n",
               available ? "available" : "unavailable");
}

// From how many beginnings each trace was replayed; nothing where nobody recorded anything.
void print_windows(const scenarios::ExperimentSetup& setup,
                   std::span<const records::RunResult> results) {
    if (setup.starts.kind == scenarios::StartsChoice::Kind::first) return;
    std::map<std::string, std::set<std::int64_t>> starts;  // by trace
    for (const records::RunResult& run : results) starts[run.trace].insert(run.start.raw());
    std::size_t fewest = starts.begin()->second.size();
    std::size_t most = fewest;
    for (const auto& [trace, own] : starts) {
        fewest = std::min(fewest, own.size());
        most = std::max(most, own.size());
    }
    const std::string count =
        fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most);
    fmt::print("from {} beginning{} in {} ({})\n", count, most == 1 ? "" : "s",
               starts.size() == 1 ? "the trace" : fmt::format("each of {} traces", starts.size()),
               most == 1 ? "there is room for one window only"
               : setup.starts.kind == scenarios::StartsChoice::Kind::apart
                   ? "windows that do not overlap; --starts"
                   : "--starts " + one_line(setup.starts.text));
}

// What was joined, and on which clock.
void print_zones(const scenarios::Scenario& scenario, const scenarios::ExperimentSetup& setup) {
    if (!setup.join_zones) return;
    for (const std::string& note :
         traces::join_zones(setup.traces, scenarios::trace_options(scenario)).report.notes) {
        fmt::print("market: {}\n", one_line(note));
    }
}

// What an option replaces in every variant must not be what the variants differ in.
void check_useful(const ReplayOptions& options, std::span<const scenarios::VariedKey> keys) {
    struct Replaced {
        std::string_view option;
        bool is_there;
        std::string_view pointer;
    };
    const bool traces = !options.traces.empty();
    const Replaced all[] = {{"--seeds", !options.seeds.empty(), "/seed"},
                            {"--policies", !options.policies.empty(), "/policies"},
                            {"--policies", !options.policies.empty(), "/replay"},
                            {"--traces", traces, "/market/availability"},
                            {"--traces", traces, "/market/price"},
                            {"--traces", traces, "/market/generate"}};
    for (const scenarios::VariedKey& key : keys) {
        for (const Replaced& one : all) {
            const bool under = key.pointer == one.pointer ||
                               key.pointer.starts_with(fmt::format("{}/", one.pointer));
            if (!one.is_there || !under) continue;
            throw InputError(fmt::format("--vary {}", one_line(key.pointer)), "",
                             fmt::format("has no effect beside {}", one.option));
        }
    }
}

std::vector<scenarios::VariedKey> keys_of(const ReplayOptions& options) {
    std::vector<scenarios::VariedKey> keys;
    for (const std::string& argument : options.varied)
        keys.push_back(scenarios::parse_varied_key(argument));
    check_useful(options, keys);
    return keys;
}

std::vector<scenarios::Scenario> scenarios_of(const ReplayOptions& options,
                                              std::span<const scenarios::VariedKey> keys) {
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : options.settings) {
        overrides.push_back(parse_override(setting));
    }
    return scenarios::read_variants(options.scenario, overrides, keys);
}

// What runs in each of the scenarios, with the parameters that it has for its policies.
std::vector<scenarios::ExperimentCase> cases_of(const ReplayOptions& options,
                                                std::span<const scenarios::Scenario> scenarios) {
    std::vector<scenarios::ExperimentCase> cases;
    for (const scenarios::Scenario& scenario : scenarios) {
        scenarios::ExperimentCase& one = cases.emplace_back();
        one.scenario = &scenario;
        one.policies = options.policies.empty()
                           ? scenario.policies
                           : scenarios::parse_policies(options.policies, scenario, "--policies");
        one.seeds = options.seeds.empty() ? std::vector<std::uint64_t>{scenario.seed}
                                          : parse_seeds(options.seeds, "--seeds");
    }
    return cases;
}

template <class Value>
void add_if_new(std::vector<Value>& values, const Value& value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

analysis::ReplayInputs inputs_of(std::span<const scenarios::ExperimentCase> cases,
                                 std::vector<scenarios::VariedKey> keys,
                                 const scenarios::ExperimentSetup& setup) {
    analysis::ReplayInputs inputs;
    inputs.scenario = cases.front().scenario;
    inputs.varied = std::move(keys);
    inputs.traces = setup.traces;
    inputs.zones = setup.join_zones;
    inputs.seeds = cases.front().seeds;
    inputs.starts = setup.starts.text;
    for (const scenarios::ExperimentCase& one : cases) {
        for (const scenarios::PolicyList& list : one.policies)
            add_if_new(inputs.policies, list.label());
        // The same ones again, where they are not varied.
        if (one.seeds.size() == 1) add_if_new(inputs.seeds, one.seeds.front());
    }
    return inputs;
}

// Recorded traces are replayed from several beginnings unless told otherwise: one is an anecdote.
// A generated market begins anew with every seed.
scenarios::StartsChoice starts_of(const ReplayOptions& options,
                                  std::span<const scenarios::Scenario> scenarios) {
    if (!options.starts.empty()) return scenarios::parse_starts(options.starts, "--starts");
    bool recorded = !options.traces.empty();
    for (const scenarios::Scenario& scenario : scenarios) {
        for (const scenarios::ZoneSource& zone : scenario.market.zones) {
            recorded = recorded || !zone.availability.empty() || !zone.price.empty();
        }
    }
    return scenarios::parse_starts(recorded ? "apart" : "1", "--starts");
}

// The label of the policy that --baseline names.
std::string baseline_of(const ReplayOptions& options,
                        std::span<const scenarios::ExperimentCase> cases) {
    std::vector<std::string> labels;
    for (const scenarios::ExperimentCase& one : cases) {
        for (const scenarios::PolicyList& list : one.policies) labels.push_back(list.label());
    }
    return options.baseline.empty() ? "" : analysis::policy_called(options.baseline, labels);
}

void replay(const ReplayOptions& options) {
    const std::vector<scenarios::VariedKey> keys = keys_of(options);
    const std::vector<scenarios::Scenario> scenarios = scenarios_of(options, keys);
    const std::vector<scenarios::ExperimentCase> cases = cases_of(options, scenarios);
    scenarios::ExperimentSetup setup;
    if (!options.traces.empty()) setup.traces = expand_glob(options.traces, "--traces");
    if (options.zones && setup.traces.empty()) {
        throw InputError("--zones", "", "expected --traces beside it: the files of the zones");
    }
    setup.join_zones = options.zones;
    setup.judged = true;
    const plots::FigureOptions draw = figure_options(options.figures);
    setup.starts = starts_of(options, scenarios);
    setup.threads = options.threads > 0
                        ? options.threads
                        : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    analysis::ReplayInputs inputs = inputs_of(cases, keys, setup);
    inputs.baseline = baseline_of(options, cases);
    const bool files = !options.no_files && (!options.json || !options.out.empty());
    std::optional<analysis::OutputFolder> folder;
    if (files) {
        folder.emplace(options.out.empty() ? analysis::default_results_folder(inputs)
                                           : std::filesystem::path(options.out),
                       options.force);
        setup.details = details_of(options.details);
        setup.options = {true, true, options.log_observations, options.log_events};
    }
    auto progress = std::make_shared<ProgressLine>();
    setup.progress = [progress](std::size_t done, std::size_t total) { (*progress)(done, total); };

    const std::vector<scenarios::FinishedRun> runs = scenarios::run_experiment(cases, setup);
    std::vector<records::RunResult> results;
    for (const scenarios::FinishedRun& run : runs) results.push_back(run.result);
    inputs.warnings = analysis::warnings_about(results);
    analysis::warn(inputs.warnings, options.strict);
    plots::FigureResult figures;
    if (folder) figures = analysis::write_results(*folder, inputs, runs, draw);
    if (options.json) {
        fmt::print("{}", analysis::results_json(results, inputs.baseline, inputs.warnings));
    } else {
        fmt::print("{}{}", analysis::policy_table(results), analysis::phase_table(results));
        print_windows(setup, results);
        if (!inputs.baseline.empty()) {
            constexpr std::string_view cost[] = {"cost_usd"};
            fmt::print("{}",
                       analysis::pairs_table(analysis::pairs_with(results, inputs.baseline), cost));
        }
        print_polarity(*inputs.scenario, setup);
        print_zones(*inputs.scenario, setup);
        if (folder) print_written(folder->path(), figures);
    }
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_replay(CLI::App& app) {
    auto options = std::make_shared<ReplayOptions>();
    CLI::App* command =
        app.add_subcommand("replay", "replay recorded spot markets against policies");
    command->add_option("SCENARIO", options->scenario, "a scenario file")->required();
    command->add_option("--traces", options->traces,
                        "run once on each file that matches this pattern (availability or prices)");
    command->add_flag("--zones", options->zones,
                      "the files of --traces are zones (and their prices) of one market");
    command->add_option("--policies", options->policies,
                        "lists to compare: a,b+c runs [a] and [b, c] (default: the scenario's)");
    command->add_option("--set", options->settings, "change the scenario: /json/pointer=VALUE")
        ->allow_extra_args(false);
    command
        ->add_option("--vary", options->varied,
                     "compare variants: /json/pointer=VALUE,VALUE… (again: every combination)")
        ->allow_extra_args(false);
    command->add_option("--seeds", options->seeds, "1..10 or 1,2,7 (default: the scenario's)");
    command->add_option(
        "--starts", options->starts,
        "begin in each trace at: 40 moments, every=6h, at=0h,12h, or apart: windows "
        "that do not overlap (default where recorded; 1: its beginning)");
    command->add_option("--baseline", options->baseline,
                        "compare each policy with this one, pair by pair");
    command->add_option("-j,--threads", options->threads, "runs at a time (default: all cores)")
        ->check(CLI::Range(1, 1024));
    command->add_flag("--json", options->json, "print the runs as JSON instead of the table");
    command->add_option("--out", options->out,
                        "folder for results and figures (default: results/<scenario>-<hash>)");
    command->add_flag("--force", options->force, "replace results that are there already");
    add_figure_options(*command, options->figures);
    command->add_flag("--strict", options->strict, "a warning is an error: no results, exit 2");
    command->add_flag("--no-files", options->no_files, "print only; write no results, no figures");
    command
        ->add_option("--details", options->details,
                     "timeline and decisions of: none, first (one run a policy), all runs")
        ->check(CLI::IsMember({"none", "first", "all"}));
    command->add_flag("--log-observations", options->log_observations,
                      "decisions.jsonl holds every question, as replay-log needs");
    command->add_flag("--log-events", options->log_events, "also write events.jsonl");
    command->callback([options] { replay(*options); });
}

}  // namespace ukemi::cli
