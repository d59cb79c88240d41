// schedule_results.cpp — what schedulers made of workloads, as tables and files.
#include "analysis/schedule_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/schedule_columns.hpp"
#include "analysis/schedule_tables.hpp"
#include "analysis/schedule_users.hpp"
#include "analysis/table_cells.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace {

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
    const SpansTable table{records::VariedColumns(runs)};
    CsvWriter csv = table.head();
    for (const ScheduledRun& run : runs) {
        for (const sim::HeldSpan& span : run.outcome.spans) {
            table.add(csv, run, run.jobs[span.job].job->name, span);
        }
    }
    return csv.text();
}

bool has_bills(const GroupedRuns& groups) {
    return std::ranges::any_of(groups.means(), [&](const GroupMeans& group) {
        return mean_of(groups, group, "cost_usd").mean > 0;
    });
}

// What machines cost and where the time on GPUs went, of runs in which that is to be said.
std::string ledgers_table(const GroupedRuns& groups) {
    const auto mean = [&](const GroupMeans& group, std::string_view column) {
        return mean_of(groups, group, column).mean;
    };
    const auto says_something = [&](const GroupMeans& group) {
        return mean(group, "cost_usd") > 0 || mean(group, "machines_lost") > 0 ||
               mean(group, "stuck") > 0 || mean(group, "out_of_budget") > 0;
    };
    if (std::ranges::none_of(groups.means(), says_something)) return {};
    double longest_h = 0;
    for (const GroupMeans& group : groups.means()) {
        for (const char* column : {"machine_h", "useful_gpu_h", "redone_gpu_h"}) {
            longest_h = std::max(longest_h, mean(group, column));
        }
    }
    const TimeUnit unit = table_time_unit(longest_h);
    const auto in_unit = [&](std::string_view of) { return fmt::format("{} {}", of, unit.symbol); };
    std::string text =
        fmt::format("\n{:<21} {:>9} {:>9} {:>11} {:>5} {:>7} {:>10} {:>10} {:>8} {:>6} {:>6}\n",
                    "scheduler", "cost $", "unused $", in_unit("machine"), "lost", "shared",
                    in_unit("useful"), in_unit("redone"), in_unit("else"), "stuck", "spent");
    for (const GroupMeans& group : groups.means()) {
        text += fmt::format(
            "{:<21} {:>9} {:>9} {:>11.2f} {:>5} {:>7} {:>10.2f} {:>10.2f} {:>8.2f} {:>6} "
            "{:>6}\n",
            group.policy, fitted_usd(mean(group, "cost_usd"), 9),
            fitted_usd(mean(group, "unused_usd"), 9), mean(group, "machine_h") * unit.per_hour,
            mean_count(mean(group, "machines_lost")), mean_count(mean(group, "shared_losses")),
            mean(group, "useful_gpu_h") * unit.per_hour,
            mean(group, "redone_gpu_h") * unit.per_hour,
            (mean(group, "transition_gpu_h") + mean(group, "checkpoint_gpu_h") +
             mean(group, "idle_gpu_h") + mean(group, "wasted_gpu_h")) *
                unit.per_hour,
            mean_count(mean(group, "stuck")), mean_count(mean(group, "out_of_budget")));
    }
    return text +
           "\nDollars of all machines, and what of them no job had; machines lost, and losses that "
           "hit several\njobs at once; GPU time of jobs, by what they did: else are starts and "
           "saves; stuck: jobs whose\nmachines never came, or that got nowhere for a year; spent: "
           "jobs that were stopped with their\nbudgets spent.\n";
}

}  // namespace

GroupedRuns schedule_means(std::span<const ScheduledRun> runs, const std::string& baseline) {
    return grouped_over_seeds("scheduler", seeded_runs(runs, schedule_columns()),
                              names_of(schedule_columns()), baseline);
}

std::string schedules_table(const scenarios::ScheduleScenario& first,
                            std::span<const ScheduledRun> runs, const std::string& baseline) {
    const GroupedRuns groups = schedule_means(runs, baseline);
    const auto mean = [&](const GroupMeans& group, std::string_view column) {
        return mean_of(groups, group, column).mean;
    };
    // Nothing where no job is complete.
    const auto cell = [&](const GroupMeans& group, std::string_view column, int decimals,
                          double times = 1) {
        const Summary& known = mean_of(groups, group, column);
        return known.count == 0 ? "-" : fmt::format("{:.{}f}", times * known.mean, decimals);
    };
    const auto ratio = [&](const GroupMeans& group, std::string_view column) {
        const Summary& known = mean_of(groups, group, column);
        return known.count == 0 ? "-" : ratio_text(known.mean);
    };
    std::string text =
        fmt::format("{}: {} jobs on {} GPUs ({}), {}\n\n", one_line(first.name), first.jobs.size(),
                    first.cluster.gpus(), machines_in_words(first.cluster),
                    first.round > Duration{} ? "rounds of " + format_duration(first.round)
                                             : "decisions at every event");
    constexpr auto row = "{:<21} {:>9} {:>11} {:>9} {:>13} {:>9} {:>7} {:>7} {:>6} {:>6} {:>5}\n";
    text += fmt::format(row, "scheduler", "mean (s)", "median (s)", "p99 (s)", "makespan (s)",
                        "restarts", "GPUs %", "ratio", "worst", "Jain", "late");
    for (const GroupMeans& group : groups.means()) {
        text +=
            fmt::format(row, group.policy, cell(group, "completion_s_mean", 1),
                        cell(group, "completion_s_median", 1), cell(group, "completion_s_p99", 1),
                        cell(group, "makespan_s", 1), cell(group, "restarts_per_job", 2),
                        cell(group, "gpu_use", 1, 100), ratio(group, "finish_time_ratio_mean"),
                        ratio(group, "finish_time_ratio_max"), cell(group, "jain_fairness", 3),
                        mean_count(mean(group, "late") + mean(group, "refused")));
        if (!group.keys.front().empty()) {
            text += fmt::format("  {}\n", one_line(group.keys.front()));
        }
    }
    text += ledgers_table(groups);
    const bool one_seed = std::ranges::all_of(
        runs, [&](const ScheduledRun& run) { return run.seed == runs.front().seed; });
    if (one_seed) text += losses_table(runs) + schedule_users_table(runs);  // by job and user
    text +=
        "\nTimes from arrival to end; restarts a job; ratio: that time over what an equal part "
        "of the\ncluster would give, in the mean and at worst, and Jain's index of it; late: "
        "after the deadline,\nnever done though there is one, or refused.\n";
    std::vector<std::string_view> paired{"completion_s_mean", "makespan_s"};
    if (has_bills(groups)) paired.emplace_back("cost_usd");
    return text + notes_on_seeds(groups) +
           pairs_table(groups.pairs(), paired, pairs_share(groups.grouping()));
}

