// cost_by_cause.cpp — where the dollars of each policy went: one stacked bar a policy.
//
// Means over the policy's runs, in the ledger's six categories. Each category has a colour and a
// pattern; the total, and the share of it that was useful, stands at the end of the bar.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/panels.hpp"
#include "plots/policy_rows.hpp"
#include "plots/stacked_bars.hpp"

namespace ukemi::plots {
namespace {

constexpr int causes_width = 1000;

using Causes = std::array<double, cost_causes.size()>;

constexpr std::array<BarFill, cost_causes.size()> cause_fills = {{
    {colour::blue, "solid 1.0"},
    {colour::vermillion, "pattern 4"},
    {colour::orange, "solid 1.0"},
    {colour::green, "pattern 5"},
    {colour::light_grey, "solid 1.0"},
    {colour::black, "pattern 1"},
}};

Causes mean_causes(const PolicyRow& row) {
    Causes mean{};
    for (const RunPoint* run : row.runs) {
        for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += run->usd_by_cause[k];
    }
    for (double& value : mean) value /= static_cast<double>(row.runs.size());
    return mean;
}

double total_of(const Causes& causes) { return std::accumulate(causes.begin(), causes.end(), 0.0); }

std::string table_of_causes(const PolicyRows& rows) {
    std::vector<std::string> columns{"row", "runs"};
    for (const std::string_view cause : cost_causes)
        columns.push_back(fmt::format("{}_usd", cause));
    columns.insert(columns.end(), {"total_usd", "policy"});
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        const Causes mean = mean_causes(rows.rows[i]);
        csv.add(static_cast<std::int64_t>(i));
        csv.add(static_cast<std::int64_t>(rows.rows[i].runs.size()));
        for (const double value : mean) csv.add(value);
        csv.add(total_of(mean)).add(one_line(rows.rows[i].policy));
        csv.end_row();
    }
    return csv.text();
}

std::string money(double usd) {
    if (usd >= 1000) return fmt::format("{:.0f} USD", usd);
    return fmt::format("{:.{}f} USD", usd, usd >= 100 ? 1 : usd >= 1 ? 2 : 4);
}

std::string total_text(const Causes& mean, bool narrow) {
    const double total = total_of(mean);
    if (total <= 0) return money(total);
    return fmt::format("{}, {} %{}", money(total), percent(mean[0] / total),
                       narrow ? "" : " useful");
}

// Columns: row, runs, then the causes from the third on.
std::vector<BarPart> parts_of_causes() {
    std::vector<BarPart> parts;
    for (std::size_t k = 0; k < cost_causes.size(); ++k) {
        parts.push_back({cost_causes[k], cause_fills[k], k + 3});
    }
    return parts;
}

}  // namespace

FigureResult draw_cost_by_cause(const FigureInput& input, const std::filesystem::path& folder,
                                const FigureOptions& options) {
    const PolicyRows rows = group_by_policy(input.runs);
    if (!rows.problem.empty()) return {{}, "cost_by_cause: " + rows.problem};
    const RowLayout layout = row_layout(rows, options.style, causes_width);
    const bool narrow = layout.width < narrow_width;
    const std::vector<BarPart> parts = parts_of_causes();
    const Legend legend(options.style.place(LegendPlace::above), bar_entries(parts),
                        layout.width - 20);
    Panels panels;
    panels.width = layout.width;
    panels.left = layout.left;
    panels.high = layout.high;
    panels.make_room(legend);
    std::vector<BarEnd> ends;
    for (const PolicyRow& row : rows.rows) {
        const Causes mean = mean_causes(row);
        ends.push_back({total_of(mean), total_text(mean, narrow)});
    }

    FigureSource figure;
    figure.name = "cost_by_cause";
    figure.width = layout.width;
    figure.height = panels.height();
    figure.data = {{"cost_by_cause.csv", table_of_causes(rows)}};
    figure.settings =
        layout.settings +
        fmt::format(
            "set border 3 lw 0.8\nset style textbox opaque noborder margins 0.2,0.2\nset grid x lt "
            "1 lw 0.6 lc rgb '#dddddd'\nset xtics nomirror out format '%g'\n"
            "set xlabel 'mean cost{}'\n",
            narrow ? " (USD), useful share" : " of a run (USD)");
    figure.drawing = panels.margins(0) +
                     legend.settings(figure.width, figure.height, panels.above) + layout.names +
                     stacked_bars("cost_by_cause.csv", parts, ends, panels.wide()) +
                     legend.plots() + "\n    unset label\n";
    return produce(figure, folder, options);
}

}  // namespace ukemi::plots
