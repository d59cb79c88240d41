// schedule_results.cpp — runs schedulers on workloads, and sums up what came out.
#include "analysis/schedule_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "analysis/scenario_folder.hpp"
#include "analysis/schedule_columns.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "records/varied_columns.hpp"
#include "sim/jobs/time_alone.hpp"

namespace ukemi::analysis {

using nlohmann::json;

namespace {

// Jobs of one application, batch and size take the same time alone.
class TimesAlone {
public:
    explicit TimesAlone(const scenarios::ScheduleScenario& scenario) : scenario_(scenario) {}
    std::optional<Duration> of(const sim::SharingJob& job) {
        const auto ask = [&] { return sim::time_alone(scenario_.cluster, scenario_.round, job); };
        if (job.application == nullptr && !job.controlled) return ask();
        if (job.controlled) {
            const auto known = controlled_.find(job.controlled.get());
            if (known != controlled_.end()) return known->second;
            return controlled_[job.controlled.get()] = ask();
        }
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

void add_outcome(const scenarios::ScheduleScenario& scenario, TimesAlone& alone,
                 const sim::JobOutcome& outcome, ScheduledJob& one) {
    one.outcome = outcome;
    if (!outcome.is_complete()) return;
    const sim::SharingJob& job = *one.job;
    one.completion_time = outcome.completion - job.arrival;
    one.restarts = outcome.starts - 1;
    if (job.deadline < Instant::never()) one.in_time = outcome.completion <= job.deadline;
    const std::optional<Duration> time = alone.of(job);
    if (!time) return;
    const double share = static_cast<double>(job.gpus) * static_cast<double>(scenario.jobs.size()) /
                         scenario.cluster.gpus();
    one.finish_time_ratio = one.completion_time / *time / std::max(1.0, share);
}

void sum_up(const scenarios::ScheduleScenario& scenario, ScheduledRun& run) {
    std::vector<double> times_s;
    std::vector<double> ratios;
    double gpu_s = 0;
    std::int64_t restarts = 0;
    for (const ScheduledJob& one : run.jobs) {
        gpu_s += one.outcome.gpu_s;
        run.refused += one.outcome.refused() ? 1 : 0;
        run.stuck += one.outcome.stuck ? 1 : 0;
        run.late += one.in_time == false ? 1 : 0;
        for (std::size_t cause = 0; cause < one.outcome.gpu_time.size(); ++cause) {
            run.gpu_time[cause] += one.outcome.gpu_time[cause];
        }
        if (!one.outcome.is_complete()) continue;
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
    double sum = 0;
    double squares = 0;
    for (const double ratio : ratios) {
        sum += ratio;
        squares += ratio * ratio;
    }
    run.finish_time_ratio_mean = sum / static_cast<double>(ratios.size());
    run.finish_time_ratio_max = std::ranges::max(ratios);
    run.jain_fairness = sum * sum / (static_cast<double>(ratios.size()) * squares);
}

ScheduledRun run_of(const scenarios::ScheduleScenario& scenario, TimesAlone& alone,
                    schedulers::Scheduler& scheduler, bool keeps_spans) {
    ScheduledRun run;
    run.varied = scenario.varied;
    run.cluster = &scenario.cluster;
    run.scheduler = scheduler.name();
    sim::ScheduledWorkload workload = scenario.workload();
    workload.keeps_spans = workload.keeps_logs = keeps_spans;
    run.outcome = sim::run_schedule(workload, scheduler);
    run.jobs.resize(scenario.jobs.size());
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
        run.jobs[i].job = &scenario.jobs[i];
        add_outcome(scenario, alone, run.outcome.jobs[i], run.jobs[i]);
    }
    sum_up(scenario, run);
    return run;
}

json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

template <records::Cause cause>
json gpu_hours(const ScheduledRun& run) {
    return json(run.gpu_hours(cause));
}

// A column of the summary: the same in the CSV and in JSON.
struct SummaryColumn {
    const char* name;
    json (*value)(const ScheduledRun& run);
};
constexpr std::array summary_columns = {
    SummaryColumn{"jobs", [](const ScheduledRun& run) { return json(run.jobs.size()); }},
    SummaryColumn{"completion_s_mean",
                  [](const ScheduledRun& run) { return json(run.completion_s.mean); }},
    SummaryColumn{"completion_s_median",
                  [](const ScheduledRun& run) { return json(run.completion_s.median); }},
    SummaryColumn{"completion_s_p99",
                  [](const ScheduledRun& run) { return json(run.completion_s_p99); }},
    SummaryColumn{"completion_s_max",
                  [](const ScheduledRun& run) { return json(run.completion_s.max); }},
    SummaryColumn{
        "makespan_s",
        [](const ScheduledRun& run) { return json(to_seconds(run.outcome.end.since_start())); }},
    SummaryColumn{"restarts_per_job",
                  [](const ScheduledRun& run) { return json(run.restarts_per_job); }},
    SummaryColumn{"gpu_use", [](const ScheduledRun& run) { return json(run.gpu_use); }},
    SummaryColumn{
        "finish_time_ratio_mean",
        [](const ScheduledRun& run) { return number_or_null(run.finish_time_ratio_mean); }},
    SummaryColumn{
        "finish_time_ratio_max",
        [](const ScheduledRun& run) { return number_or_null(run.finish_time_ratio_max); }},
    SummaryColumn{"jain_fairness",
                  [](const ScheduledRun& run) { return number_or_null(run.jain_fairness); }},
    SummaryColumn{"refused", [](const ScheduledRun& run) { return json(run.refused); }},
    SummaryColumn{"late", [](const ScheduledRun& run) { return json(run.late); }},
    SummaryColumn{"stuck", [](const ScheduledRun& run) { return json(run.stuck); }},
    SummaryColumn{"cost_usd",
                  [](const ScheduledRun& run) { return json(to_dollars(run.outcome.fleet_cost)); }},
    SummaryColumn{
        "unused_usd",
        [](const ScheduledRun& run) { return json(to_dollars(run.outcome.unused_cost)); }},
    SummaryColumn{"machine_h",
                  [](const ScheduledRun& run) { return json(to_hours(run.outcome.machine_time)); }},
    SummaryColumn{"machines_lost",
                  [](const ScheduledRun& run) { return json(run.outcome.machines_lost); }},
    SummaryColumn{"shared_losses",
                  [](const ScheduledRun& run) { return json(run.outcome.shared_losses); }},
    SummaryColumn{"useful_gpu_h", gpu_hours<records::Cause::useful>},
    SummaryColumn{"redone_gpu_h", gpu_hours<records::Cause::redone>},
    SummaryColumn{"transition_gpu_h", gpu_hours<records::Cause::transition>},
    SummaryColumn{"checkpoint_gpu_h", gpu_hours<records::Cause::checkpoint>},
    SummaryColumn{"live_jobs_max",
                  [](const ScheduledRun& run) { return json(run.outcome.live_most); }},
    SummaryColumn{"decisions", [](const ScheduledRun& run) { return json(run.outcome.decisions); }},
    SummaryColumn{"rounds", [](const ScheduledRun& run) { return json(run.outcome.rounds); }},
};

std::string optional_text(const std::optional<double>& value) {
    return value ? fmt::format("{:.3g}", *value) : "-";
}

std::string machines_in_words(const sim::SharedCluster& cluster) {
    std::string words;
    for (const sim::MachineGroup& group : cluster.groups) {
        words +=
            fmt::format("{}{} x {}{}{}", words.empty() ? "" : ", ", group.machines,
                        group.gpus_per_machine, group.gpu_type.empty() ? "" : " ", group.gpu_type);
    }
    return one_line(words);
}

std::string spans_csv(std::span<const ScheduledRun> runs) {
    const records::VariedColumns varied{runs};
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.insert(columns.end(),
                   {"scheduler", "job", "begin_s", "end_s", "gpus", "gpu_type", "machines"});
    CsvWriter csv(columns);
    for (const ScheduledRun& run : runs) {
        for (const sim::HeldSpan& span : run.outcome.spans) {
            varied.add_fields(csv, run.varied);
            csv.add(run.scheduler).add(run.jobs[span.job].job->name);
            csv.add(to_seconds(span.begin.since_start())).add(to_seconds(span.end.since_start()));
            csv.add(static_cast<double>(span.held.share.parts) /
                    static_cast<double>(span.held.share.of));
            std::string machines;  // "0:4 1:2", or nothing for parts of GPUs
            for (const sim::GpusOnMachine& one : span.held.machines) {
                machines +=
                    fmt::format("{}{}:{}", machines.empty() ? "" : " ", one.machine, one.gpus);
            }
            const auto group = static_cast<std::size_t>(span.held.share.group);
            csv.add(run.cluster->groups[group].gpu_type).add(machines).end_row();
        }
    }
    return csv.text();
}

// What machines cost and where the time on GPUs went, of runs in which that is to be said.
std::string ledgers_table(std::span<const ScheduledRun> runs) {
    const auto says_something = [](const ScheduledRun& run) {
        return run.outcome.fleet_cost > Dollars{} || run.outcome.machines_lost > 0 || run.stuck > 0;
    };
    if (std::ranges::none_of(runs, says_something)) return {};
    std::string text = fmt::format("\n{:<21}{:>11}{:>11}{:>11}{:>6}{:>8}{:>10}{:>10}{:>8}{:>7}\n",
                                   "scheduler", "cost $", "unused $", "machine h", "lost", "shared",
                                   "useful h", "redone h", "else h", "stuck");
    for (const ScheduledRun& run : runs) {
        double else_h = -run.gpu_hours(records::Cause::useful);
        else_h -= run.gpu_hours(records::Cause::redone);
        for (std::size_t i = 0; i < run.gpu_time.size(); ++i) {
            else_h += run.gpu_hours(static_cast<records::Cause>(i));
        }
        text += fmt::format(
            "{:<21}{:>11.2f}{:>11.2f}{:>11.2f}{:>6}{:>8}{:>10.2f}{:>10.2f}{:>8.2f}{:>7}\n",
            run.scheduler, to_dollars(run.outcome.fleet_cost), to_dollars(run.outcome.unused_cost),
            to_hours(run.outcome.machine_time), run.outcome.machines_lost,
            run.outcome.shared_losses, run.gpu_hours(records::Cause::useful),
            run.gpu_hours(records::Cause::redone), std::max(0.0, else_h), run.stuck);
    }
    return text +
           "\nDollars of all machines, and what of them no job had; machines lost, and losses that "
           "hit several\njobs at once; GPU hours of jobs, by what they did: else are starts and "
           "saves; stuck: jobs whose\nmachines never came.\n";
}

}  // namespace

std::vector<ScheduledRun> run_schedules(std::span<const scenarios::ScheduleScenario> variants,
                                        bool keeps_spans) {
    std::vector<ScheduledRun> runs;
    for (const scenarios::ScheduleScenario& scenario : variants) {
        TimesAlone alone(scenario);
        for (const auto& scheduler : scenario.schedulers) {
            runs.push_back(run_of(scenario, alone, *scheduler, keeps_spans));
        }
    }
    return runs;
}

std::string schedules_table(const scenarios::ScheduleScenario& first,
                            std::span<const ScheduledRun> runs) {
    std::string text =
        fmt::format("{}: {} jobs on {} GPUs ({}), {}\n\n", one_line(first.name), first.jobs.size(),
                    first.cluster.gpus(), machines_in_words(first.cluster),
                    first.round > Duration{} ? "rounds of " + format_duration(first.round)
                                             : "decisions at every event");
    text += fmt::format("{:<21}{:>10}{:>12}{:>10}{:>14}{:>10}{:>8}{:>8}{:>7}{:>7}{:>6}\n",
                        "scheduler", "mean (s)", "median (s)", "p99 (s)", "makespan (s)",
                        "restarts", "GPUs %", "ratio", "worst", "Jain", "late");
    for (const ScheduledRun& run : runs) {
        text += fmt::format(
            "{:<21}{:>10.1f}{:>12.1f}{:>10.1f}{:>14.1f}{:>10.2f}{:>8.1f}{:>8}{:>7}{:>7}{:>6}\n",
            run.scheduler, run.completion_s.mean, run.completion_s.median, run.completion_s_p99,
            to_seconds(run.outcome.end.since_start()), run.restarts_per_job, 100 * run.gpu_use,
            optional_text(run.finish_time_ratio_mean), optional_text(run.finish_time_ratio_max),
            run.jain_fairness ? fmt::format("{:.3f}", *run.jain_fairness) : "-",
            run.late + run.refused);
        if (!run.varied.empty()) {
            text += fmt::format("  {}\n", one_line(records::variant_label(run.varied)));
        }
    }
    return text + ledgers_table(runs) + losses_table(runs) +
           "\nTimes from arrival to end; restarts a job; ratio: that time over what an equal part "
           "of the\ncluster would give, in the mean and at worst, and Jain's index of it; late: "
           "after the deadline,\nor refused.\n";
}

std::string schedules_csv(std::span<const ScheduledRun> runs) {
    const records::VariedColumns varied{runs};
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.emplace_back("scheduler");
    for (const SummaryColumn& column : summary_columns) columns.emplace_back(column.name);
    CsvWriter csv(columns);
    for (const ScheduledRun& run : runs) {
        varied.add_fields(csv, run.varied);
        csv.add(run.scheduler);
        for (const SummaryColumn& column : summary_columns) {
            const json value = column.value(run);
            if (value.is_number_integer()) {
                csv.add(value.get<std::int64_t>());
            } else if (value.is_null()) {
                csv.add("");
            } else {
                csv.add(value.get<double>());
            }
        }
        csv.end_row();
    }
    return csv.text();
}

std::string scheduled_jobs_csv(std::span<const ScheduledRun> runs) {
    const records::VariedColumns varied{runs};
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.insert(columns.end(),
                   {"scheduler", "job", "arrival_s", "gpus", "completion_s", "waited_s", "held_s",
                    "gpu_s", "restarts", "finish_time_ratio", "in_time", "losses", "cost_usd"});
    for (const std::string_view cause : records::cause_names()) {
        columns.push_back(fmt::format("{}_gpu_s", cause));
    }
    name_phase_columns(columns);
    name_controlled_columns(columns);
    CsvWriter csv(columns);
    const auto add_known = [&](const std::optional<double>& value) {
        value ? csv.add(*value) : csv.add("");
    };
    for (const ScheduledRun& run : runs) {
        for (const ScheduledJob& one : run.jobs) {
            varied.add_fields(csv, run.varied);
            csv.add(run.scheduler).add(one.job->name);
            csv.add(to_seconds(one.job->arrival.since_start())).add(one.job->gpus);
            const auto known = [&](double value) {
                return one.outcome.is_complete() ? std::optional(value) : std::nullopt;
            };
            add_known(known(to_seconds(one.completion_time)));
            add_known(known(to_seconds(one.completion_time - one.outcome.held)));
            csv.add(to_seconds(one.outcome.held)).add(one.outcome.gpu_s).add(one.restarts);
            add_known(one.finish_time_ratio);
            csv.add(one.outcome.refused() ? "refused"
                    : one.outcome.stuck   ? "stuck"
                    : one.in_time         ? (*one.in_time ? "yes" : "no")
                                          : "");
            csv.add(one.outcome.losses).add(to_dollars(one.outcome.cost));
            for (const Int128 time : one.outcome.gpu_time) csv.add(static_cast<double>(time) / 1e9);
            add_phase_fields(csv, one);
            add_controlled_fields(csv, one);
            csv.end_row();
        }
    }
    return csv.text();
}

std::string schedules_json(const scenarios::ScheduleScenario& first,
                           std::span<const ScheduledRun> runs) {
    json document = {
        {"scenario", first.name}, {"gpus", first.cluster.gpus()}, {"runs", json::array()}};
    for (const ScheduledRun& run : runs) {
        json one = {{"scheduler", run.scheduler}};
        for (const records::VariedValue& value : run.varied) {
            one["vary"][value.pointer] = value.value;
        }
        for (const SummaryColumn& column : summary_columns) one[column.name] = column.value(run);
        document["runs"].push_back(std::move(one));
    }
    return document.dump(2) + "\n";
}

plots::FigureResult write_schedules(OutputFolder& folder, const StepDocument& document,
                                    const scenarios::ScheduleScenario& first,
                                    std::span<const ScheduledRun> runs,
                                    const plots::FigureOptions& options) {
    ScenarioFiles files{.command = "schedule",
                        .resolved = first.resolved,
                        .scenario_file = document.file,
                        .varied = document.varied,
                        .files = {{"schedule.csv", schedules_csv(runs)},
                                  {"jobs.csv", scheduled_jobs_csv(runs)},
                                  {"spans.csv", spans_csv(runs)},
                                  {"schedule.json", schedules_json(first, runs)}},
                        .figures = read_scheduled};
    add_decision_logs(runs, files.files);
    return write_scenario_folder(folder, files, options);
}

bool is_scheduled(const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / "schedule.json");
}

ConfigOverride chosen_schedulers(const std::string& names, const StepDocument& document) {
    const json scenario = json::parse(document.text, nullptr, false);
    const json listed = scenario.is_object() ? scenario.value("schedulers", json()) : json();
    json chosen = json::array();
    for (std::size_t from = 0; from <= names.size();) {
        const std::size_t to = std::min(names.find(',', from), names.size());
        const std::string name = names.substr(from, to - from);
        json one = {{"name", name}};
        for (const json& each : listed) {
            if (each.is_object() && each.value("name", json()) == name) one = each;
        }
        chosen.push_back(one);
        from = to + 1;
    }
    return {"/schedulers", chosen.dump(), "--schedulers"};
}

}  // namespace ukemi::analysis
