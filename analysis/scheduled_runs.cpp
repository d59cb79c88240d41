#include "analysis/scheduled_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "analysis/schedule_sums.hpp"
#include "analysis/schedule_tables.hpp"
#include "base/first_failure.hpp"
#include "base/plain_text.hpp"
#include "records/varied_columns.hpp"
#include "sim/jobs/controlled_work.hpp"

namespace ukemi::analysis {

namespace {

using records::RunColumnKind;
using records::RunValue;
using ScheduleColumn = SummaryColumn<ScheduledRun>;

// Of the jobs that are complete; nothing if none is.
RunValue of_complete(const ScheduledRun& run, double value) {
    return run.completion_s.count == 0 ? RunValue() : RunValue(value);
}

template <records::Cause cause>
RunValue gpu_hours(const ScheduledRun& run) {
    return run.gpu_hours(cause);
}

constexpr std::array columns_of_schedules = {
    ScheduleColumn{"jobs", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue {
                       return static_cast<std::int64_t>(run.job_count);
                   }},
    ScheduleColumn{"completion_s_mean", RunColumnKind::real,
                   [](const ScheduledRun& run) { return of_complete(run, run.completion_s.mean); }},
    ScheduleColumn{
        "completion_s_median", RunColumnKind::real,
        [](const ScheduledRun& run) { return of_complete(run, run.completion_s.median); }},
    ScheduleColumn{"completion_s_p99", RunColumnKind::real,
                   [](const ScheduledRun& run) { return of_complete(run, run.completion_s_p99); }},
    ScheduleColumn{"completion_s_max", RunColumnKind::real,
                   [](const ScheduledRun& run) { return of_complete(run, run.completion_s.max); }},
    ScheduleColumn{"makespan_s", RunColumnKind::real,
                   [](const ScheduledRun& run) {
                       return of_complete(run, to_seconds(run.outcome.end.since_start()));
                   }},
    ScheduleColumn{"restarts_per_job", RunColumnKind::real,
                   [](const ScheduledRun& run) { return of_complete(run, run.restarts_per_job); }},
    ScheduleColumn{"gpu_use", RunColumnKind::real,
                   [](const ScheduledRun& run) { return of_complete(run, run.gpu_use); }},
    ScheduleColumn{
        "finish_time_ratio_mean", RunColumnKind::real,
        [](const ScheduledRun& run) { return value_or_nothing(run.finish_time_ratio_mean); }},
    ScheduleColumn{
        "finish_time_ratio_max", RunColumnKind::real,
        [](const ScheduledRun& run) { return value_or_nothing(run.finish_time_ratio_max); }},
    ScheduleColumn{"jain_fairness", RunColumnKind::real,
                   [](const ScheduledRun& run) { return value_or_nothing(run.jain_fairness); }},
    ScheduleColumn{
        "user_jain_fairness", RunColumnKind::real,
        [](const ScheduledRun& run) { return value_or_nothing(run.user_jain_fairness); }},
    ScheduleColumn{"refused", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return run.refused; }},
    ScheduleColumn{"late", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return run.late; }},
    ScheduleColumn{"stuck", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return run.stuck; }},
    ScheduleColumn{"out_of_budget", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return run.out_of_budget; }},
    ScheduleColumn{
        "cost_usd", RunColumnKind::real,
        [](const ScheduledRun& run) -> RunValue { return to_dollars(run.outcome.fleet_cost); }},
    ScheduleColumn{
        "unused_usd", RunColumnKind::real,
        [](const ScheduledRun& run) -> RunValue { return to_dollars(run.outcome.unused_cost); }},
    ScheduleColumn{
        "machine_h", RunColumnKind::real,
        [](const ScheduledRun& run) -> RunValue { return to_hours(run.outcome.machine_time); }},
    ScheduleColumn{"machines_lost", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return run.outcome.machines_lost; }},
    ScheduleColumn{"shared_losses", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return run.outcome.shared_losses; }},
    ScheduleColumn{"useful_gpu_h", RunColumnKind::real, gpu_hours<records::Cause::useful>},
    ScheduleColumn{"redone_gpu_h", RunColumnKind::real, gpu_hours<records::Cause::redone>},
    ScheduleColumn{"transition_gpu_h", RunColumnKind::real, gpu_hours<records::Cause::transition>},
    ScheduleColumn{"checkpoint_gpu_h", RunColumnKind::real, gpu_hours<records::Cause::checkpoint>},
    ScheduleColumn{"idle_gpu_h", RunColumnKind::real, gpu_hours<records::Cause::idle>},
    ScheduleColumn{"wasted_gpu_h", RunColumnKind::real, gpu_hours<records::Cause::wasted>},
    ScheduleColumn{"live_jobs_max", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue {
                       return static_cast<std::int64_t>(run.outcome.live_most);
                   }},
    ScheduleColumn{"decisions", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return run.outcome.decisions; }},
    ScheduleColumn{"rounds", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return run.outcome.rounds; }},
    ScheduleColumn{"outcome_hash", RunColumnKind::text,
                   [](const ScheduledRun& run) -> RunValue { return run.outcome_hash; }},
};

// Sums up what it is told, and writes it down if there is somewhere for it.
class SummingSink final : public sim::ScheduleSink {
public:
    SummingSink(const scenarios::ScheduleScenario& scenario, const ScheduledRun& run,
                ScheduleSums& sums, ScheduleRows* rows)
        : scenario_(scenario), run_(run), sums_(sums), rows_(rows) {}

