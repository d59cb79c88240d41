#include "analysis/scheduled_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/first_failure.hpp"
#include "base/plain_text.hpp"
#include "base/text_digest.hpp"
#include "records/varied_columns.hpp"
#include "sim/jobs/time_alone.hpp"

namespace ukemi::analysis {

// Jobs of one application, batch and size take the same time alone.
class SchedulerRuns::TimesAlone {
public:
    explicit TimesAlone(const scenarios::ScheduleScenario& scenario) : scenario_(scenario) {}
    std::optional<Duration> of(const sim::SharingJob& job) {
        const auto ask = [&] { return sim::time_alone(scenario_.cluster, scenario_.round, job); };
        if (job.controlled) {
            const auto known = controlled_.find(job.controlled.get());
            if (known != controlled_.end()) return known->second;
            return controlled_[job.controlled.get()] = ask();
        }
        if (job.application == nullptr) return ask();
        const std::tuple key{job.application, job.batch, job.gpus};
        const auto known = known_.find(key);
        if (known != known_.end()) return known->second;
        return known_[key] = ask();
    }

private:
    const scenarios::ScheduleScenario& scenario_;
    std::map<std::tuple<const traces::Application*, std::int64_t, std::int32_t>,
             std::optional<Duration>>
        known_;
    std::map<const sim::ControlledJob*, std::optional<Duration>> controlled_;
};

namespace {

// `time`: of the job alone.
void add_outcome(const scenarios::ScheduleScenario& scenario, const std::optional<Duration>& time,
                 const sim::JobOutcome& outcome, ScheduledJob& one) {
    one.outcome = &outcome;
    if (!outcome.is_complete()) return;
    const sim::SharingJob& job = *one.job;
    one.completion_time = outcome.completion - job.arrival;
    one.restarts = outcome.starts - 1;
    if (job.deadline < Instant::never()) one.in_time = outcome.completion <= job.deadline;
    if (!time) return;
    const double share = static_cast<double>(job.gpus) * static_cast<double>(scenario.jobs.size()) /
                         scenario.cluster.gpus();
    one.finish_time_ratio = one.completion_time / *time / std::max(1.0, share);
}

double jain_index(std::span<const double> values) {
    double sum = 0;
    double squares = 0;
    for (const double value : values) {
        sum += value;
        squares += value * value;
    }
    return sum * sum / (static_cast<double>(values.size()) * squares);
}

void sum_up(const scenarios::ScheduleScenario& scenario, ScheduledRun& run) {
    std::vector<double> times_s;
    std::vector<double> ratios;
    double gpu_s = 0;
    std::int64_t restarts = 0;
    for (const ScheduledJob& one : run.jobs) {
        gpu_s += one.outcome->gpu_s;
        run.refused += one.outcome->refused() ? 1 : 0;
        run.stuck += one.outcome->stuck ? 1 : 0;
        run.out_of_budget += one.outcome->out_of_budget ? 1 : 0;
        run.late += one.in_time == false ? 1 : 0;
        run.has_deadlines = run.has_deadlines || one.job->deadline < Instant::never();
        for (std::size_t cause = 0; cause < one.outcome->gpu_time.size(); ++cause) {
            run.gpu_time[cause] += one.outcome->gpu_time[cause];
        }
        if (!one.outcome->is_complete()) continue;
        times_s.push_back(to_seconds(one.completion_time));
        restarts += one.restarts;
        if (one.finish_time_ratio) ratios.push_back(*one.finish_time_ratio);
    }
    const double span_s = to_seconds(run.outcome.end - scenario.jobs.front().arrival);
    if (span_s > 0) run.gpu_use = gpu_s / (span_s * scenario.cluster.gpus());
    if (times_s.empty()) return;
    run.completion_s = summarise(times_s);
    std::ranges::sort(times_s);
    run.completion_s_p99 = quantile(times_s, 0.99);
    run.restarts_per_job = static_cast<double>(restarts) / static_cast<double>(times_s.size());
    if (ratios.size() < times_s.size()) return;
    run.finish_time_ratio_mean =
        std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(ratios.size());
    run.finish_time_ratio_max = std::ranges::max(ratios);
    run.jain_fairness = jain_index(ratios);
}

void sum_up_users(ScheduledRun& run) {
    const auto has_user = [](const ScheduledJob& one) { return !one.job->user.empty(); };
    if (std::ranges::none_of(run.jobs, has_user)) return;
    std::map<std::string_view, std::size_t> places;
    for (const ScheduledJob& one : run.jobs) {
        const auto [place, is_new] = places.try_emplace(one.job->user, run.users.size());
        if (is_new) run.users.emplace_back().name = one.job->user;
        UserSums& user = run.users[place->second];
        ++user.jobs;
        user.gpu_s += one.outcome->gpu_s;
        user.cost += one.outcome->cost;
        user.late += one.in_time == false ? 1 : 0;
        user.out_of_budget += one.outcome->out_of_budget ? 1 : 0;
        if (!one.outcome->is_complete()) continue;
        ++user.complete;
        user.completion_s_sum += to_seconds(one.completion_time);
        if (!one.finish_time_ratio) continue;
        ++user.ratios;
        user.finish_time_ratio_sum += *one.finish_time_ratio;
    }
    std::vector<double> ratios;
    for (const UserSums& user : run.users) {
        if (user.ratios == 0) return;
        ratios.push_back(user.finish_time_ratio_sum / static_cast<double>(user.ratios));
    }
    run.user_jain_fairness = jain_index(ratios);
}

// In integers, so that it is the same on every machine.
std::string hash_of(const sim::ScheduleOutcome& outcome) {
    std::uint64_t digest = text_digest_begin;
    const auto add = [&](std::int64_t value) {
        const auto bytes = std::bit_cast<std::array<char, sizeof(value)>>(value);
        digest = text_digest({bytes.data(), bytes.size()}, digest);
    };
    for (const sim::JobOutcome& job : outcome.jobs) {
        const std::int64_t why_not = job.out_of_budget ? 2 : std::int64_t{job.stuck};
        for (const std::int64_t one : {job.completion.raw(), why_not, job.starts, job.held.raw(),
                                       job.losses, job.cost.raw()}) {
            add(one);
        }
        for (const Int128 time : job.gpu_time) add(static_cast<std::int64_t>(time));
    }
    for (const std::int64_t one :
         {outcome.decisions, outcome.rounds, outcome.fleet_cost.raw(), outcome.unused_cost.raw(),
          outcome.machine_time.raw(), outcome.machines_lost, outcome.shared_losses}) {
        add(one);
    }
    return fmt::format("{:016x}", digest);
}

using records::RunColumnKind;
using records::RunValue;
using ScheduleColumn = SummaryColumn<ScheduledRun>;

template <records::Cause cause>
RunValue gpu_hours(const ScheduledRun& run) {
    return run.gpu_hours(cause);
}

constexpr std::array columns_of_schedules = {
    ScheduleColumn{"jobs", RunColumnKind::integer,
                   [](const ScheduledRun& run) -> RunValue { return std::ssize(run.jobs); }},
    ScheduleColumn{"completion_s_mean", RunColumnKind::real,
                   [](const ScheduledRun& run) -> RunValue { return run.completion_s.mean; }},
    ScheduleColumn{"completion_s_median", RunColumnKind::real,
                   [](const ScheduledRun& run) -> RunValue { return run.completion_s.median; }},
    ScheduleColumn{"completion_s_p99", RunColumnKind::real,
                   [](const ScheduledRun& run) -> RunValue { return run.completion_s_p99; }},
    ScheduleColumn{"completion_s_max", RunColumnKind::real,
                   [](const ScheduledRun& run) -> RunValue { return run.completion_s.max; }},
    ScheduleColumn{"makespan_s", RunColumnKind::real,
                   [](const ScheduledRun& run) -> RunValue {
                       return to_seconds(run.outcome.end.since_start());
                   }},
    ScheduleColumn{"restarts_per_job", RunColumnKind::real,
                   [](const ScheduledRun& run) -> RunValue { return run.restarts_per_job; }},
    ScheduleColumn{"gpu_use", RunColumnKind::real,
                   [](const ScheduledRun& run) -> RunValue { return run.gpu_use; }},
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

}  // namespace

std::span<const SummaryColumn<ScheduledRun>> schedule_columns() { return columns_of_schedules; }

SchedulerRuns::SchedulerRuns(const scenarios::ScheduleScenario& scenario)
    : scenario_(scenario), alone_(std::make_unique<TimesAlone>(scenario)) {}

SchedulerRuns::~SchedulerRuns() = default;

ScheduledRun SchedulerRuns::run(std::size_t number, bool keeps_spans) {
    schedulers::Scheduler& scheduler = *scenario_.schedulers[number];
    sim::ScheduledWorkload workload = scenario_.workload();
    workload.keeps_spans = workload.keeps_logs = keeps_spans;
    return summed_up(scheduler.name(), sim::run_schedule(workload, scheduler));
}

ScheduledRun SchedulerRuns::summed_up(std::string_view scheduler, sim::ScheduleOutcome outcome) {
    ScheduledRun run;
    run.varied = scenario_.varied;
    run.cluster = &scenario_.cluster;
    run.scheduler = scheduler;
    run.seed = scenario_.cluster.seed;
    run.outcome = std::move(outcome);
    run.jobs.resize(scenario_.jobs.size());
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
        const sim::JobOutcome& job = run.outcome.jobs[i];
        run.jobs[i].job = &scenario_.jobs[i];
        const auto alone =
            job.is_complete() ? alone_->of(scenario_.jobs[i]) : std::optional<Duration>();
        add_outcome(scenario_, alone, job, run.jobs[i]);
    }
    sum_up(scenario_, run);
    sum_up_users(run);
    run.outcome_hash = hash_of(run.outcome);
    return run;
}

std::vector<ScheduledRun> run_schedules(std::span<const scenarios::ScheduleScenario> variants,
                                        bool keeps_spans, const RunProgress& progress) {
    std::vector<std::vector<ScheduledRun>> of_scenario(variants.size());
    SeenProgress seen(variants.size(), progress);
    guarded_parallel_for(variants.size(), machine_threads(), [&](std::size_t i) {
        SchedulerRuns runs(variants[i]);
        for (std::size_t scheduler = 0; scheduler < runs.count(); ++scheduler) {
            of_scenario[i].push_back(runs.run(scheduler, keeps_spans));
        }
        seen.one_more();
    });
    std::vector<ScheduledRun> all;
    for (std::vector<ScheduledRun>& own : of_scenario) {
        std::ranges::move(own, std::back_inserter(all));
    }
    return all;
}

std::vector<std::string> doubts_about(std::span<const ScheduledRun> runs) {
    std::vector<std::string> lines;
    std::set<std::string_view> blind;  // said once
    for (const ScheduledRun& run : runs) {
        const auto of_all = [&](std::int64_t jobs, std::string_view what) {
            std::string of = fmt::format("{}, seed {}", run.scheduler, run.seed);
            if (!run.varied.empty()) of += ", " + records::variant_label(run.varied);
            lines.push_back(
                one_line(fmt::format("{}: {} of {} jobs {}", of, jobs, run.jobs.size(), what)));
        };
        if (run.stuck > 0) {
            of_all(run.stuck, "wait for machines that never come, and are in no mean of times");
        }
        if (run.out_of_budget > 0) {
            of_all(run.out_of_budget,
                   "were stopped with their budgets spent, and are in no mean of times");
        }
        const bool says_priorities = std::ranges::any_of(
            run.jobs, [](const ScheduledJob& one) { return one.job->priority != 1; });
        const auto* const entry = schedulers::find_scheduler(run.scheduler);
        if (!says_priorities || entry->weighs_priorities || !blind.insert(entry->name).second) {
            continue;
        }
        lines.push_back(
            fmt::format("{} does not look at priorities: all jobs are alike to it", entry->name));
    }
    return lines;
}

}  // namespace ukemi::analysis
