// cost_against_deadline.cpp — what more time saves: cost over the deadline, a line a policy.
//
// The first panel pools all traces and seeds; with several traces each has a panel of its own, on
// the same axes. A point is the median over the runs, the band goes from quartile to quartile. A
// point that stands for missed deadlines is a cross: cheap, but not what was asked for. Variants
// that differ in more than the deadline get a figure each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/statistics.hpp"
#include "base/time_unit.hpp"
#include "plots/legend.hpp"
#include "plots/policy_looks.hpp"
#include "plots/policy_rows.hpp"
#include "plots/title.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t figures_max = 12;
constexpr std::size_t policies_max = 12;
constexpr std::size_t panels_max = 12;  // of single traces

struct Point {
    double deadline_h = 0;
    std::vector<double> costs_usd;
    std::size_t missed = 0;
};
struct Line {
    std::string policy;
    std::map<double, Point> points;  // by deadline
};
struct Panel {
    std::string trace;  // empty: all of them
    std::vector<Line> lines;
};

// The policies of a figure, the cheapest on average first.
std::vector<std::string> policies_of(const PolicyRows& rows) {
    std::vector<std::string> names;
    for (const PolicyRow& row : rows.rows) names.push_back(row.policy);
    return names;
}

Panel panel_of(std::span<const RunPoint> runs, const std::vector<std::string>& policies,
               const std::string& trace) {
    Panel panel{trace, {}};
    for (const std::string& policy : policies) {
        Line line{policy, {}};
        for (const RunPoint& run : runs) {
            if (run.policy != policy || !run.deadline_h) continue;
            if (!trace.empty() && run.trace != trace) continue;
            Point& point = line.points[*run.deadline_h];
            point.deadline_h = *run.deadline_h;
            point.costs_usd.push_back(run.cost_usd);
            point.missed += run.deadline_met == false ? 1 : 0;
        }
        panel.lines.push_back(std::move(line));
    }
    return panel;
}

std::vector<Panel> panels_of(std::span<const RunPoint> runs,
                             const std::vector<std::string>& policies) {
    std::vector<std::string> traces;
    for (const RunPoint& run : runs) {
        if (std::ranges::find(traces, run.trace) == traces.end()) traces.push_back(run.trace);
    }
    std::vector<Panel> panels{panel_of(runs, policies, "")};
    if (traces.size() < 2 || traces.size() > panels_max) return panels;
    for (const std::string& trace : traces) panels.push_back(panel_of(runs, policies, trace));
    return panels;
}

// Rows of one line stand together: a drawing picks them by their numbers.
std::string table_of(std::vector<Panel>& panels) {
    CsvWriter csv({"panel", "line", "deadline_h", "runs", "cost_usd_quartile_1", "cost_usd_median",
                   "cost_usd_quartile_3", "deadline_missed_share", "policy", "trace"});
    for (std::size_t panel = 0; panel < panels.size(); ++panel) {
        for (std::size_t line = 0; line < panels[panel].lines.size(); ++line) {
            for (auto& [deadline_h, point] : panels[panel].lines[line].points) {
                std::ranges::sort(point.costs_usd);
                const std::size_t runs = point.costs_usd.size();
                csv.add(panel).add(line).add(deadline_h).add(runs);
                for (const double q : {0.25, 0.5, 0.75}) csv.add(quantile(point.costs_usd, q));
                csv.add(static_cast<double>(point.missed) / static_cast<double>(runs));
                csv.add(one_line(panels[panel].lines[line].policy));
                csv.add(panels[panel].trace.empty() ? "all" : one_line(panels[panel].trace));
                csv.end_row();
            }
        }
    }
    return csv.text();
}

struct PanelLayout {
    int columns = 1;
    int rows = 1;
    int width = 0;
    int height = 0;
    double wide = 0;  // of a panel
    double high = 0;
    double above = 46;
    double below = 0;  // without the legend
    static constexpr double left = 76;
    static constexpr double gap = 22;
    static constexpr double between = 34;
};

