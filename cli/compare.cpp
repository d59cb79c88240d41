// compare.cpp — `ukemi compare`: what each policy and each setting takes to reach the target.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "analysis/comparison.hpp"
#include "analysis/learning_lines.hpp"
#include "analysis/pairs.hpp"
#include "analysis/phase_means.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/results.hpp"
#include "analysis/table.hpp"
#include "analysis/variation_figures.hpp"
#include "base/input_error.hpp"
#include "cli/command.hpp"
#include "cli/figure_options.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::cli {

namespace {

struct CompareOptions {
    std::vector<std::filesystem::path> scenarios;
    std::vector<std::string> settings;
    std::vector<std::string> varied;
    std::string seeds;
    std::string starts = "1";
    std::string baseline;
    int threads = 0;
    bool json = false;
    bool csv = false;
    std::string out;
    FigureFlags figures;
    bool force = false;
    bool strict = false;
};

constexpr std::string_view policy_key = "policy=";

// "--vary policy=a,b+c:8": the lists; empty if the scenario's own are meant.
std::string policies_of(const CompareOptions& options) {
    std::string lists;
    for (const std::string& argument : options.varied) {
        if (!argument.starts_with(policy_key)) continue;
        if (!lists.empty()) throw InputError("--vary policy", "", "stands there twice");
        lists = argument.substr(policy_key.size());
        if (lists.empty()) throw InputError("--vary policy", "", "expected a policy, found none");
    }
    return lists;
}

std::vector<scenarios::Scenario> scenarios_of(const CompareOptions& options,
                                              const std::string& policies) {
    std::vector<scenarios::VariedKey> keys;
    for (const std::string& argument : options.varied) {
        if (argument.starts_with(policy_key)) continue;
        keys.push_back(scenarios::parse_varied_key(argument));
        const std::string& pointer = keys.back().pointer;
        const auto replaced = [&](std::string_view by_option, std::string_view key) {
            if (pointer != key && !pointer.starts_with(fmt::format("{}/", key))) return;
            throw InputError(fmt::format("--vary {}", pointer), "",
                             fmt::format("has no effect beside {}", by_option));
        };
        if (!options.seeds.empty()) replaced("--seeds", "/seed");
        if (!policies.empty()) replaced("--vary policy", "/replay");
        if (!policies.empty()) replaced("--vary policy", "/policies");
    }
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : options.settings) {
        overrides.push_back(parse_override(setting));
    }
    std::vector<scenarios::Scenario> all;
    for (const std::filesystem::path& file : options.scenarios) {
        if (std::ranges::count(options.scenarios, file) > 1) {
            throw InputError(file.string(), "", "named twice: its runs would count as others");
        }
        for (scenarios::Scenario& one : scenarios::read_variants(file, overrides, keys))
            all.push_back(std::move(one));
    }
    return all;
}

plots::FigureResult write_files(analysis::OutputFolder& folder,
                                std::span<const analysis::Candidate> candidates,
                                std::span<const analysis::PolicyPair> pairs,
                                std::span<const records::RunResult> results,
                                const plots::FigureOptions& options,
                                std::span<const std::string> warnings) {
    folder.write("compare.csv", analysis::comparison_csv(candidates, pairs));
    folder.write("compare.json", analysis::comparison_json(candidates, pairs, warnings));
    plots::FigureInput input;
    input.learning = analysis::learning_runs(results);
    input.transitions = analysis::transition_rows(analysis::phase_means(results));
    input.variations = analysis::variations_of(results);
    const plots::FigureResult figures = plots::draw_all(input, folder.staging(), options);
    folder.commit();
    return folder.settled(figures);
}

