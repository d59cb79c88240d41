// compare.cpp — `ukemi compare`: what each policy and each setting takes to reach the target.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/comparison.hpp"
#include "analysis/learning_lines.hpp"
#include "analysis/pairs.hpp"
#include "analysis/phase_means.hpp"
#include "analysis/results.hpp"
#include "analysis/table.hpp"
#include "analysis/variation_figures.hpp"
#include "cli/command.hpp"
#include "cli/experiment_setup.hpp"
#include "records/run_json.hpp"

namespace ukemi::cli {

namespace {

struct Compared {
    std::vector<records::RunResult> results;
    std::vector<analysis::Candidate> candidates;
    std::vector<analysis::PolicyPair> pairs;
};

plots::FigureResult write_files(analysis::OutputFolder& folder, const PreparedRuns& runs,
                                const Compared& compared, const plots::FigureOptions& options) {
    folder.write("run.json", analysis::run_json(runs.inputs));
    folder.write("summary.csv", records::runs_csv(compared.results));
    folder.write("compare.csv", analysis::comparison_csv(compared.candidates, compared.pairs));
    folder.write("compare.json", analysis::comparison_json(compared.candidates, compared.pairs,
                                                           runs.inputs.warnings));
    plots::FigureInput input;
    input.learning = analysis::learning_runs(compared.results);
    input.transitions = analysis::transition_rows(analysis::phase_means(compared.results));
    input.variations = analysis::variations_of(compared.results);
    const plots::FigureResult figures = plots::draw_all(input, folder.staging(), options);
    folder.commit();
    return folder.settled(figures);
}

void print_tables(const PreparedRuns& runs, const Compared& compared) {
    constexpr std::string_view quantities[] = {"hours", "cost_usd"};
    fmt::print("{}{}{}{}{}",
               analysis::comparison_table(compared.candidates,
                                          terminal_columns().value_or(analysis::table_width_least)),
               analysis::pairs_table(compared.pairs, quantities),
               analysis::phase_table(compared.results), analysis::pipeline_table(compared.results),
               analysis::how_sure(runs.scenarios));
    print_notes(runs, compared.results);
}

void compare(const ExperimentOptions& options) {
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    expect_folder(output);
    PreparedRuns runs = prepare_runs(options, false);
    CsvFile csv(output);
    std::optional<analysis::OutputFolder> folder;
    if (!output.out.empty()) {
        folder.emplace(output.out, output.force);
        runs.setup.details = scenarios::Details::all;
        runs.setup.options.timeline = true;
    }
    Compared compared;
    for (scenarios::FinishedRun& run : run_prepared(runs, options.strict))
        compared.results.push_back(std::move(run.result));
    compared.candidates = analysis::candidates_of(compared.results);
    if (!runs.inputs.baseline.empty()) {
        compared.pairs = analysis::pairs_with(compared.results, runs.inputs.baseline);
    }
    plots::FigureResult figures;
    if (folder) figures = write_files(*folder, runs, compared, draw);
    if (output.json) {
        fmt::print("{}", analysis::comparison_json(compared.candidates, compared.pairs,
                                                   runs.inputs.warnings));
    } else {
        print_tables(runs, compared);
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
