// transition_phases.cpp — what changes of the training group cost: stacked bars, a colour a phase.
//
// On the left for how long the group stands still, on the right how long machines are kept busy:
// where a worker starts while the others train, and during a notice, only the right side grows.
// Means of a run; the sums stand at the ends of the bars.
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

constexpr int phases_width = 1100;

using Parts = std::array<double, transition_parts.size()>;

constexpr std::array<BarFill, transition_parts.size()> phase_fills = {{
    {colour::light_grey, "solid 1.0"},
    {colour::green, "pattern 5"},
    {colour::orange, "solid 1.0"},
    {colour::blue, "solid 1.0"},
    {colour::vermillion, "pattern 4"},
    {colour::purple, "pattern 1"},
}};

double sum_of(const Parts& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

std::string problem_of(const std::vector<TransitionRow>& rows) {
    if (rows.empty()) return "there are no transitions to draw";
    const auto drawable = [](double value) { return std::isfinite(value) && value >= 0; };
    for (const TransitionRow& row : rows) {
        const bool good = drawable(row.transitions) &&
                          std::ranges::all_of(row.standstill_s, drawable) &&
                          std::ranges::all_of(row.machine_h, drawable);
        if (good) continue;
        return fmt::format("a number of {} is negative or not finite", one_line(row.name));
    }
    return {};
}

std::string table_of(const std::vector<TransitionRow>& rows) {
    std::vector<std::string> columns{"row", "transitions"};
    for (const std::string_view unit : {"s", "machine_h"}) {
        for (const std::string_view part : transition_parts) {
            std::string column(part);
            std::ranges::replace(column, '-', '_');
            columns.push_back(fmt::format("{}_{}", column, unit));
        }
        columns.push_back(unit == "s" ? "standstill_s" : "machine_h");
    }
    columns.emplace_back("name");
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        csv.add(static_cast<std::int64_t>(i)).add(rows[i].transitions);
        for (const Parts* parts : {&rows[i].standstill_s, &rows[i].machine_h}) {
            for (const double value : *parts) csv.add(value);
            csv.add(sum_of(*parts));
        }
        csv.add(one_line(rows[i].name)).end_row();
    }
    return csv.text();
}

std::string short_number(double value) {
    return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 1 ? 1 : 3);
}

struct PhasePanel {
    std::string_view name;
    Parts TransitionRow::*parts;
    std::size_t first = 0;  // column of the table
    std::string_view axis;  // without its unit
    double hours = 1;       // of one in the table
};
// Columns: row, transitions, then the phases and their sum, twice.
constexpr PhasePanel phase_panels[] = {
    {"standstill", &TransitionRow::standstill_s, 3, "standstill in changes", 1 / 3600.0},
    {"machines", &TransitionRow::machine_h, 3 + transition_parts.size() + 1, "machines kept busy",
     1}};

std::string sum_text(const TransitionRow& row, const PhasePanel& panel, const TimeUnit& unit) {
    const double sum = sum_of(row.*panel.parts) * panel.hours * unit.per_hour;
    const std::string text = fmt::format("{} {}", short_number(sum), unit.symbol);
    if (panel.name == "machines") return text;
    return fmt::format("{} in {:.4g}", text, row.transitions);
}

std::vector<BarPart> parts_of_phases(std::size_t first) {
    std::vector<BarPart> parts;
    for (std::size_t k = 0; k < transition_parts.size(); ++k) {
        parts.push_back({transition_parts[k], phase_fills[k], first + k});
    }
    return parts;
}

BarPanel panel_of(const std::vector<TransitionRow>& rows, const PhasePanel& panel) {
    double most_h = 0;
    for (const TransitionRow& row : rows) {
        most_h = std::max(most_h, sum_of(row.*panel.parts) * panel.hours);
    }
    const TimeUnit unit = axis_time_unit(most_h);
    BarPanel bars{fmt::format("{} ({} a run)", panel.axis, unit.symbol),
                  parts_of_phases(panel.first),
                  {},
                  panel.hours * unit.per_hour};
    for (const TransitionRow& row : rows) {
        bars.ends.push_back({sum_of(row.*panel.parts) * bars.factor, sum_text(row, panel, unit)});
    }
    return bars;
}

}  // namespace

FigureResult draw_transition_phases(const FigureInput& input, const std::filesystem::path& folder,
                                    const FigureOptions& options) {
    const std::vector<TransitionRow>& rows = input.transitions;
    const std::string problem = problem_of(rows);
    if (!problem.empty()) return {{}, "transition_phases: " + problem};
    PolicyRows names;
    for (const TransitionRow& row : rows) names.rows.push_back({row.name, {}, 0});
    std::vector<BarPanel> shown;
    for (const PhasePanel& panel : phase_panels) {
        if (options.style.shows("transition_phases", panel.name)) {
            shown.push_back(panel_of(rows, panel));
        }
    }
    if (shown.empty()) return {};
    return produce(
        bars_figure("transition_phases", table_of(rows),
                    row_layout(names, options.style, phases_width), shown, options.style),
        folder, options);
}

}  // namespace ukemi::plots