void compare(const CompareOptions& options) {
    const std::string policies = policies_of(options);
    const std::vector<scenarios::Scenario> scenarios = scenarios_of(options, policies);
    std::vector<scenarios::ExperimentCase> cases;
    for (const scenarios::Scenario& scenario : scenarios) {
        scenarios::ExperimentCase& one = cases.emplace_back();
        one.scenario = &scenario;
        one.policies = policies.empty()
                           ? scenario.policies
                           : scenarios::parse_policies(policies, scenario, "--vary policy");
        one.seeds = options.seeds.empty() ? std::vector<std::uint64_t>{scenario.seed}
                                          : parse_seeds(options.seeds, "--seeds");
    }
    scenarios::ExperimentSetup setup;
    setup.judged = true;
    setup.threads = options.threads > 0
                        ? options.threads
                        : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    setup.starts = scenarios::parse_starts(options.starts, "--starts");
    std::vector<std::string> labels;
    for (const scenarios::ExperimentCase& one : cases) {
        for (const scenarios::PolicyList& list : one.policies) labels.push_back(list.label());
    }
    const std::string baseline =
        options.baseline.empty() ? "" : analysis::policy_called(options.baseline, labels);
    std::optional<analysis::OutputFolder> folder;
    if (!options.out.empty()) {
        folder.emplace(options.out, options.force);
        setup.details = scenarios::Details::all;
        setup.options.timeline = true;
    }
    std::vector<records::RunResult> results;
    for (scenarios::FinishedRun& run : scenarios::run_experiment(cases, setup))
        results.push_back(std::move(run.result));
    const std::vector<std::string> warnings = analysis::warnings_about(results);
    analysis::warn(warnings, options.strict);
    const std::vector<analysis::Candidate> candidates = analysis::candidates_of(results);
    std::vector<analysis::PolicyPair> pairs;
    if (!baseline.empty()) pairs = analysis::pairs_with(results, baseline);
    plots::FigureResult figures;
    if (folder)
        figures = write_files(*folder, candidates, pairs, results, figure_options(options.figures),
                              warnings);
    if (options.json) {
        fmt::print("{}", analysis::comparison_json(candidates, pairs, warnings));
    } else if (options.csv) {
        fmt::print("{}", analysis::comparison_csv(candidates, pairs));
    } else {
        constexpr std::string_view compared[] = {"hours", "cost_usd"};
        fmt::print("{}{}{}{}", analysis::comparison_table(candidates),
                   analysis::pairs_table(pairs, compared), analysis::phase_table(results),
                   analysis::how_sure(scenarios));
    }
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_compare(CLI::App& app) {
    auto options = std::make_shared<CompareOptions>();
    CLI::App* command = app.add_subcommand(
        "compare", "time, samples, steps and dollars to the target, by policy and setting");
    command
        ->add_option("SCENARIO", options->scenarios,
                     "a scenario file, or several: workloads and clusters side by side")
        ->required();
    command
        ->add_option("--vary", options->varied,
                     "/json/pointer=VALUE,VALUE… or policy=LIST,LIST… (again: every combination)")
        ->allow_extra_args(false);
    command->add_option("--set", options->settings, "change the scenario: /json/pointer=VALUE")
        ->allow_extra_args(false);
    command->add_option("--seeds", options->seeds, "1..10 or 1,2,7 (default: the scenario's)");
    command->add_option(
        "--starts", options->starts,
        "begin in each trace at: 40 moments, every=6h, at=0h,12h, or apart: windows "
        "that do not overlap (default: 1, its beginning)");
    command->add_option("--baseline", options->baseline,
                        "compare each policy with this one, pair by pair");
    command->add_option("-j,--threads", options->threads, "runs at a time (default: all cores)")
        ->check(CLI::Range(1, 1024));
    auto* json = command->add_flag("--json", options->json, "print JSON instead of the table");
    command->add_flag("--csv", options->csv, "print CSV instead of the table")->excludes(json);
    command->add_option("--out", options->out,
                        "also write compare.csv, compare.json and figures into this folder");
    command->add_flag("--strict", options->strict, "a warning is an error: no results, exit 2");
    command->add_flag("--force", options->force, "replace results that are there already");
    add_figure_options(*command, options->figures);
    command->callback([options] { compare(*options); });
}

}  // namespace ukemi::cli
