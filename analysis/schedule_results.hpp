// schedule_results.hpp — what `ukemi schedule` leaves behind: a summary of each scheduler, and what
// became of each job.
//
// RESULTS/: run.json (how to repeat it: `ukemi schedule RESULTS/run.json`), schedule.csv (a row a
// scheduler, variant and seed), schedule.json (the same, means over the seeds, and pairs), jobs.csv
// (a row a job), users.csv (a row a user, where jobs say whose they are), spans.csv (who held which
// GPUs when) and figures/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/output_folder.hpp"
#include "analysis/scenario_folder.hpp"
#include "analysis/scheduled_runs.hpp"
#include "analysis/simulated_steps.hpp"

namespace ukemi::analysis {

// Means over the seeds, and pairs with a scheduler, unless that is empty.
GroupedRuns schedule_means(std::span<const ScheduledRun> runs, const std::string& baseline);

std::string schedules_table(const scenarios::ScheduleScenario& first,
                            std::span<const ScheduledRun> runs, const std::string& baseline);
std::string schedules_csv(std::span<const ScheduledRun> runs);
std::string scheduled_jobs_csv(std::span<const ScheduledRun> runs);  // that keep their jobs
std::string schedules_json(const scenarios::ScheduleScenario& first,
                           std::span<const ScheduledRun> runs, const std::string& baseline);

// A row a decision, where they were kept: who ended and came, and who has how many GPUs then.
std::string decisions_csv(const ScheduledRun& run);

// Of runs that keep their jobs and spans.
plots::FigureResult write_schedules(OutputFolder& folder, const StepDocument& document,
                                    const scenarios::ScheduleScenario& first,
                                    std::span<const ScheduledRun> runs,
                                    const plots::FigureOptions& options, MoreFiles more = {});
// Of others, whose rows were written while they went.
struct ScheduleFiles {
    FileText jobs;
    FileText spans;
};
plots::FigureResult write_schedules(OutputFolder& folder, const StepDocument& document,
                                    const scenarios::ScheduleScenario& first,
                                    std::span<const ScheduledRun> runs, ScheduleFiles tables,
                                    const plots::FigureOptions& options, MoreFiles more = {});

// Whether a results folder is of a shared cluster; what `ukemi plot` draws of it.
bool is_scheduled(const std::filesystem::path& folder);
plots::FigureInput read_scheduled(const std::filesystem::path& folder);

}  // namespace ukemi::analysis
