// schedule.cpp — `ukemi schedule`: jobs that share a cluster, under one scheduler after another.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/requests/cluster_runs.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/schedule_results.hpp"
#include "cli/command.hpp"
#include "cli/run_options.hpp"

namespace ukemi::cli {

namespace {

struct ScheduleOptions : analysis::ClusterRequest {
    OutputOptions output;
};

void schedule(const ScheduleOptions& options) {
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    const analysis::StepDocument document = analysis::cluster_document(options, "schedule");
    expect_folder(output);
    const std::vector<scenarios::ScheduleScenario> variants =
        analysis::schedules_of(options, document);
    std::optional<analysis::OutputFolder> folder;
    if (!output.out.empty()) folder.emplace(output.out, output.force);
    CsvFile csv(output);
    const std::vector<analysis::ScheduledRun> runs =
        analysis::run_schedules(variants, folder.has_value());
    analysis::warn(analysis::doubts_about(runs), false);
    const scenarios::ScheduleScenario& first = variants.front();
    plots::FigureResult figures;
    if (folder) figures = analysis::write_schedules(*folder, document, first, runs, draw);
    fmt::print("{}", output.json ? analysis::schedules_json(first, runs, document.baseline)
                                 : analysis::schedules_table(first, runs, document.baseline));
    if (csv.is_wanted()) csv.write(analysis::scheduled_jobs_csv(runs));
    if (folder) say_results(output, folder->path(), figures);
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_schedule(CLI::App& app) {
    auto options = std::make_shared<ScheduleOptions>();
    CLI::App* command =
        app.add_subcommand("schedule", "jobs that share a cluster, under one scheduler or several");
    command
        ->add_option("SCENARIO", options->scenario,
                     "a scenario with sections cluster, jobs and schedulers, or a folder of "
                     "results (or its run.json): runs them again")
        ->required();
    add_schedulers_option(*command, options->schedulers);
    add_cluster_options(*command, *options, "scheduler");
    add_output_options(*command, options->output,
                       {"print JSON instead of the table", "write a row a job to this file",
                        "folder for results: schedule.csv, jobs.csv, spans.csv, run.json, "
                        "figures"});
    command->callback([options] { schedule(*options); });
}

}  // namespace ukemi::cli
