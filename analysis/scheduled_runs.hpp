// scheduled_runs.hpp — schedulers run on workloads, and what came out, summed up.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/seeded_runs.hpp"
#include "base/statistics.hpp"
#include "records/ledger.hpp"
#include "scenarios/reader/schedule_scenario.hpp"

namespace ukemi::analysis {

// Points to what it is of.
struct ScheduledJob {
    const sim::SharingJob* job = nullptr;
    const sim::JobOutcome* outcome = nullptr;
    Duration completion_time;  // from its arrival to its end
    std::int64_t restarts = 0;
    // Completion time over what it would be on an equal part of the cluster: time alone ×
    // max(1, GPUs asked for × jobs / GPUs of the cluster). Nothing where the time alone is unknown.
    std::optional<double> finish_time_ratio;
    std::optional<bool> in_time;  // where it has a deadline
};

// Of one user's jobs in a run.
struct UserSums {
    std::string name;
    std::int64_t jobs = 0;
    std::int64_t complete = 0;
    std::int64_t late = 0;
    std::int64_t refused = 0;
    std::int64_t out_of_budget = 0;
    double completion_s_sum = 0;
    double finish_time_ratio_sum = 0;
    std::int64_t ratios = 0;  // jobs of which that is known
    double gpu_s = 0;
    Dollars cost;
};

// What a job with a Controller leaves.
struct ControlledLeft {
    std::size_t job = 0;  // by number
    std::string name;
    std::shared_ptr<const sim::ControlledOutcome> outcome;
};

// A job that lost machines or has policies of its own.
struct JobLoss {
    std::string job;
    std::int64_t losses = 0;
    std::array<double, 5> gpu_h{};  // useful, redone, change, saving, idle
    Dollars cost;
    std::string policies;
};
// The first of them, and of how many.
struct JobLosses {
    static constexpr std::size_t most = 40;
    std::vector<JobLoss> first;
    std::size_t count = 0;
};

// What a scheduler made of a workload. It may be moved, not copied: its jobs point into it.
struct ScheduledRun {
    ScheduledRun() = default;
    ScheduledRun(ScheduledRun&&) = default;
    ScheduledRun& operator=(ScheduledRun&&) = default;

    std::vector<records::VariedValue> varied;
    std::string scheduler;
    std::uint64_t seed = 0;
    const sim::SharedCluster* cluster = nullptr;
    std::size_t job_count = 0;
    std::vector<ScheduledJob> jobs;      // if they are kept
    std::vector<sim::SharingJob> asked;  // the same: what they asked for
    sim::ScheduleOutcome outcome;        // with jobs and spans, if they are kept
    std::vector<ControlledLeft> controlled;
    JobLosses losses;
    Summary completion_s;  // of jobs that were not refused
    double completion_s_p99 = 0;
    double restarts_per_job = 0;
    double gpu_use = 0;  // held GPU time over that of the cluster, from first arrival to last end
    std::optional<double> finish_time_ratio_mean;
    std::optional<double> finish_time_ratio_max;
    // Of finish-time ratios, (Σx)² / (n Σx²): 1 if sharing delayed all alike (Jain et al., 1984).
    std::optional<double> jain_fairness;
    std::vector<UserSums> users;  // in the order of their first jobs; none where no job has one
    // The same of users, each with the mean of his jobs; nothing if of one none is complete.
    std::optional<double> user_jain_fairness;
    std::int64_t refused = 0;
    std::int64_t stuck = 0;          // whose machines never come, or that get nowhere
    std::int64_t out_of_budget = 0;  // stopped
    sim::GpuTimes gpu_time{};        // of all jobs, by cause
    double gpu_hours(records::Cause cause) const {
        return static_cast<double>(gpu_time[static_cast<std::size_t>(cause)]) / 3.6e12;
    }
    std::int64_t late = 0;
    bool has_deadlines = false;
    bool says_priorities = false;  // some job has another than 1
    std::string outcome_hash;      // of what became of every job, and of the fleet's bill

    const std::string& decided_by() const { return scheduler; }
    bool finished() const { return stuck == 0; }
    std::optional<bool> deadline_met() const {
        return has_deadlines ? std::optional(late + refused + stuck + out_of_budget == 0)
                             : std::nullopt;
    }
};

// A ratio as tables show it: three digits, and whole from 1,000 on.
std::string ratio_text(double ratio);

// What a run reports: the columns of schedule.csv and the keys of schedule.json.
std::span<const SummaryColumn<ScheduledRun>> schedule_columns();

class ScheduleRows;
class ScheduleTables;
class TimesAlone;

// The schedulers of one scenario, each for one run.
class SchedulerRuns {
public:
    explicit SchedulerRuns(const scenarios::ScheduleScenario& scenario);
    ~SchedulerRuns();
    std::size_t count() const { return scenario_.schedulers.size(); }
    // What became of each job is kept, and spans, which are many where shares change at every
    // event.
    ScheduledRun run(std::size_t scheduler);
    // It is not: sums alone, and rows as it goes if somebody wants them.
    ScheduledRun run_summed(std::size_t scheduler, ScheduleRows* rows = nullptr);
    // Of a schedule that was run elsewhere: sums, and what became of each job.
    ScheduledRun summed_up(std::string_view scheduler, sim::ScheduleOutcome outcome);

private:
    const scenarios::ScheduleScenario& scenario_;
    std::unique_ptr<TimesAlone> alone_;
};

// Each scenario under each of its schedulers, in that order; several scenarios at a time. Runs
// point into the scenarios.
std::vector<ScheduledRun> run_schedules(std::span<const scenarios::ScheduleScenario> variants,
                                        const RunProgress& progress = {});
// The same, and nothing of single jobs is kept but rows of the tables, if there are any.
std::vector<ScheduledRun> run_summed_schedules(
    std::span<const scenarios::ScheduleScenario> variants, ScheduleTables* tables);

// What makes their means doubtful, a line each.
std::vector<std::string> doubts_about(std::span<const ScheduledRun> runs);

}  // namespace ukemi::analysis
