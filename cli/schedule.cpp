// schedule.cpp — `ukemi schedule`: jobs that share a cluster, under one scheduler after another.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/requests/cluster_runs.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/schedule_results.hpp"
#include "analysis/schedule_tables.hpp"
#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "cli/schedule_live.hpp"

namespace ukemi::cli {

namespace {

struct ScheduleOptions : analysis::ClusterRequest {
    OutputOptions output;
    LiveScheduleOptions live;
};

// A live run is of one, read anew for each use: its schedulers are each for one run.
scenarios::ScheduleScenario the_variant(const ScheduleOptions& options,
                                        const analysis::StepDocument& document) {
    analysis::ClusterRequest asked = options;
    if (options.live.time_scale) {
        asked.variation.settings.push_back(fmt::format("/time_scale={}", *options.live.time_scale));
    }
    std::vector<scenarios::ScheduleScenario> all = analysis::schedules_of(asked, document);
    if (all.size() == 1) return std::move(all.front());
    throw InputError(
        "--live", "",
        fmt::format("runs one variant: expected no --vary and one seed, found {} variants",
                    all.size()));
}

void schedule(ScheduleOptions options) {
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    options.live_run = options.live.live;
    analysis::StepDocument document = analysis::cluster_document(options, "schedule");
    options.live.expect_live();
    options.live.settle(document);
    if (options.live.live) {
        const auto read = [&] { return the_variant(options, document); };
        return schedule_live(read, document, options.live, output, draw);
    }
    expect_folder(output);
    const std::vector<scenarios::ScheduleScenario> variants =
        analysis::schedules_of(options, document);
    std::optional<analysis::OutputFolder> folder;
    if (!output.out.empty()) folder.emplace(output.out, output.force);
    CsvFile csv(output);
    using Tables = analysis::ScheduleTables;
    std::optional<Tables> tables;
    if (folder) {
        tables.emplace(variants, folder->around(), Tables::Which::jobs_and_spans);
    } else if (csv.is_wanted()) {
        tables.emplace(variants, csv.around(), Tables::Which::jobs);
    }
    const std::vector<analysis::ScheduledRun> runs =
        analysis::run_summed_schedules(variants, tables ? &*tables : nullptr);
    analysis::warn(analysis::doubts_about(runs), false);
    const scenarios::ScheduleScenario& first = variants.front();
    plots::FigureResult figures;
    if (folder) {
        figures = analysis::write_schedules(*folder, document, first, runs,
                                            {tables->jobs_csv(), tables->spans_csv()}, draw);
    }
    fmt::print("{}", output.json ? analysis::schedules_json(first, runs, document.baseline)
                                 : analysis::schedules_table(first, runs, document.baseline));
    if (csv.is_wanted()) csv.write(tables->jobs_csv());
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
    options->live.add_to(*command);
    add_output_options(*command, options->output,
                       {"print JSON instead of the table", "write a row a job to this file",
                        "folder for results: schedule.csv, jobs.csv, spans.csv, run.json, "
                        "figures"});
    command->callback([options] { schedule(*options); });
}

}  // namespace ukemi::cli
