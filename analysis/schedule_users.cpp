#include "analysis/schedule_users.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/table_cells.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace {

bool have_users(std::span<const ScheduledRun> runs) {
    return std::ranges::any_of(runs, [](const ScheduledRun& run) { return !run.users.empty(); });
}

std::optional<double> mean_of_users(double sum, std::int64_t count) {
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

}  // namespace

std::string schedule_users_csv(std::span<const ScheduledRun> runs) {
    if (!have_users(runs)) return {};
    const records::VariedColumns varied{runs};
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.insert(columns.end(), {"seed", "scheduler", "user", "jobs", "complete", "late",
                                   "refused", "out_of_budget", "completion_s_mean",
                                   "finish_time_ratio_mean", "gpu_h", "cost_usd"});
    CsvWriter csv(columns);
    for (const ScheduledRun& run : runs) {
        for (const UserSums& user : run.users) {
            varied.add_fields(csv, run.varied);
            csv.add(run.seed).add(run.scheduler).add(user.name).add(user.jobs).add(user.complete);
            csv.add(user.late).add(user.refused).add(user.out_of_budget);
            const auto mean_s = mean_of_users(user.completion_s_sum, user.complete);
            mean_s ? csv.add(*mean_s) : csv.add("");
            const auto ratio = mean_of_users(user.finish_time_ratio_sum, user.ratios);
            ratio ? csv.add(*ratio) : csv.add("");
            csv.add(user.gpu_s / 3600).add(to_dollars(user.cost)).end_row();
        }
    }
    return csv.text();
}

std::string schedule_users_table(std::span<const ScheduledRun> runs) {
    if (!have_users(runs)) return {};
    constexpr std::size_t rows_most = 40;
    double longest_h = 0;
    for (const ScheduledRun& run : runs) {
        for (const UserSums& user : run.users) longest_h = std::max(longest_h, user.gpu_s / 3600);
    }
    const TimeUnit unit = table_time_unit(longest_h);
    std::string text = fmt::format("\n{:<21} {:<13} {:>6} {:>6} {:>6} {:>11} {:>7} {:>10} {:>10}\n",
                                   "scheduler", "user", "jobs", "done", "late", "mean (s)", "ratio",
                                   fmt::format("GPU {}", unit.symbol), "cost $");
    std::size_t rows = 0;
    for (const ScheduledRun& run : runs) {
        for (const UserSums& user : run.users) {
            if (++rows > rows_most) continue;
            const auto mean_s = mean_of_users(user.completion_s_sum, user.complete);
            const auto ratio = mean_of_users(user.finish_time_ratio_sum, user.ratios);
            text += fmt::format("{:<21} {:<13} {:>6} {:>6} {:>6} {:>11} {:>7} {:>10.2f} {:>10}\n",
                                run.scheduler, user.name.empty() ? "-" : one_line(user.name),
                                user.jobs, user.complete, user.late + user.refused,
                                mean_s ? fmt::format("{:.1f}", *mean_s) : "-",
                                ratio ? ratio_text(*ratio) : "-", user.gpu_s / 3600 * unit.per_hour,
                                fitted_usd(to_dollars(user.cost), 10));
        }
    }
    if (rows > rows_most) text += fmt::format("and {} more (users.csv)\n", rows - rows_most);
    std::string indices;
    for (const ScheduledRun& run : runs) {
        if (!run.user_jain_fairness) continue;
        indices += fmt::format("{}{} {:.3f}", indices.empty() ? "" : ", ", run.scheduler,
                               *run.user_jain_fairness);
    }
    if (indices.empty() || runs.size() > rows_most) return text;
    return text + fmt::format("\nJain's index of users, each by the mean ratio of his jobs: {}\n",
                              indices);
}

}  // namespace ukemi::analysis