PanelLayout layout_of(std::size_t panels, int width, const Title& title, const Legend& legend) {
    PanelLayout layout;
    layout.width = width;
    const double inner = width - PanelLayout::left - 14 - legend.right();
    const int most = panels == 1 ? 1 : panels <= 4 ? 2 : 3;
    layout.columns = std::clamp(static_cast<int>(inner / 200), 1, most);
    layout.rows = static_cast<int>((panels - 1) / static_cast<std::size_t>(layout.columns)) + 1;
    layout.wide = (inner - PanelLayout::gap * (layout.columns - 1)) / layout.columns;
    layout.high = std::clamp(0.7 * layout.wide, 170.0, 380.0);
    layout.above += title.more() + legend.above();
    layout.below = 58 + legend.below();
    layout.height = static_cast<int>(layout.above + layout.below + layout.rows * layout.high +
                                     (layout.rows - 1) * PanelLayout::between);
    if (legend.right() > 0) {
        layout.height = std::max(layout.height, static_cast<int>(legend.height()) + 50);
    }
    return layout;
}

// Where a panel stands, as shares of the picture.
std::string margins(const PanelLayout& layout, std::size_t panel) {
    const auto columns = static_cast<std::size_t>(layout.columns);
    const auto column = static_cast<double>(panel % columns);
    const auto row = static_cast<double>(panel / columns);
    const double x = PanelLayout::left + column * (layout.wide + PanelLayout::gap);
    const double y = layout.height - layout.above - row * (layout.high + PanelLayout::between);
    return fmt::format(
        "    set lmargin at screen {}\n    set rmargin at screen {}\n"
        "    set tmargin at screen {}\n    set bmargin at screen {}\n",
        x / layout.width, (x + layout.wide) / layout.width, y / layout.height,
        (y - layout.high) / layout.height);
}

template <class Holds>
bool any_point(const std::vector<Panel>& panels, Holds holds) {
    for (const Panel& panel : panels) {
        for (const Line& line : panel.lines) {
            for (const auto& [deadline_h, point] : line.points) {
                if (holds(point)) return true;
            }
        }
    }
    return false;
}

std::vector<LegendEntry> entries_of(const std::vector<std::string>& labels,
                                    const std::vector<PolicyLook>& looks,
                                    const std::vector<Panel>& panels) {
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        entries.push_back({labels[i], fmt::format("names[{}]", i + 1),
                           fmt::format("linespoints lt 1 dt {} lw 1.8 pt {} ps 0.8 lc rgb '{}'",
                                       looks[i].dash, looks[i].point, looks[i].colour)});
    }
    if (any_point(panels, [](const Point& point) { return point.missed > 0; })) {
        entries.push_back(
            own_entry("deadline missed by some",
                      fmt::format("points pt 2 ps 0.9 lw 1.8 lc rgb '{}'", colour::black)));
    }
    // One run has no band.
    if (any_point(panels, [](const Point& point) { return point.costs_usd.size() > 1; })) {
        entries.push_back(
            own_entry("quartiles about medians",
                      fmt::format("filledcurves lc rgb '{}' fs transparent solid 0.3 noborder",
                                  colour::grey)));
    }
    return entries;
}