    void over(std::size_t job, const sim::JobOutcome& outcome) override {
        scenario_.jobs.read(job, asked_);
        const ScheduledJob one = sums_.add(asked_, outcome);
        if (rows_ != nullptr) rows_->add(run_, one);
    }
    void held(const sim::HeldSpan& span) override {
        if (rows_ != nullptr) rows_->add(run_, scenario_.jobs.name(span.job), span);
    }

private:
    const scenarios::ScheduleScenario& scenario_;
    const ScheduledRun& run_;
    ScheduleSums& sums_;
    ScheduleRows* rows_;
    sim::SharingJob asked_;
};

template <class RunOne>
std::vector<ScheduledRun> run_each(std::span<const scenarios::ScheduleScenario> variants,
                                   const RunProgress& progress, RunOne run_one) {
    std::vector<std::vector<ScheduledRun>> of_scenario(variants.size());
    SeenProgress seen(variants.size(), progress);
    guarded_parallel_for(variants.size(), machine_threads(), [&](std::size_t i) {
        SchedulerRuns runs(variants[i]);
        for (std::size_t scheduler = 0; scheduler < runs.count(); ++scheduler) {
            of_scenario[i].push_back(run_one(runs, i, scheduler));
        }
        seen.one_more();
    });
    std::vector<ScheduledRun> all;
    for (std::vector<ScheduledRun>& own : of_scenario) {
        std::ranges::move(own, std::back_inserter(all));
    }
    return all;
}

}  // namespace

std::string ratio_text(double ratio) {
    return ratio < 1000 ? fmt::format("{:.3g}", ratio) : fmt::format("{:.0f}", ratio);
}

std::span<const SummaryColumn<ScheduledRun>> schedule_columns() { return columns_of_schedules; }

SchedulerRuns::SchedulerRuns(const scenarios::ScheduleScenario& scenario)
    : scenario_(scenario), alone_(std::make_unique<TimesAlone>(scenario)) {}

SchedulerRuns::~SchedulerRuns() = default;

ScheduledRun SchedulerRuns::run(std::size_t number) {
    schedulers::Scheduler& scheduler = *scenario_.schedulers[number];
    sim::ScheduledWorkload workload = scenario_.workload();
    workload.keeps_logs = true;
    return summed_up(scheduler.name(), sim::run_schedule(workload, scheduler));
}

ScheduledRun SchedulerRuns::run_summed(std::size_t number, ScheduleRows* rows) {
    schedulers::Scheduler& scheduler = *scenario_.schedulers[number];
    ScheduledRun run;
    ScheduleSums sums(scenario_, *alone_, scheduler.name(), run);
    SummingSink sink(scenario_, run, sums, rows);
    sim::ScheduledWorkload workload = scenario_.workload();
    workload.keeps_spans = workload.keeps_logs = rows != nullptr && rows->take_spans();
    workload.sink = &sink;
    run.outcome = sim::run_schedule(workload, scheduler);
    sums.end();
    if (rows != nullptr) rows->end();
    return run;
}

ScheduledRun SchedulerRuns::summed_up(std::string_view scheduler, sim::ScheduleOutcome outcome) {
    ScheduledRun run;
    run.outcome = std::move(outcome);
    run.asked = scenario_.jobs.all();
    ScheduleSums sums(scenario_, *alone_, scheduler, run);
    for (std::size_t i = 0; i < run.asked.size(); ++i) {
        run.jobs.push_back(sums.add(run.asked[i], run.outcome.jobs[i]));
    }
    sums.end();
    return run;
}

std::vector<ScheduledRun> run_schedules(std::span<const scenarios::ScheduleScenario> variants,
                                        const RunProgress& progress) {
    return run_each(variants, progress,
                    [](SchedulerRuns& runs, std::size_t, std::size_t scheduler) {
                        return runs.run(scheduler);
                    });
}

std::vector<ScheduledRun> run_summed_schedules(
    std::span<const scenarios::ScheduleScenario> variants, ScheduleTables* tables) {
    return run_each(variants, {},
                    [&](SchedulerRuns& runs, std::size_t variant, std::size_t scheduler) {
                        ScheduleRows* const rows =
                            tables == nullptr ? nullptr : &tables->of(variant, scheduler);
                        return runs.run_summed(scheduler, rows);
                    });
}

std::vector<std::string> doubts_about(std::span<const ScheduledRun> runs) {
    std::vector<std::string> lines;
    std::set<std::string_view> blind;  // said once
    std::set<std::string> refusals;    // the same
    for (const ScheduledRun& run : runs) {
        const auto of_all = [&](std::int64_t jobs, std::string_view what) {
            std::string of = fmt::format("{}, seed {}", run.scheduler, run.seed);
            if (!run.varied.empty()) of += ", " + records::variant_label(run.varied);
            lines.push_back(
                one_line(fmt::format("{}: {} of {} jobs {}", of, jobs, run.job_count, what)));
        };
        if (run.stuck > 0) {
            of_all(run.stuck,
                   "wait for machines that never come, or get nowhere for a year, and are in no "
                   "mean of times");
        }
        if (run.refused > 0) of_all(run.refused, "were refused, and are in no mean of times");
        if (run.out_of_budget > 0) {
            of_all(run.out_of_budget,
                   "were stopped with their budgets spent, and are in no mean of times");
        }
        for (const ControlledLeft& job : run.controlled) {
            if (job.outcome->result.refused == 0) continue;
            std::string line = one_line(
                fmt::format("{}: {}: decides what is refused and changes nothing: {}", job.name,
                            job.outcome->policies, job.outcome->result.first_refusal));
            if (refusals.insert(line).second) lines.push_back(std::move(line));
        }
        const auto* const entry = schedulers::find_scheduler(run.scheduler);
        if (!run.says_priorities || entry->weighs_priorities || !blind.insert(entry->name).second) {
            continue;
        }
        lines.push_back(
            fmt::format("{} does not look at priorities: all jobs are alike to it", entry->name));
    }
    return lines;
}

}  // namespace ukemi::analysis
