#include "plots/run_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t lines_max = 12;
constexpr std::size_t points_max = 2000;  // of a line

struct Look {
    std::string_view colour;
    std::string_view dash;
};
constexpr std::array<Look, lines_max> looks = {{
    {colour::blue, "1"},
    {colour::vermillion, "(10,4)"},
    {colour::green, "(3,3)"},
    {colour::purple, "(12,3,3,3)"},
    {colour::orange, "(6,3)"},
    {colour::black, "(2,5)"},
    {colour::sky, "(14,3,2,3,2,3)"},
    {colour::blue, "(6,6)"},
    {colour::vermillion, "(2,2)"},
    {colour::green, "(12,6)"},
    {colour::purple, "(4,2,1,2)"},
    {colour::orange, "1"},
}};

// What is left where values repeat or points are too many to be told apart. The last one stays.
PlotPoints thinned(const PlotPoints& points, bool steps) {
    PlotPoints kept;
    const std::size_t stride = points.size() / points_max + 1;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const bool last = i + 1 == points.size();
        const bool changes = i == 0 || points[i].second != points[i - 1].second;
        if (last || (steps ? changes : i % stride == 0)) kept.push_back(points[i]);
    }
    return kept;
}

bool has_band(const std::vector<RunLine>& lines) {
    return std::ranges::any_of(lines, [](const RunLine& line) { return !line.band.low.empty(); });
}

// A line without a band lies between itself and itself.
std::string table_of(const std::vector<RunLine>& lines, const RunLinesStyle& style) {
    const bool bands = has_band(lines);
    std::vector<std::string> columns{"line", style.axis_column, style.column};
    if (bands) columns.insert(columns.end(), {"low", "high"});
    columns.emplace_back("run");  // last: gnuplot counts the commas of a quoted name
    CsvWriter csv(columns);
    for (std::size_t line = 0; line < lines.size(); ++line) {
        const RunLine& one = lines[line];
        const bool banded = !one.band.low.empty();
        const PlotPoints points = banded ? one.points : thinned(one.points, style.steps);
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto& [at, value] = points[i];
            csv.add(line).add(at).add(value);
            if (bands) csv.add(banded ? one.band.low[i].second : value);
            if (bands) csv.add(banded ? one.band.high[i].second : value);
            csv.add(one_line(one.name));
            csv.end_row();
        }
    }
    return csv.text();
}

FigureSource source_of(const std::vector<RunLine>& lines, const RunLinesStyle& style) {
    FigureSource figure;
    figure.name = style.figure;
    const std::string file = style.figure + ".csv";
    figure.data = {{file, table_of(lines, style)}};
    double last_h = 0;
    double most = 0;
    double longest = 0;
    std::string names = fmt::format("array names[{}]\n", lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string label = label_text(lines[i].name, 44);
        names += fmt::format("names[{}] = {}\n", i + 1, gnuplot_string(label));
        longest = std::max(longest, label_width(label));
        last_h = std::max(last_h, lines[i].points.back().first);
        for (const auto& [at, value] : lines[i].points) most = std::max(most, value);
        for (const auto& [at, value] : lines[i].band.high) most = std::max(most, value);
    }
    constexpr int panel = 680;
    figure.width = panel + static_cast<int>(longest) + 80;
    figure.height = 440;
    const double right = static_cast<double>(panel) / figure.width;
    const std::string range =
        style.log_scale
            ? std::string("set logscale y\nset yrange [*:*]\n")
            : fmt::format("set yrange [{}:{}]\n", style.low,
                          most > style.low ? style.low + 1.04 * (most - style.low) : style.low + 1);
    figure.settings = fmt::format(
        "set border 3 lw 0.8\nset grid lt 1 lw 0.6 lc rgb '#dddddd'\nset xtics nomirror out\n"
        "set ytics nomirror out format '%g'\nset xrange [0:{}]\n{}"
        "set lmargin at screen {}\nset rmargin at screen {}\nset bmargin at screen 0.13\n"
        "set tmargin at screen 0.96\nset key at screen {},screen 0.96 left top vertical Left "
        "reverse samplen 4 spacing 1.2\nset xlabel {}\nset ylabel {}\n{}",
        last_h > 0 ? 1.02 * last_h : 1, range, 86.0 / figure.width, right, right + 0.01,
        gnuplot_string(style.axis), gnuplot_string(style.value), names);
    figure.drawing = "    plot ";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].band.low.empty()) continue;
        figure.drawing += fmt::format(
            "'{}' skip 1 using (column(1) == {} ? column(2) : NaN):4:5 with filledcurves fs "
            "transparent solid 0.18 noborder lc rgb '{}' notitle, \\\n        ",
            file, i, looks[i].colour);
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        figure.drawing += fmt::format(
            "{}'{}' skip 1 using (column(1) == {} ? column(2) : NaN):3 with {} lt 1 lw 2 dt {} lc "
            "rgb '{}' title names[{}]",
            i == 0 ? "" : ", \\\n        ", file, i, style.steps ? "steps" : "lines", looks[i].dash,
            looks[i].colour, i + 1);
    }
    figure.drawing += "\n";
    return figure;
}

}  // namespace

FigureResult draw_run_lines(const std::vector<RunLine>& lines, const RunLinesStyle& style,
                            const std::filesystem::path& folder, const FigureOptions& options) {
    std::vector<RunLine> drawn;
    for (const RunLine& line : lines) {
        if (line.points.empty()) continue;
        const bool positive =
            std::ranges::all_of(line.points, [](const auto& point) { return point.second > 0; });
        const auto beside = [&](const PlotPoints& edge) {
            if (edge.empty()) return true;
            const bool drawable =
                !style.log_scale ||
                std::ranges::all_of(edge, [](const auto& point) { return point.second > 0; });
            return drawable && edge.size() == line.points.size() && finite_and_ordered(edge);
        };
        const bool banded = beside(line.band.low) && beside(line.band.high) &&
                            line.band.low.size() == line.band.high.size();
        if (!finite_and_ordered(line.points) || !banded || (style.log_scale && !positive)) {
            return {{}, fmt::format("{}: a run has values that cannot be drawn", style.figure)};
        }
        if (drawn.size() < lines_max) drawn.push_back(line);
    }
    if (drawn.empty()) return {{}, style.figure + ": there is no run to draw"};
    FigureResult result = produce(source_of(drawn, style), folder, options);
    if (lines.size() > lines_max) {
        result.notes.push_back(fmt::format("{}: shows the first {} of {} runs", style.figure,
                                           lines_max, lines.size()));
    }
    return result;
}

}  // namespace ukemi::plots
