// schedule.cpp — `ukemi schedule`: jobs that share a cluster, under one scheduler after another.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/schedule_results.hpp"
#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "cli/schedule_live.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::cli {

namespace {

struct ScheduleOptions {
    std::string scenario;
    std::string schedulers;
    analysis::VariationRequest variation;
    OutputOptions output;
    LiveScheduleOptions live;
};

std::vector<scenarios::ScheduleScenario> variants_of(const ScheduleOptions& options,
                                                     analysis::StepDocument& document) {
    std::vector<ConfigOverride> overrides;
    if (!options.schedulers.empty()) {
        overrides.push_back(analysis::chosen_schedulers(options.schedulers, document));
    }
    for (const std::string& setting : options.variation.settings) {
        overrides.push_back(parse_override(setting));
    }
    if (options.live.time_scale) {
        overrides.push_back(
            {"/time_scale", fmt::format("{}", *options.live.time_scale), "--time-scale"});
    }
    if (!options.variation.varied.empty()) document.varied.clear();
    for (const std::string& argument : options.variation.varied) {
        document.varied.push_back(scenarios::parse_varied_key(argument));
    }
    std::vector<scenarios::ScheduleScenario> all;
    scenarios::for_each_variant(overrides, document.varied, [&](auto set, auto varied) {
        all.push_back(scenarios::schedule_scenario_from_text(document.text, document.file, set));
        all.back().varied.assign(varied.begin(), varied.end());
    });
    return all;
}

// A live run is of one.
scenarios::ScheduleScenario the_variant(const ScheduleOptions& options,
                                        analysis::StepDocument& document) {
    std::vector<scenarios::ScheduleScenario> all = variants_of(options, document);
    if (all.size() == 1) return std::move(all.front());
    throw InputError(
        "--live", "",
        fmt::format("runs one variant: expected no --vary, found {} variants", all.size()));
}

void schedule(const ScheduleOptions& options) {
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    analysis::StepDocument document = analysis::read_step_document(options.scenario, "schedule");
    options.live.expect_live();
    if (options.live.live) {
        const auto read = [&] { return the_variant(options, document); };
        return schedule_live(read, document, options.live, output, draw);
    }
    expect_folder(output);
    std::vector<scenarios::ScheduleScenario> variants = variants_of(options, document);
    std::optional<analysis::OutputFolder> folder;
    if (!output.out.empty()) folder.emplace(output.out, output.force);
    CsvFile csv(output);
    const std::vector<analysis::ScheduledRun> runs =
        analysis::run_schedules(variants, folder.has_value());
    const scenarios::ScheduleScenario& first = variants.front();
    plots::FigureResult figures;
    if (folder) figures = analysis::write_schedules(*folder, document, first, runs, draw);
    fmt::print("{}", output.json ? analysis::schedules_json(first, runs)
                                 : analysis::schedules_table(first, runs));
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
    command->add_option("--schedulers", options->schedulers,
                        "these instead of the scenario's: names with commas (ukemi list "
                        "schedulers); parameters are the scenario's, or defaults");
    add_variation_options(*command, options->variation);
    options->live.add_to(*command);
    add_output_options(*command, options->output,
                       {"print JSON instead of the table", "write a row a job to this file",
                        "folder for results: schedule.csv, jobs.csv, spans.csv, run.json, "
                        "figures"});
    command->callback([options] { schedule(*options); });
}

}  // namespace ukemi::cli
