// gpu_hours_by_job.cpp — what the GPUs did that jobs of a shared cluster held: one stacked bar a
// job and scheduler, or a scheduler where there are too many jobs, by the ledger's six causes. What
// was held in all, and the share of it that was useful, stands at the ends.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "plots/stacked_bars.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t rows_max = 40;

using Hours = std::array<double, cost_causes.size()>;

double whole_of(const Hours& hours) { return std::accumulate(hours.begin(), hours.end(), 0.0); }

bool is_good(const JobHours& job) {
    return std::ranges::all_of(job.by_cause,
                               [](double value) { return std::isfinite(value) && value >= 0; });
}

std::vector<JobHours> by_scheduler(std::span<const JobHours> jobs) {
    std::vector<JobHours> sums;
    for (const JobHours& job : jobs) {
        auto sum = std::ranges::find(sums, job.scheduler, &JobHours::scheduler);
        if (sum == sums.end()) {
            sums.push_back({job.scheduler, "", {}});
            sum = sums.end() - 1;
        }
        for (std::size_t k = 0; k < job.by_cause.size(); ++k) sum->by_cause[k] += job.by_cause[k];
    }
    return sums;
}

std::string name_of(const JobHours& row) {
    return row.job.empty() ? row.scheduler : fmt::format("{}: {}", row.scheduler, row.job);
}

std::string table_of(std::span<const JobHours> rows) {
    std::vector<std::string> columns{"row"};
    for (const std::string_view cause : cost_causes) columns.push_back(fmt::format("{}_h", cause));
    columns.insert(columns.end(), {"held_h", "name"});
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        csv.add(i);
        for (const double hours : rows[i].by_cause) csv.add(hours);
        csv.add(whole_of(rows[i].by_cause)).add(one_line(name_of(rows[i]))).end_row();
    }
    return csv.text();
}

}  // namespace

FigureResult draw_gpu_hours_by_job(const FigureInput& input, const std::filesystem::path& folder,
                                   const FigureOptions& options) {
    if (input.job_hours.empty()) return {{}, "gpu_hours_by_job: there is nothing to draw"};
    if (!std::ranges::all_of(input.job_hours, is_good)) {
        return {{}, "gpu_hours_by_job: a number is negative or not finite"};
    }
    std::vector<JobHours> rows = input.job_hours;
    if (rows.size() > rows_max) rows = by_scheduler(rows);
    rows.resize(std::min(rows.size(), rows_max));
    double most_h = 0;
    for (const JobHours& row : rows) most_h = std::max(most_h, whole_of(row.by_cause));
    const TimeUnit unit = axis_time_unit(most_h);
    PolicyRows names;
    std::vector<BarEnd> ends;
    for (const JobHours& row : rows) {
        names.rows.push_back({name_of(row), {}, 0});
        const double whole = whole_of(row.by_cause) * unit.per_hour;
        std::string text = fmt::format("{:.4g} {}", whole, unit.symbol);
        if (whole > 0)
            text += fmt::format(", {} %", percent(row.by_cause[0] * unit.per_hour / whole));
        ends.push_back({whole, std::move(text)});
    }
    BarPanel panel{fmt::format("GPU time held ({}), useful share", unit.symbol),
                   {},
                   std::move(ends),
                   unit.per_hour};
    for (std::size_t k = 0; k < cost_causes.size(); ++k) {
        panel.parts.push_back({cost_causes[k], cause_fills[k], k + 2});
    }
    return produce(bars_figure("gpu_hours_by_job", table_of(rows),
                               row_layout(names, options.style, 1000), {&panel, 1}, options.style),
                   folder, options);
}

}  // namespace ukemi::plots
