// compare.cpp — `ukemi compare`: what each policy and each setting takes to reach the target.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/compared_runs.hpp"
#include "analysis/learning_lines.hpp"
#include "analysis/phase_means.hpp"
#include "analysis/table.hpp"
#include "cli/command.hpp"
#include "cli/experiment_setup.hpp"
#include "cli/run_options.hpp"

namespace ukemi::cli {

namespace {

void print_tables(const analysis::PreparedRuns& runs, std::span<const records::RunResult> results,
                  const analysis::ComparedRuns& compared) {
    constexpr std::string_view quantities[] = {"hours", "cost_usd"};
    fmt::print("{}{}{}{}{}",
               analysis::comparison_table(compared.candidates,
                                          terminal_columns().value_or(analysis::table_width_least)),
               analysis::pairs_table(compared.pairs, quantities), analysis::phase_table(results),
               analysis::pipeline_table(results), analysis::how_sure(runs.scenarios));
    print_notes(runs, results);
}

void compare(const ExperimentOptions& options) {
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    expect_folder(output);
    analysis::PreparedRuns runs = analysis::prepare_runs(options, false);
    CsvFile csv(output);
    std::optional<analysis::OutputFolder> folder;
    if (!output.out.empty()) {
        folder.emplace(output.out, output.force);
        runs.setup.details = scenarios::Details::all;
        runs.setup.options.timeline = true;
    }
    std::vector<records::RunResult> results;
    for (scenarios::FinishedRun& run : run_prepared(runs, options.strict))
        results.push_back(std::move(run.result));
    const analysis::ComparedRuns compared = analysis::compare_runs(results, runs.inputs.baseline);
    plots::FigureResult figures;
    if (folder) {
        figures = analysis::write_compared(*folder, runs.inputs, results, compared, draw);
    }
    if (output.json) {
        fmt::print("{}", analysis::comparison_json(compared.candidates, compared.pairs,
                                                   runs.inputs.warnings));
    } else {
        print_tables(runs, results, compared);
    }
    if (csv.is_wanted()) csv.write(analysis::comparison_csv(compared.candidates, compared.pairs));
    if (folder) say_results(output, folder->path(), figures);
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_compare(CLI::App& app) {
    auto options = std::make_shared<ExperimentOptions>();
    CLI::App* command = app.add_subcommand(
        "compare", "time, samples, steps and dollars to the target, by policy and setting");
    command
        ->add_option("SCENARIO", options->scenarios,
                     "a scenario file, or several: workloads and clusters side by side; or a "
                     "folder of results (or its run.json): runs them again")
        ->required();
    add_experiment_options(*command, *options, "1: its beginning");
    add_judgement_options(*command, *options);
    add_output_options(*command, options->output,
                       {"print JSON instead of the table", "write the table to this file, too",
                        "folder for run.json, compare.csv, compare.json, summary.csv and figures"});
    command->callback([options] { compare(*options); });
}

}  // namespace ukemi::cli