std::string plot_of(const std::string& file, const std::vector<Panel>& panels, std::size_t panel,
                    const std::vector<PolicyLook>& looks, double per_hour) {
    std::size_t row = 0;
    for (std::size_t before = 0; before < panel; ++before) {
        for (const Line& line : panels[before].lines) row += line.points.size();
    }
    std::vector<std::string> bands;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < panels[panel].lines.size(); ++i) {
        const std::size_t count = panels[panel].lines[i].points.size();
        if (count == 0) continue;
        const PolicyLook& look = looks[i];
        const std::string rows =
            fmt::format("'{}' skip 1 every ::{}::{}", file, row, row + count - 1);
        row += count;
        bands.push_back(fmt::format(
            "{} using ($3*{}):5:7 with filledcurves lc rgb '{}' fs transparent solid 0.13 noborder "
            "notitle",
            rows, per_hour, look.colour));
        lines.push_back(
            fmt::format("{} using ($3*{}):6 with lines lt 1 dt {} lw 1.8 lc rgb '{}' notitle", rows,
                        per_hour, look.dash, look.colour));
        lines.push_back(fmt::format(
            "{} using ($3*{}):($8 == 0 ? $6 : NaN) with points pt {} ps 0.8 lc rgb '{}' notitle",
            rows, per_hour, look.point, look.colour));
        lines.push_back(fmt::format(
            "{} using ($3*{}):($8 > 0 ? $6 : NaN) with points pt 2 ps 0.9 lw 1.8 lc rgb '{}' "
            "notitle",
            rows, per_hour, look.colour));
    }
    bands.insert(bands.end(), lines.begin(), lines.end());
    return fmt::format("    plot {}", fmt::join(bands, ", \\\n        "));
}

AxisRange range_of(const std::vector<Panel>& panels, bool of_deadlines) {
    double min = std::numeric_limits<double>::max();
    double max = 0;
    for (const Panel& panel : panels) {
        for (const Line& line : panel.lines) {
            for (const auto& [deadline_h, point] : line.points) {
                min = std::min(min, of_deadlines ? deadline_h : quantile(point.costs_usd, 0.25));
                max = std::max(max, of_deadlines ? deadline_h : quantile(point.costs_usd, 0.75));
            }
        }
    }
    if (!of_deadlines) return axis_range(min, max);
    const double margin = std::max(0.05 * (max - min), 1e-6 * max);
    return {min - margin, max + margin};
}

std::string drawing_of(const std::string& file, const std::vector<Panel>& panels,
                       const PanelLayout& layout, const std::vector<PolicyLook>& looks,
                       const Title& title, const Legend& legend, const TimeUnit& unit) {
    std::string text = "    set multiplot\n" + title.label(layout.width, layout.height) +
                       legend.settings(layout.width, layout.height, 24 + title.more());
    const auto columns = static_cast<std::size_t>(layout.columns);
    for (std::size_t panel = 0; panel < panels.size(); ++panel) {
        const bool lowest = panel + columns >= panels.size();
        const bool leftmost = panel % columns == 0;
        text += margins(layout, panel);
        text += lowest ? fmt::format("    set format x '%g'\n    set xlabel 'deadline ({})'\n",
                                     unit.symbol)
                       : std::string("    set format x ''\n    unset xlabel\n");
        text += leftmost
                    ? fmt::format(
                          "    set format y '%g'\n    set label 103 'median cost (USD)' at screen "
                          "{},graph 0.5 center rotate\n",
                          16.0 / layout.width)
                    : std::string("    set format y ''\n");
        if (panels.size() > 1) {
            text += fmt::format(
                "    set label 102 panels[{}] at graph 0.5,graph 1 center offset 0,0.6\n",
                panel + 1);
        }
        text += plot_of(file, panels, panel, looks, unit.per_hour) +
                (panel == 0 ? legend.plots() : "") + "\n    unset label\n    unset key\n";
    }
    return text + "    unset multiplot\n    unset xlabel\n";
}

