// step_parts.cpp — where the time of a training step goes: one stacked bar a job or variant.
//
// Means over the steps after the warm-up, in the order in which a step has them; parts that no row
// has are left out. The whole step, and the share of it that is computation, stand at the ends.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/stacked_bars.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t step_rows_max = 40;
constexpr std::string_view computation = "compute";

// In the order of a step's parts; neighbours differ in grey as well.
constexpr std::array<BarFill, 12> step_fills = {{
    {colour::black, "solid 1.0"},
    {colour::orange, "solid 1.0"},
    {colour::blue, "solid 1.0"},
    {colour::light_grey, "solid 1.0"},
    {colour::purple, "pattern 1"},
    {colour::sky, "pattern 6"},
    {colour::green, "solid 1.0"},
    {colour::vermillion, "pattern 4"},
    {colour::black, "pattern 2"},
    {colour::green, "pattern 5"},
    {colour::grey, "pattern 7"},
    {colour::purple, "solid 1.0"},
}};

std::string problem_of(const StepPartsInput& input) {
    if (input.rows.empty() || input.parts.empty()) return "there is no step to draw";
    if (input.parts.size() > step_fills.size()) return "more parts than can be told apart";
    for (const StepPartsInput::Row& row : input.rows) {
        const bool good = row.part_s.size() == input.parts.size() &&
                          std::ranges::all_of(row.part_s, [](double value) {
                              return std::isfinite(value) && value >= 0;
                          });
        if (!good)
            return fmt::format("a number of {} is negative or not finite", one_line(row.name));
    }
    return {};
}

double whole_of(const StepPartsInput::Row& row) {
    return std::accumulate(row.part_s.begin(), row.part_s.end(), 0.0);
}

std::string table_of(const StepPartsInput& input) {
    std::vector<std::string> columns{"row"};
    for (const StepPartsInput::Part& part : input.parts) columns.push_back(part.name + "_s");
    columns.insert(columns.end(), {"step_s", "name"});
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < input.rows.size(); ++i) {
        csv.add(i);
        for (const double value : input.rows[i].part_s) csv.add(value);
        csv.add(whole_of(input.rows[i])).add(one_line(input.rows[i].name)).end_row();
    }
    return csv.text();
}

std::vector<BarPart> parts_of(const StepPartsInput& input) {
    std::vector<BarPart> parts;
    for (std::size_t i = 0; i < input.parts.size(); ++i) {
        const bool there = std::ranges::any_of(
            input.rows, [&](const StepPartsInput::Row& row) { return row.part_s[i] > 0; });
        if (there) parts.push_back({input.parts[i].words, step_fills[i], i + 2});
    }
    return parts;
}

}  // namespace

FigureResult draw_step_parts(const FigureInput& input, const std::filesystem::path& folder,
                             const FigureOptions& options) {
    if (!input.step_parts) return {{}, "step_parts: there is no step to draw"};
    StepPartsInput shown = *input.step_parts;
    const std::string problem = problem_of(shown);
    if (!problem.empty()) return {{}, "step_parts: " + problem};
    shown.rows.resize(std::min(shown.rows.size(), step_rows_max));
    PolicyRows names;
    double longest_s = 0;
    for (const StepPartsInput::Row& row : shown.rows) {
        names.rows.push_back({row.name, {}, 0});
        longest_s = std::max(longest_s, whole_of(row));
    }
    const bool milliseconds = longest_s < 1;
    const double factor = milliseconds ? 1e3 : 1;
    const auto compute = std::ranges::find(shown.parts, computation, &StepPartsInput::Part::name);
    std::vector<BarEnd> ends;
    for (const StepPartsInput::Row& row : shown.rows) {
        const double whole = whole_of(row);
        std::string text = fmt::format("{:.4g} {}", whole * factor, milliseconds ? "ms" : "s");
        if (compute != shown.parts.end() && whole > 0) {
            const double part = row.part_s[static_cast<std::size_t>(compute - shown.parts.begin())];
            text += fmt::format(", {} %", percent(part / whole));
        }
        ends.push_back({whole * factor, std::move(text)});
    }
    BarPanel panel{fmt::format("mean step ({}), share of compute", milliseconds ? "ms" : "s"),
                   parts_of(shown), std::move(ends), factor};
    if (panel.parts.empty()) return {{}, "step_parts: there is no step to draw"};
    const FigureSource figure =
        bars_figure("step_parts", table_of(shown), row_layout(names, options.style, 1000),
                    {&panel, 1}, options.style);
    FigureResult result = produce(figure, folder, options);
    if (input.step_parts->rows.size() > step_rows_max) {
        result.notes.push_back(fmt::format("step_parts: shows the first {} of {} rows",
                                           step_rows_max, input.step_parts->rows.size()));
    }
    return result;
}

}  // namespace ukemi::plots
