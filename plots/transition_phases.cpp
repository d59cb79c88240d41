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
#include "plots/policy_rows.hpp"

namespace ukemi::plots {
namespace {

constexpr int phases_width = 1100;
constexpr int above_phases = 62;

using Parts = std::array<double, transition_parts.size()>;

constexpr std::array<BarFill, transition_parts.size()> phase_fills = {{
    {colour::grey, "pattern 0"},
    {colour::green, "pattern 5"},
    {colour::orange, "pattern 2"},
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

// Bars from the table's column `first` on, and their sums beside them.
std::string panel(const std::vector<TransitionRow>& rows, std::size_t first,
                  const Parts TransitionRow::*parts, bool titles) {
    std::string text;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double sum = sum_of(rows[i].*parts);
        const std::string said =
            titles ? fmt::format("{} s in {:.4g}", short_number(sum), rows[i].transitions)
                   : fmt::format("{} h", short_number(sum));
        text +=
            fmt::format("    set label {} '{}' at {},{} left offset 0.8,0\n", i + 1, said, sum, i);
    }
    text += "    plot ";
    for (std::size_t k = 0; k < transition_parts.size(); ++k) {
        const std::size_t column = first + k;
        text += fmt::format(
            "{0} skip 1 using (${2} > 0 ? 0 : NaN):1:({1}):(upto({3},{2})):($1-0.3):($1+0.3) "
            "with boxxyerror lc rgb '{4}' fs {5} border lc rgb '{6}' {7}{8}",
            k == 0 ? "'transition_phases.csv'" : "''",
            k == 0 ? std::string("0") : fmt::format("upto({},{})", first, column - 1), column,
            first, phase_fills[k].colour, phase_fills[k].style, colour::black,
            titles ? fmt::format("title '{}'", transition_parts[k]) : std::string("notitle"),
            k + 1 < transition_parts.size() ? ", \\\n        " : "\n");
    }
    return text;
}

double longest_of(const std::vector<TransitionRow>& rows, const Parts TransitionRow::*parts) {
    double longest = 0;
    for (const TransitionRow& row : rows) longest = std::max(longest, sum_of(row.*parts));
    return longest > 0 ? longest : 1;
}

}  // namespace

FigureResult draw_transition_phases(const FigureInput& input, const std::filesystem::path& folder,
                                    const FigureOptions& options) {
    const std::vector<TransitionRow>& rows = input.transitions;
    const std::string problem = problem_of(rows);
    if (!problem.empty()) return {{}, "transition_phases: " + problem};
    PolicyRows names;
    for (const TransitionRow& row : rows) names.rows.push_back({row.name, {}, 0});
    const RowLayout layout = row_layout(names, phases_width, above_phases);

    FigureSource figure;
    figure.name = "transition_phases";
    figure.width = layout.width;
    figure.height = layout.height;
    figure.data = {{"transition_phases.csv", table_of(rows)}};
    figure.settings = layout.settings +
                      "set border 3 lw 0.8\nset grid x lt 1 lw 0.6 lc rgb '#dddddd'\n"
                      "set xtics nomirror out format '%g'\n"
                      "upto(a,b) = sum [c=a:b] column(c)\n";
    // Room beside the longest bar for its sum.
    constexpr double right = 0.985;
    constexpr double beside = 1.42;
    const double middle = layout.left + (right - layout.left) / 2;
    const double longest_s = longest_of(rows, &TransitionRow::standstill_s);
    const double longest_h = longest_of(rows, &TransitionRow::machine_h);
    constexpr std::size_t first_s = 3;  // columns: row, transitions, then the phases
    constexpr std::size_t first_h = first_s + transition_parts.size() + 1;
    figure.drawing = fmt::format(
        "    set multiplot\n"
        "    set bmargin at screen {bottom}\n    set tmargin at screen {top}\n"
        "    set lmargin at screen {left}\n    set rmargin at screen {left_end}\n"
        "    set key at screen 0.5,screen {key} center top vertical maxrows 1 Left reverse samplen "
        "2.5\n"
        "    set xlabel 'the group stands still (s a run), in so many changes'\n"
        "    set xrange [0:{longest_s}]\n    set xtics {tics_s}\n{names}{standstill}"
        "    unset key\n    unset label\n"
        "    set lmargin at screen {right_begin}\n    set rmargin at screen {right}\n"
        "    set xlabel 'machines kept busy (h a run)'\n"
        "    set xrange [0:{longest_h}]\n    set xtics {tics_h}\n{machines}"
        "    unset label\n    unset multiplot\n",
        fmt::arg("bottom", layout.bottom), fmt::arg("top", layout.top),
        fmt::arg("left", layout.left), fmt::arg("left_end", middle - 0.02),
        fmt::arg("key", 1 - 10.0 / layout.height), fmt::arg("longest_s", longest_s * beside),
        fmt::arg("tics_s", tic_step(longest_s * beside, 6)), fmt::arg("names", layout.drawing),
        fmt::arg("standstill", panel(rows, first_s, &TransitionRow::standstill_s, true)),
        fmt::arg("right_begin", middle + 0.02), fmt::arg("right", right),
        fmt::arg("longest_h", longest_h * beside),
        fmt::arg("tics_h", tic_step(longest_h * beside, 6)),
        fmt::arg("machines", panel(rows, first_h, &TransitionRow::machine_h, false)));
    return produce(figure, folder, options);
}

}  // namespace ukemi::plots
