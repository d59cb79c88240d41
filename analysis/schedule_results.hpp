// schedule_results.hpp — what `ukemi schedule` leaves behind: a summary of each scheduler, and what
// became of each job.
//
// RESULTS/: run.json (how to repeat it: `ukemi schedule RESULTS/run.json`), schedule.csv (a row a
// scheduler and variant), schedule.json (the same), jobs.csv (a row a job), spans.csv (who held
// which GPUs when) and figures/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/output_folder.hpp"
#include "analysis/scenario_folder.hpp"
#include "analysis/simulated_steps.hpp"
#include "base/statistics.hpp"
#include "records/ledger.hpp"
#include "scenarios/reader/schedule_scenario.hpp"

namespace ukemi::analysis {

struct ScheduledJob {
    const sim::SharingJob* job = nullptr;
    sim::JobOutcome outcome;
    Duration completion_time;  // from its arrival to its end
    std::int64_t restarts = 0;
    // Completion time over what it would be on an equal part of the cluster: time alone ×
    // max(1, GPUs asked for × jobs / GPUs of the cluster). Nothing where the time alone is unknown.
    std::optional<double> finish_time_ratio;
    std::optional<bool> in_time;  // where it has a deadline
};

// What a scheduler made of a workload.
struct ScheduledRun {
    std::vector<records::VariedValue> varied;
    std::string scheduler;
    const sim::SharedCluster* cluster = nullptr;
    std::vector<ScheduledJob> jobs;
    sim::ScheduleOutcome outcome;
    Summary completion_s;  // of jobs that were not refused
    double completion_s_p99 = 0;
    double restarts_per_job = 0;
    double gpu_use = 0;  // held GPU time over that of the cluster, from first arrival to last end
    std::optional<double> finish_time_ratio_mean;
    std::optional<double> finish_time_ratio_max;
    // Of finish-time ratios, (Σx)² / (n Σx²): 1 if sharing delayed all alike (Jain et al., 1984).
    std::optional<double> jain_fairness;
    std::int64_t refused = 0;
    std::int64_t stuck = 0;    // waiting for machines that never come
    sim::GpuTimes gpu_time{};  // of all jobs, by cause
    double gpu_hours(records::Cause cause) const {
        return static_cast<double>(gpu_time[static_cast<std::size_t>(cause)]) / 3.6e12;
    }
    std::int64_t late = 0;
};

// Each variant under each of its schedulers, in that order. Runs point into the scenarios. Spans
// are many where shares change at every event.
std::vector<ScheduledRun> run_schedules(std::span<const scenarios::ScheduleScenario> variants,
                                        bool keeps_spans = true);

// Of a schedule that was run elsewhere: sums, and what became of each job.
ScheduledRun scheduled_run(const scenarios::ScheduleScenario& scenario, std::string_view scheduler,
                           sim::ScheduleOutcome outcome);

std::string schedules_table(const scenarios::ScheduleScenario& first,
                            std::span<const ScheduledRun> runs);
std::string schedules_csv(std::span<const ScheduledRun> runs);
std::string scheduled_jobs_csv(std::span<const ScheduledRun> runs);
std::string schedules_json(const scenarios::ScheduleScenario& first,
                           std::span<const ScheduledRun> runs);

// A row a decision, where they were kept: who ended and came, and who has how many GPUs then.
std::string decisions_csv(const ScheduledRun& run);

plots::FigureResult write_schedules(OutputFolder& folder, const StepDocument& document,
                                    const scenarios::ScheduleScenario& first,
                                    std::span<const ScheduledRun> runs,
                                    const plots::FigureOptions& options, MoreFiles more = {});

// Whether a results folder is of a shared cluster; what `ukemi plot` draws of it.
bool is_scheduled(const std::filesystem::path& folder);
plots::FigureInput read_scheduled(const std::filesystem::path& folder);

// The document's schedulers are replaced by these names, "a,b". One that the document has keeps its
// parameters.
ConfigOverride chosen_schedulers(const std::string& names, const StepDocument& document);

}  // namespace ukemi::analysis
