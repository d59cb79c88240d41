// cost_by_cause.cpp — where the dollars of each policy went: one stacked bar a policy.
//
// Means over the policy's runs, in the ledger's six categories. Each category has a colour and a
// pattern; the total, and the share of it that was useful, stands at the end of the bar.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/policy_rows.hpp"

namespace ukemi::plots {
namespace {

constexpr int causes_width = 1000;
constexpr int above_causes = 46;

using Causes = std::array<double, cost_causes.size()>;

constexpr std::array<BarFill, cost_causes.size()> cause_fills = {{
    {colour::blue, "solid 1.0"},
    {colour::vermillion, "pattern 4"},
    {colour::orange, "pattern 2"},
    {colour::green, "pattern 5"},
    {colour::grey, "pattern 0"},
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

std::string labels(const PolicyRows& rows) {
    std::string text;
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        const Causes mean = mean_causes(rows.rows[i]);
        const double total = total_of(mean);
        const std::string useful =
            total > 0 ? fmt::format(", {} % useful", percent(mean[0] / total)) : std::string();
        text += fmt::format("    set label {} '{}{}' at {},{} left boxed offset 0.8,0\n", i + 1,
                            money(total), useful, total, i);
    }
    return text;
}

}  // namespace

FigureResult draw_cost_by_cause(const FigureInput& input, const std::filesystem::path& folder,
                                const FigureOptions& options) {
    const PolicyRows rows = group_by_policy(input.runs);
    if (!rows.problem.empty()) return {{}, "cost_by_cause: " + rows.problem};
    const RowLayout layout = row_layout(rows, causes_width, above_causes);

    double longest = 0;
    for (const PolicyRow& row : rows.rows) longest = std::max(longest, total_of(mean_causes(row)));

    FigureSource figure;
    figure.name = "cost_by_cause";
    figure.width = layout.width;
    figure.height = layout.height;
    figure.data = {{"cost_by_cause.csv", table_of_causes(rows)}};
    figure.settings =
        layout.settings +
        fmt::format(
            "set border 3 lw 0.8\nset style textbox opaque noborder margins 0.2,0.2\nset grid x lt "
            "1 lw 0.6 lc rgb '#dddddd'\nset xtics nomirror out format '%g'\n"
            "set xlabel 'mean cost of a run (USD)'\nset xrange [0:{}]\n"
            "upto(k) = sum [c=3:k] column(c)\n",
            longest > 0 ? longest * 1.02 : 1);

    std::string plot = "    plot ";
    for (std::size_t k = 0; k < cost_causes.size(); ++k) {
        // Columns: row, runs, then the causes from the third on.
        const std::size_t column = k + 3;
        plot += fmt::format(
            "{0} skip 1 using (${2} > 0 ? 0 : NaN):1:({1}):(upto({2})):($1-0.3):($1+0.3) "
            "with boxxyerror lc rgb '{3}' "
            "fs {4} border lc rgb '{5}' title '{6}'{7}",
            k == 0 ? "'cost_by_cause.csv'" : "''",
            k == 0 ? std::string("0") : fmt::format("upto({})", column - 1), column,
            cause_fills[k].colour, cause_fills[k].style, colour::black, cost_causes[k],
            k + 1 < cost_causes.size() ? ", \\\n        " : "\n");
    }
    figure.drawing = fmt::format(
        "    set lmargin at screen {}\n    set rmargin at screen 0.80\n"
        "    set bmargin at screen {}\n    set tmargin at screen {}\n"
        "    set key at screen 0.5,screen {} center top vertical maxrows 1 Left reverse samplen "
        "2.5\n{}{}{}    "
        "unset label\n",
        layout.left, layout.bottom, layout.top, 1 - 12.0 / layout.height, layout.drawing,
        labels(rows), plot);
    return produce(figure, folder, options);
}

}  // namespace ukemi::plots
