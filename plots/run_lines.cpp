#include "plots/run_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "plots/panels.hpp"
#include "plots/policy_looks.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t lines_max = 12;
constexpr std::size_t points_max = 2000;  // of a line

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

PlotPoints shown_points(const RunLine& line, const RunLinesStyle& style) {
    return line.band.low.empty() ? thinned(line.points, style.steps) : line.points;
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
        const PlotPoints points = shown_points(one, style);
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

struct Drawn {
    std::string file;
    std::vector<PolicyLook> looks;
    double factor = 1;  // from the table's x to the axis
};

// Bands below, then lines, then a few points on each: in grey, dashes alone are hard to tell apart.
std::string plot_of(const std::vector<RunLine>& lines, const RunLinesStyle& style,
                    const Drawn& drawn) {
    constexpr std::size_t marks = 7;
    std::vector<std::string> bands;
    std::vector<std::string> all;
    std::size_t row = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t count = shown_points(lines[i], style).size();
        const std::size_t begin = row;
        row += count;
        const PolicyLook& look = drawn.looks[i];
        const auto rows = [&](std::size_t every, std::size_t first) {
            return fmt::format("'{}' skip 1 every {}::{}::{} using ($2*{})", drawn.file, every,
                               first, row - 1, drawn.factor);
        };
        if (!lines[i].band.low.empty()) {
            bands.push_back(
                fmt::format("{}:4:5 with filledcurves fs transparent solid 0.18 "
                            "noborder lc rgb '{}' notitle",
                            rows(1, begin), look.colour));
        }
        all.push_back(fmt::format("{}:3 with {} lt 1 lw 2 dt {} lc rgb '{}' notitle",
                                  rows(1, begin), style.steps ? "steps" : "lines", look.dash,
                                  look.colour));
        // Not at the same places on each.
        const std::size_t every = std::max<std::size_t>(1, count / marks);
        const std::size_t first =
            begin + (every * i / std::max<std::size_t>(lines.size(), 1)) % count;
        all.push_back(fmt::format("{}:3 with points pt {} ps 0.8 lc rgb '{}' notitle",
                                  rows(every, first), look.point, look.colour));
    }
    bands.insert(bands.end(), all.begin(), all.end());
    return fmt::format("    plot {}", fmt::join(bands, ", \\\n        "));
}

std::string value_axis(const RunLinesStyle& style, double least, double most) {
    if (!style.log_scale) {
        return fmt::format(
            "set yrange [{}:{}]\n", style.low,
            most > style.low ? style.low + 1.04 * (most - style.low) : style.low + 1);
    }
    const double beyond = most < 4 * least ? 2.2 : 1.25;  // so that there are tics
    return fmt::format("set logscale y\nset yrange [{}:{}]\nset ytics {}\n", least / beyond,
                       most * beyond, log_tics({least / beyond, most * beyond}));
}

FigureSource source_of(const std::vector<RunLine>& lines, const RunLinesStyle& style,
                       const FigureStyle& look) {
    FigureSource figure;
    figure.name = style.figure;
    Drawn drawn{style.figure + ".csv", {}, 1};
    figure.data = {{drawn.file, table_of(lines, style)}};
    figure.width = look.width(1000);
    const bool narrow = figure.width < narrow_width;
    double last = 0;
    double least = std::numeric_limits<double>::max();
    double most = 0;
    std::vector<std::string> names;
    for (const RunLine& line : lines) {
        names.push_back(line.name);
        last = std::max(last, line.points.back().first);
        for (const PlotPoints* points : {&line.points, &line.band.low, &line.band.high}) {
            for (const auto& [at, value] : *points) {
                least = std::min(least, value);
                most = std::max(most, value);
            }
        }
    }
    drawn.looks = looks_of(names);
    std::string arrays = fmt::format("array names[{}]\n", lines.size());
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string label =
            label_text(lines[i].name, narrow ? static_cast<std::size_t>(figure.width) / 10 : 44);
        arrays += fmt::format("names[{}] = {}\n", i + 1, gnuplot_string(label));
        entries.push_back(
            {label, fmt::format("names[{}]", i + 1),
             fmt::format("linespoints lt 1 lw 2 dt {} pt {} ps 0.8 lc rgb '{}'",
                         drawn.looks[i].dash, drawn.looks[i].point, drawn.looks[i].colour)});
    }
    if (has_band(lines)) {
        entries.push_back(own_entry(
            "95 % interval", fmt::format("boxes fs solid 0.3 noborder lc rgb '{}'", colour::grey)));
    }
    const Legend legend(look.place(narrow ? LegendPlace::below : LegendPlace::right),
                        std::move(entries), figure.width - 20);
    Panels panels;
    panels.width = figure.width;
    constexpr double beside_numbers = 51;  // the axis' name, a tic, and what is between them
    panels.left =
        std::max(76.0, beside_numbers +
                           label_width(fmt::format(
                               "{:.0f}", std::max(1000.0, style.log_scale ? 2.2 * most : most))));
    panels.above = 14;
    panels.right = 24;
    panels.make_room(legend);
    panels.high = std::clamp(0.55 * panels.wide(), 240.0, 370.0);
    figure.height = panels.height();
    std::string axis = style.axis;
    if (style.axis_column == "t_h") {
        const TimeUnit unit = axis_time_unit(last);
        drawn.factor = unit.per_hour;
        axis = fmt::format("time ({})", unit.symbol);
    }
    const std::string range = value_axis(style, least, most);
    const double end = last > 0 ? 1.02 * last * drawn.factor : 1;
    figure.settings = fmt::format(
        "set border 3 lw 0.8\nset grid lt 1 lw 0.6 lc rgb '#dddddd'\n"
        "set xtics {} nomirror out format '%g'\n"
        "set ytics nomirror out format '%g'\nset xrange [0:{}]\n{}set xlabel {}\nset ylabel {}\n{}",
        tic_step(end, tics_on(panels.wide())), end, range, gnuplot_string(axis),
        gnuplot_string(style.value), arrays);
    figure.drawing = panels.margins(0) +
                     legend.settings(figure.width, figure.height, panels.above) +
                     plot_of(lines, style, drawn) + legend.plots() + "\n";
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
    FigureResult result = produce(source_of(drawn, style, options.style), folder, options);
    if (lines.size() > lines_max) {
        result.notes.push_back(fmt::format("{}: shows the first {} of {} runs", style.figure,
                                           lines_max, lines.size()));
    }
    return result;
}

}  // namespace ukemi::plots