std::string schedules_csv(std::span<const ScheduledRun> runs) {
    const records::VariedColumns varied{runs};
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.insert(columns.end(), {"seed", "scheduler"});
    for (const auto& column : schedule_columns()) columns.emplace_back(column.name);
    CsvWriter csv(columns);
    for (const ScheduledRun& run : runs) {
        varied.add_fields(csv, run.varied);
        csv.add(run.seed).add(run.scheduler);
        for (const auto& column : schedule_columns()) add_summary_value(csv, column.of(run));
        csv.end_row();
    }
    return csv.text();
}

std::string scheduled_jobs_csv(std::span<const ScheduledRun> runs) {
    const JobsTable table{records::VariedColumns(runs)};
    CsvWriter csv = table.head();
    for (const ScheduledRun& run : runs) {
        for (const ScheduledJob& one : run.jobs) table.add(csv, run, one);
    }
    return csv.text();
}

std::string schedules_json(const scenarios::ScheduleScenario& first,
                           std::span<const ScheduledRun> runs, const std::string& baseline) {
    using nlohmann::ordered_json;
    ordered_json document = {{"scenario", first.name}, {"gpus", first.cluster.gpus()}};
    document["means"] = grouped_rows(schedule_means(runs, baseline));
    document["runs"] = seeded_rows("scheduler", seeded_runs(runs, schedule_columns()),
                                   names_of(schedule_columns()));
    document["warnings"] = doubts_about(runs);
    return document.dump(2) + "\n";
}

plots::FigureResult write_schedules(OutputFolder& folder, const StepDocument& document,
                                    const scenarios::ScheduleScenario& first,
                                    std::span<const ScheduledRun> runs,
                                    const plots::FigureOptions& options, MoreFiles more) {
    return write_schedules(folder, document, first, runs,
                           {scheduled_jobs_csv(runs), spans_csv(runs)}, options, std::move(more));
}

plots::FigureResult write_schedules(OutputFolder& folder, const StepDocument& document,
                                    const scenarios::ScheduleScenario& first,
                                    std::span<const ScheduledRun> runs, ScheduleFiles tables,
                                    const plots::FigureOptions& options, MoreFiles more) {
    ScenarioFiles files{
        .command = "schedule",
        .resolved = first.resolved,
        .document = document,
        .files = {{"schedule.csv", schedules_csv(runs)},
                  {"jobs.csv", std::move(tables.jobs)},
                  {"spans.csv", std::move(tables.spans)},
                  {"schedule.json", schedules_json(first, runs, document.baseline)}},
        .figures = read_scheduled};
    if (std::string users = schedule_users_csv(runs); !users.empty()) {
        files.files.emplace_back("users.csv", std::move(users));
    }
    add_decision_logs(runs, files.files);
    std::ranges::move(more, std::back_inserter(files.files));
    return write_scenario_folder(folder, files, options);
}

std::string decisions_csv(const ScheduledRun& run) {
    CsvWriter csv({"decision", "t_s", "ended", "arrived", "gpus", "refused"});
    const auto names = [&](const std::vector<std::size_t>& jobs) {
        std::string text;
        for (const std::size_t job : jobs) {
            text += fmt::format("{}{}", text.empty() ? "" : " ", run.jobs[job].job->name);
        }
        return text;
    };
    for (std::size_t i = 0; i < run.outcome.decided.size(); ++i) {
        const sim::ScheduleDecision& one = run.outcome.decided[i];
        std::string gpus;  // "a:2 b:1"
        for (const schedulers::GpuShare& share : one.shares) {
            gpus += fmt::format("{}{}:{}", gpus.empty() ? "" : " ",
                                run.jobs[schedulers::number_of(share.job)].job->name,
                                static_cast<double>(share.parts) / static_cast<double>(share.of));
        }
        csv.add(static_cast<std::int64_t>(i)).add(to_seconds(one.at.since_start()));
        csv.add(names(one.ended)).add(names(one.arrived)).add(gpus).add(names(one.refused));
        csv.end_row();
    }
    return csv.text();
}

bool is_scheduled(const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / "schedule.json");
}

}  // namespace ukemi::analysis
