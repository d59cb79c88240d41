// cost_by_cause.cpp — where the dollars of each policy went: one stacked bar a policy.
//
// Means over the policy's runs, in the ledger's six categories, and what was paid for egress where
// any run paid for it. Each part has a colour and a pattern; the total, and the share of it that
// was useful, stands at the end of the bar. Where both spot and on-demand instances were bought, a
// thinner bar below has the same dollars by market.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/stacked_bars.hpp"

namespace ukemi::plots {
namespace {

constexpr int causes_width = 1000;

using Causes = std::array<double, cost_causes.size()>;
using Markets = std::array<double, bought_markets.size()>;

struct BoughtPart {
    std::string_view title;
    BarFill fill;
};
constexpr std::array<BoughtPart, bought_markets.size()> bought_parts = {{
    {"bought on spot", {colour::black, "empty"}},
    {"bought on demand", {colour::black, "solid 1.0"}},
}};

constexpr std::string_view egress_name = "egress";
constexpr BarFill egress_fill{colour::purple, "pattern 2"};

// Which columns and parts there are beside the causes.
struct BesideCauses {
    bool egress = false;
    bool markets = false;
};

const Causes& causes_of(const RunPoint& run) { return run.usd_by_cause; }
const Markets& markets_of(const RunPoint& run) { return *run.usd_by_market; }

template <class Values>
Values mean_of(const PolicyRow& row, const Values& (*of)(const RunPoint&)) {
    Values mean{};
    for (const RunPoint* run : row.runs) {
        for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += of(*run)[k];
    }
    for (double& value : mean) value /= static_cast<double>(row.runs.size());
    return mean;
}

// Whether it is known of all runs where their instances were bought, and it was not one market.
bool shows_markets(std::span<const RunPoint> runs) {
    Markets most{};
    for (const RunPoint& run : runs) {
        if (!run.usd_by_market) return false;
        for (std::size_t k = 0; k < most.size(); ++k) {
            most[k] = std::max(most[k], markets_of(run)[k]);
        }
    }
    return std::ranges::all_of(most, [](double usd) { return usd > 0; });
}

// Of a row, the means over its runs.
struct Costs {
    Causes causes{};
    double egress = 0;
    double total() const { return std::accumulate(causes.begin(), causes.end(), 0.0) + egress; }
};

Costs costs_of(const PolicyRow& row) {
    Costs costs{mean_of(row, &causes_of)};
    for (const RunPoint* run : row.runs) costs.egress += run->egress_usd;
    costs.egress /= static_cast<double>(row.runs.size());
    return costs;
}

std::string table_of(const PolicyRows& rows, const BesideCauses& shown) {
    std::vector<std::string> columns{"row", "runs"};
    const auto add_columns = [&](std::span<const std::string_view> names) {
        for (const std::string_view name : names) columns.push_back(fmt::format("{}_usd", name));
    };
    add_columns(cost_causes);
    if (shown.egress) add_columns({&egress_name, 1});
    columns.emplace_back("total_usd");
    if (shown.markets) add_columns(bought_markets);
    columns.emplace_back("policy");
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        const PolicyRow& row = rows.rows[i];
        const Costs mean = costs_of(row);
        csv.add(i).add(row.runs.size());
        for (const double value : mean.causes) csv.add(value);
        if (shown.egress) csv.add(mean.egress);
        csv.add(mean.total());
        if (shown.markets) {
            for (const double value : mean_of(row, &markets_of)) csv.add(value);
        }
        csv.add(one_line(row.policy)).end_row();
    }
    return csv.text();
}

std::string money(double usd) {
    if (usd >= 1000) return fmt::format("{:.0f} USD", usd);
    return fmt::format("{:.{}f} USD", usd, usd >= 100 ? 1 : usd >= 1 ? 2 : 4);
}

std::string total_text(const Costs& mean, bool narrow) {
    const double total = mean.total();
    if (total <= 0) return money(total);
    return fmt::format("{}, {} %{}", money(total), percent(mean.causes[0] / total),
                       narrow ? "" : " useful");
}

BarPanel panel_of(const PolicyRows& rows, const BesideCauses& shown, bool narrow) {
    BarPanel panel;
    panel.axis = fmt::format("mean cost{}", narrow ? " (USD), useful share" : " of a run (USD)");
    // Columns: row, runs, the causes from the third on, egress, their total, the markets.
    std::size_t column = 3;
    for (std::size_t k = 0; k < cost_causes.size(); ++k) {
        panel.parts.push_back({cost_causes[k], cause_fills[k], column++});
    }
    if (shown.egress) panel.parts.push_back({egress_name, egress_fill, column++});
    ++column;
    if (shown.markets) {
        for (const BoughtPart& part : bought_parts) {
            panel.other_parts.push_back({part.title, part.fill, column++});
        }
        if (shown.egress) panel.other_parts.push_back(panel.parts.back());
    }
    for (const PolicyRow& row : rows.rows) {
        const Costs mean = costs_of(row);
        panel.ends.push_back({mean.total(), total_text(mean, narrow)});
    }
    return panel;
}

}  // namespace

FigureResult draw_cost_by_cause(const FigureInput& input, const std::filesystem::path& folder,
                                const FigureOptions& options) {
    const PolicyRows rows = group_by_policy(input.runs);
    if (!rows.problem.empty()) return {{}, "cost_by_cause: " + rows.problem};
    const RowLayout layout = row_layout(rows, options.style, causes_width);
    const BesideCauses shown{
        std::ranges::any_of(input.runs, [](const RunPoint& run) { return run.egress_usd > 0; }),
        shows_markets(input.runs)};
    const BarPanel panel = panel_of(rows, shown, layout.width < narrow_width);
    return produce(
        bars_figure("cost_by_cause", table_of(rows, shown), layout, {&panel, 1}, options.style),
        folder, options);
}

}  // namespace ukemi::plots
