// tune.cpp — `ukemi tune`: the best setting of a policy, and what it is worth where it was not
// chosen.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/result_doubts.hpp"
#include "analysis/tuning/tuning_request.hpp"
#include "cli/command.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_options.hpp"

namespace ukemi::cli {

namespace {

struct TuneOptions : analysis::TuningRequest {
    std::filesystem::path scenario;  // the only one
    OutputOptions output;
};

void tune(TuneOptions& options) {
    options.scenarios = {options.scenario};
    const OutputOptions& output = options.output;
    expect_folder(output);
    const plots::FigureOptions draw = figure_options(output.figures);
    analysis::PreparedRuns runs = analysis::prepare_runs(options, true);
    CsvFile csv(output);
    std::optional<analysis::OutputFolder> folder;
    if (!output.out.empty()) folder.emplace(output.out, output.force);
    auto progress = std::make_shared<ProgressLine>();
    runs.setup.progress = [progress](std::size_t done, std::size_t total) {
        (*progress)(done, total);
    };
    const analysis::Tuning tuning = analysis::run_tuning(options, runs);
    analysis::warn(tuning.warnings, false);
    plots::FigureResult drawn;
    if (folder) {
        folder->write("tune.csv", analysis::tuning_csv(tuning));
        folder->write("tune.json", analysis::tuning_json(tuning));
        drawn = analysis::draw_tuning(tuning, folder->staging(), draw);
        folder->commit();
        drawn = folder->settled(drawn);
    }
    if (output.json) {
        fmt::print("{}", analysis::tuning_json(tuning));
    } else {
        fmt::print("{}", analysis::tuning_table(tuning));
    }
    if (csv.is_wanted()) csv.write(analysis::tuning_csv(tuning));
    if (folder) say_results(output, folder->path(), drawn);
    if (!analysis::say_figures(drawn)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_tune(CLI::App& app) {
    auto options = std::make_shared<TuneOptions>();
    CLI::App* command = app.add_subcommand(
        "tune", "search a policy's parameters on some markets, judge them on others");
    command->add_option("SCENARIO", options->scenario, "a scenario file")->required();
    command
        ->add_option("--policy", options->policies,
                     "the list of policies that is tuned: periodic, or greedy+periodic")
        ->required();
    command
        ->add_option("--over", options->over,
                     "PARAMETER=LOW..HIGH, LOW..HIGH:log or VALUE,VALUE… (again: several; "
                     "POLICY.PARAMETER where two have one of that name)")
        ->required()
        ->allow_extra_args(false);
    add_trace_options(*command, *options);
    command->add_option("--held-out", options->held_out,
                        "files of markets that have no part in the search (default: every third "
                        "of --traces; of fewer, the last third of their windows; of a generated "
                        "market, other seeds)");
    command
        ->add_option("--tries", options->tries,
                     "settings to begin with (default: 27, of several parameters 81)")
        ->check(CLI::Range(2, 10'000));
    command->add_option("--goal", options->goal, "what is to be small (default: cost_usd)")
        ->check(CLI::IsMember({"cost_usd", "hours"}));
    add_setting_option(*command, options->variation);
    add_repetition_options(*command, *options, "apart where recorded");
    add_output_options(
        *command, options->output,
        {"print JSON instead of the table", "write every setting that was tried to this file, too",
         "folder for tune.csv, tune.json and the figure of both kinds of markets"});
    command->remove_option(command->get_option("--only"));  // there is one
    command->callback([options] { tune(*options); });
}

}  // namespace ukemi::cli