FigureSource source_of(const std::string& name, const std::string& variant,
                       std::span<const RunPoint> runs, std::vector<std::string> policies,
                       const FigureStyle& style) {
    policies.resize(std::min(policies.size(), policies_max));
    std::vector<Panel> panels = panels_of(runs, policies);
    FigureSource figure;
    figure.name = name;
    const std::string file = name + ".csv";
    figure.data = {{file, table_of(panels)}};
    figure.width = style.width(panels.size() > 1 ? 1000 : 900);
    const bool narrow = figure.width < narrow_width;
    const auto room = static_cast<std::size_t>(figure.width / 8);
    std::vector<std::string> labels;
    for (const std::string& policy : policies)
        labels.push_back(label_text(policy, narrow ? room / 2 : 40));
    const std::vector<PolicyLook> looks = looks_of(policies);
    const Legend legend(style.place(narrow ? LegendPlace::below : LegendPlace::right),
                        entries_of(labels, looks, panels), figure.width - 20);
    const Title title("median cost against the deadline" + (variant.empty() ? "" : "; " + variant),
                      figure.width);
    const PanelLayout layout = layout_of(panels.size(), figure.width, title, legend);
    figure.height = layout.height;
    AxisRange x = range_of(panels, true);
    const TimeUnit unit = axis_time_unit(x.high);
    x = {x.low * unit.per_hour, x.high * unit.per_hour};
    const AxisRange y = range_of(panels, false);
    figure.settings = fmt::format(
        "set border 3 lw 0.8\nset grid lt 1 lw 0.6 lc rgb '#dddddd'\nset xtics {} nomirror out\n"
        "set ytics nomirror out\nset xrange [{}:{}]\nset yrange [{}:{}]\n{}"
        "array names[{}]\narray panels[{}]\n",
        tic_step(x.high - x.low, tics_on(layout.wide)), x.low, x.high, y.low, y.high,
        title.settings(), labels.size(), panels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
        figure.settings += fmt::format("names[{}] = {}\n", i + 1, gnuplot_string(labels[i]));
    }
    for (std::size_t i = 0; i < panels.size(); ++i) {
        const std::string label =
            panels[i].trace.empty()
                ? "all traces"
                : label_text(panels[i].trace, static_cast<std::size_t>(layout.wide / 9));
        figure.settings += fmt::format("panels[{}] = {}\n", i + 1, gnuplot_string(label));
    }
    figure.drawing = drawing_of(file, panels, layout, looks, title, legend, unit);
    return figure;
}

// Variants that differ in something else, in the order of their runs.
std::vector<std::pair<std::string, std::vector<RunPoint>>> by_other_variant(
    std::span<const RunPoint> runs) {
    std::vector<std::pair<std::string, std::vector<RunPoint>>> groups;
    for (const RunPoint& run : runs) {
        if (!run.deadline_h) continue;
        auto group = std::ranges::find_if(
            groups, [&](const auto& one) { return one.first == run.other_variant; });
        if (group == groups.end()) group = groups.insert(groups.end(), {run.other_variant, {}});
        group->second.push_back(run);
    }
    return groups;
}

}  // namespace

FigureResult draw_cost_against_deadline(const FigureInput& input,
                                        const std::filesystem::path& folder,
                                        const FigureOptions& options) {
    FigureResult all;
    const auto groups = by_other_variant(input.runs);
    if (groups.empty()) add_result(all, {{}, "cost_against_deadline: no run has a deadline"});
    for (std::size_t i = 0; i < std::min(groups.size(), figures_max); ++i) {
        const auto& [title, runs] = groups[i];
        PolicyRows rows = group_by_policy(runs);
        const bool finite = std::ranges::all_of(runs, [](const RunPoint& run) {
            return std::isfinite(*run.deadline_h) && *run.deadline_h > 0;
        });
        if (rows.problem.empty() && !finite) rows.problem = "a deadline is not a finite time";
        if (!rows.problem.empty()) {
            add_result(all, {{}, "cost_against_deadline: " + rows.problem});
            continue;
        }
        const std::string name = i == 0 ? std::string("cost_against_deadline")
                                        : fmt::format("cost_against_deadline-{}", i + 1);
        add_result(all, produce(source_of(name, title, runs, policies_of(rows), options.style),
                                folder, options));
        if (rows.rows.size() <= policies_max) continue;
        all.notes.push_back(fmt::format("{}: shows the {} policies that are cheapest of {}", name,
                                        policies_max, rows.rows.size()));
    }
    if (groups.size() > figures_max) {
        all.notes.push_back(
            fmt::format("cost_against_deadline: drawn for the first {} of {} "
                        "variants besides the deadline",
                        figures_max, groups.size()));
    }
    return all;
}

}  // namespace ukemi::plots
