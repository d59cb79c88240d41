// timeline.cpp — one run over time, in three panels that share the hours.
//
// Above: instances held (on-demand stacked on spot), how many of them train together, what the spot
// market would have given, and the revocations. In the middle: the price, or from the lowest to the
// highest of several zones. Below: the share of the work done, beside the straight line that would
// just make the deadline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "plots/gnuplot.hpp"
#include "plots/legend.hpp"
#include "plots/policy_looks.hpp"
#include "plots/title.hpp"

namespace ukemi::plots {
namespace {

constexpr int timeline_width = 1000;
constexpr std::size_t revocation_lines_max = 60;

std::string problem_of(const TimelineInput& run) {
    if (!good_file_stem(run.file_stem)) {
        return "the file stem must be letters, digits, '_' and '-'";
    }
    for (const PlotPoints* points :
         {&run.spot_held, &run.on_demand_held, &run.workers, &run.capacity, &run.price,
          &run.prices.low, &run.prices.high, &run.progress}) {
        if (!finite_and_ordered(*points)) return "points must be finite and in order of time";
    }
    const auto same_time = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (!std::ranges::equal(run.prices.low, run.prices.high, same_time)) {
        return "the lowest and the highest price must be of the same times";
    }
    const auto finite = [](double value) { return std::isfinite(value); };
    if (!std::all_of(run.revocations_h.begin(), run.revocations_h.end(), finite) ||
        (run.deadline_h && !(finite(*run.deadline_h) && *run.deadline_h > 0))) {
        return "a revocation or the deadline is not a finite time";
    }
    if (!finite(run.end_h) || run.end_h <= 0) return "the end must be after the start";
    return {};
}

// What a step function is at a time: the last point not after it; zero before the first.
double value_at(const PlotPoints& points, double at) {
    const auto after = std::upper_bound(
        points.begin(), points.end(), at,
        [](double time, const std::pair<double, double>& point) { return time < point.first; });
    return after == points.begin() ? 0.0 : std::prev(after)->second;
}

// One row wherever any of them changes, and one at the end.
std::string table_of_instances(const TimelineInput& run) {
    std::vector<double> times{0, run.end_h};
    for (const PlotPoints* points :
         {&run.spot_held, &run.on_demand_held, &run.workers, &run.capacity}) {
        for (const auto& [at, value] : *points) times.push_back(at);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    CsvWriter csv({"t_h", "spot_held", "on_demand_held", "workers", "capacity"});
    for (const double at : times) {
        if (at < 0 || at > run.end_h) continue;
        csv.add(at).add(value_at(run.spot_held, at)).add(value_at(run.on_demand_held, at));
        run.workers.empty() ? csv.add("") : csv.add(value_at(run.workers, at));
        run.capacity.empty() ? csv.add("") : csv.add(value_at(run.capacity, at));
        csv.end_row();
    }
    return csv.text();
}

std::string table_of_points(const PlotPoints& points, const char* column, double end_h) {
    CsvWriter csv({"t_h", column});
    for (const auto& [at, value] : points) {
        csv.add(at).add(value);
        csv.end_row();
    }
    if (!points.empty() && points.back().first < end_h) {
        csv.add(end_h).add(points.back().second);  // the last value holds until the end
        csv.end_row();
    }
    return csv.text();
}

// With a row before and one after each change, so that lines through them are steps.
std::string table_of_prices(const PlotBand& prices, double end_h) {
    CsvWriter csv({"t_h", "usd_per_instance_hour_lowest", "usd_per_instance_hour_highest"});
    const auto add = [&](double at, std::size_t i) {
        csv.add(at).add(prices.low[i].second).add(prices.high[i].second).end_row();
    };
    for (std::size_t i = 0; i < prices.low.size(); ++i) {
        if (i > 0) add(prices.low[i].first, i - 1);
        add(prices.low[i].first, i);
    }
    if (prices.low.back().first < end_h) add(end_h, prices.low.size() - 1);
    return csv.text();
}

std::string table_of_revocations(const TimelineInput& run) {
    CsvWriter csv({"t_h"});
    for (const double at : run.revocations_h) {
        csv.add(at);
        csv.end_row();
    }
    return csv.text();
}

double top_of(const TimelineInput& run) {
    double top = std::max(1, run.instances_max);
    for (const auto& [at, value] : run.capacity) top = std::max(top, value);
    for (const PlotPoints* points : {&run.spot_held, &run.on_demand_held}) {
        for (const auto& [at, value] : *points) {
            top = std::max(top, value_at(run.spot_held, at) + value_at(run.on_demand_held, at));
        }
    }
    return top;
}

std::string instances_panel(const TimelineInput& run) {
    std::string text = fmt::format(
        "    plot '{0}_instances.csv' skip 1 using ($1*unit):($2+$3) with fillsteps lc rgb '{1}' "
        "fs pattern 4 notitle, \\\n"
        "        '' skip 1 using ($1*unit):2 with fillsteps lc rgb '{2}' fs solid 1.0 notitle, "
        "\\\n        '' skip 1 using ($1*unit):($2+$3) with steps lt 1 lw 1 lc rgb '{3}' notitle",
        run.file_stem, colour::vermillion, colour::sky, colour::black);
    if (!run.workers.empty()) {
        text += fmt::format(
            ", \\\n        '' skip 1 using ($1*unit):4 with steps lt 1 lw 2.4 lc rgb '{}' notitle",
            colour::black);
    }
    if (!run.capacity.empty()) {
        text += fmt::format(
            ", \\\n        '' skip 1 using ($1*unit):5 with steps lt 1 dt (6,3) lw 1.5 lc rgb '{}' "
            "notitle",
            colour::blue);
    }
    if (run.revocations_h.empty()) return text;
    // Few: a mark with a line through the panel. Many: short strokes above it, or nothing else
    // could be seen.
    const bool few = run.revocations_h.size() <= revocation_lines_max;
    text += fmt::format(
        ", \\\n        '{}_revocations.csv' skip 1 using ($1*unit):({}):(0):({}) with vectors "
        "nohead lt 1 lw 0.7 lc rgb '{}' notitle",
        run.file_stem, few ? "0" : "top * 1.06", few ? "marks" : "top * 0.06", colour::black);
    if (!few) return text;
    return text + fmt::format(
                      ", \\\n        '' skip 1 using ($1*unit):(marks) with points pt 11 "
                      "ps 0.8 lc rgb '{}' notitle",
                      colour::black);
}

std::string price_panel(const TimelineInput& run) {
    if (!run.prices.low.empty()) {
        return fmt::format(
            "    plot '{0}_price.csv' skip 1 using ($1*unit):2:3 with filledcurves fs solid 1.0 "
            "noborder lc rgb '{1}' notitle, "
            "\\\n"
            "        '' skip 1 using ($1*unit):3 with lines lt 1 lw 0.8 lc rgb '{2}' notitle, \\\n"
            "        '' skip 1 using ($1*unit):2 with lines lt 1 lw 1.8 lc rgb '{2}' notitle",
            run.file_stem, colour::light_grey, colour::black);
    }
    if (run.price.empty()) {
        return "    set label 5 'no price is known' at graph 0.5,graph 0.5 center\n"
               "    set format y ''\n    plot [][0:1] NaN notitle";
    }
    return fmt::format(
        "    plot '{}_price.csv' skip 1 using ($1*unit):2 with steps lt 1 lw 1.8 lc rgb '{}' "
        "notitle",
        run.file_stem, colour::black);
}

std::string progress_panel(const TimelineInput& run) {
    std::vector<std::string> parts;
    if (!run.progress.empty()) {
        parts.push_back(fmt::format(
            "'{}_progress.csv' skip 1 using ($1*unit):2 with lines lt 1 lw 2.2 lc rgb '{}' notitle",
            run.file_stem, look_of(run.policy).colour));
    }
    if (run.deadline_h) {
        parts.push_back(fmt::format(
            "'+' using (column(1)):(column(1) <= deadline ? column(1)/deadline : NaN) with lines "
            "lt 1 dt (2,3) lw 1.5 lc rgb '{}' notitle",
            colour::black));
    }
    if (parts.empty()) parts.emplace_back("NaN notitle");
    return fmt::format("    plot {}", fmt::join(parts, ", \\\n        "));
}

std::vector<LegendEntry> entries_of(const TimelineInput& run, const FigureStyle& style) {
    const auto with = [](std::string_view what, std::string_view shade) {
        return fmt::format("{} lc rgb '{}'", what, shade);
    };
    std::vector<LegendEntry> entries;
    if (style.shows("timeline", "instances", run.file_stem)) {
        entries = {own_entry("spot held", with("boxes fs solid 1.0", colour::sky)),
                   own_entry("on-demand held", with("boxes fs pattern 4", colour::vermillion))};
        if (!run.workers.empty()) {
            entries.push_back(own_entry("workers", with("lines lt 1 lw 2.4", colour::black)));
        }
        if (!run.capacity.empty()) {
            entries.push_back(
                own_entry("spot capacity", with("lines lt 1 dt (6,3) lw 1.5", colour::blue)));
        }
        if (!run.revocations_h.empty()) {
            entries.push_back(own_entry(
                fmt::format("revocations (at {} time{})", run.revocations_h.size(),
                            run.revocations_h.size() == 1 ? "" : "s"),
                with(run.revocations_h.size() <= revocation_lines_max ? "points pt 11 ps 0.8"
                                                                      : "points pt '|'",
                     colour::black)));
        }
    }
    if (style.shows("timeline", "price", run.file_stem) && !run.prices.low.empty()) {
        entries.push_back(own_entry("lowest price", with("lines lt 1 lw 1.8", colour::black)));
        entries.push_back(
            own_entry("to the highest", with("boxes fs solid 1.0", colour::light_grey)));
    }
    if (style.shows("timeline", "progress", run.file_stem)) {
        if (!run.progress.empty()) {
            entries.push_back(
                own_entry("done", with("lines lt 1 lw 2.2", look_of(run.policy).colour)));
        }
        if (run.deadline_h) {
            entries.push_back(
                own_entry("uniform progress", with("lines lt 1 dt (2,3) lw 1.5", colour::black)));
        }
    }
    return entries;
}

std::string settings_of(const TimelineInput& run, const TimeUnit& unit, double pixels) {
    const double end = std::max(run.end_h, run.deadline_h.value_or(0)) * unit.per_hour * 1.02;
    std::string text = fmt::format(
        "set border 3 lw 0.8\nset grid lt 1 lw 0.6 lc rgb '#dddddd'\n"
        "set xtics {} nomirror out\nset ytics nomirror out format '%g'\nset xrange [0:{}]\n"
        "unit = {}\ntop = {}\nmarks = top * 1.09\n",
        tic_step(end, tics_on(pixels)), end, unit.per_hour, top_of(run));
    if (run.deadline_h) {
        text += fmt::format(
            "deadline = {}\nset arrow 1 from deadline,graph 0 to deadline,graph 1 nohead dt (8,4) "
            "lw 1.6 lc rgb '{}'\n",
            *run.deadline_h * unit.per_hour, colour::black);
    }
    return text;
}

// One of the panels: its share of the height, its axis, and what is drawn in it.
struct TimePanel {
    std::string_view name;
    double high;
    std::string axis;  // commands
    std::string plot;
};

std::string y_axis(std::string_view title, int line, double width) {
    return fmt::format("    set label {} '{}' at screen {},graph 0.5 center rotate\n", 2 + line,
                       title, (14 + 17.0 * line) / width);
}

std::vector<TimePanel> panels_of(const TimelineInput& run, const FigureStyle& style, double width) {
    double price_top = 0;
    for (const auto& [at, value] : run.prices.low.empty() ? run.price : run.prices.high)
        price_top = std::max(price_top, value);
    if (price_top <= 0) price_top = 1;
    std::vector<TimePanel> panels;
    if (style.shows("timeline", "instances", run.file_stem)) {
        panels.push_back({"instances", 220,
                          y_axis("instances", 0, width) +
                              fmt::format("    set yrange [0:top * 1.16]\n    set ytics {}\n",
                                          std::max(1.0, tic_step(top_of(run), 6))),
                          instances_panel(run)});
    }
    if (style.shows("timeline", "price", run.file_stem)) {
        panels.push_back({"price", 120,
                          y_axis("price (USD per", 0, width) + y_axis("instance-hour)", 1, width) +
                              fmt::format("    set yrange [0:{}]\n    set ytics {}\n",
                                          1.1 * price_top, tic_step(price_top, 5)),
                          price_panel(run)});
    }
    if (style.shows("timeline", "progress", run.file_stem)) {
        panels.push_back(
            {"progress", 180,
             y_axis("work done (share)", 0, width) + "    set yrange [0:1.16]\n    set ytics 0.2\n",
             progress_panel(run)});
    }
    return panels;
}

FigureSource source_of(const TimelineInput& run, const FigureStyle& style) {
    FigureSource figure;
    figure.name = run.file_stem;
    figure.width = style.width(timeline_width);
    figure.data = {{run.file_stem + "_instances.csv", table_of_instances(run)}};
    const auto add = [&](const char* ending, std::string text) {
        figure.data.emplace_back(run.file_stem + ending, std::move(text));
    };
    if (!run.prices.low.empty()) {
        add("_price.csv", table_of_prices(run.prices, run.end_h));
    } else if (!run.price.empty()) {
        add("_price.csv", table_of_points(run.price, "usd_per_instance_hour", run.end_h));
    }
    if (!run.progress.empty()) {
        add("_progress.csv", table_of_points(run.progress, "work_done_share", run.end_h));
    }
    if (!run.revocations_h.empty()) add("_revocations.csv", table_of_revocations(run));

    constexpr double left = 92;
    constexpr double between = 26;
    const Legend legend(style.place(LegendPlace::above), entries_of(run, style), figure.width - 20);
    const std::vector<TimePanel> panels = panels_of(run, style, figure.width);
    const double right = 22 + legend.right();
    const Title title(run.title, figure.width);
    const double above = 34 + title.more() + legend.above();
    double high = above + 52 + legend.below();
    for (const TimePanel& panel : panels) high += panel.high + between;
    figure.height = static_cast<int>(high - between);
    const TimeUnit unit = axis_time_unit(std::max(run.end_h, run.deadline_h.value_or(0)));
    figure.settings = settings_of(run, unit, figure.width - left - right) + title.settings();
    figure.drawing = fmt::format(
        "    set multiplot\n    set format x ''\n"
        "    set lmargin at screen {}\n    set rmargin at screen {}\n"
        "{}{}",
        left / figure.width, 1 - right / figure.width, title.label(figure.width, figure.height),
        legend.settings(figure.width, figure.height, 28 + title.more()));
    double top = above;
    for (std::size_t i = 0; i < panels.size(); ++i) {
        const TimePanel& panel = panels[i];
        figure.drawing += fmt::format(
            "    set tmargin at screen {}\n    set bmargin at screen {}\n    set format y '%g'\n",
            1 - top / figure.height, 1 - (top + panel.high) / figure.height);
        if (i + 1 == panels.size()) {
            figure.drawing +=
                fmt::format("    set format x '%g'\n    set xlabel 'time ({})'\n", unit.symbol);
        }
        if (i + 1 == panels.size() && run.deadline_h) {
            figure.drawing +=
                "    set label 6 'deadline' at deadline,graph 0.93 right offset -0.6,0\n";
        }
        figure.drawing += panel.axis + panel.plot + (i == 0 ? legend.plots() : std::string()) +
                          "\n    unset label\n    unset key\n";
        top += panel.high + between;
    }
    figure.drawing += "    unset xlabel\n    unset multiplot\n";
    return figure;
}

}  // namespace

FigureResult draw_timeline(const FigureInput& input, const std::filesystem::path& folder,
                           const FigureOptions& options) {
    FigureResult all;
    const auto complain = [&all](const std::string& problem) {
        if (problem.empty() || all.problem.find(problem) != std::string::npos) return;
        all.problem += (all.problem.empty() ? "" : "; ") + problem;
    };
    if (input.timelines.empty()) complain("timeline: there is no run to draw");
    for (const TimelineInput& run : input.timelines) {
        const std::string problem = problem_of(run);
        if (!problem.empty()) {
            complain(fmt::format("{}: {}", one_line(run.file_stem), problem));
            continue;
        }
        const FigureResult one = produce(source_of(run, options.style), folder, options);
        all.files.insert(all.files.end(), one.files.begin(), one.files.end());
        all.skipped = all.skipped || one.skipped;
        complain(one.problem);
    }
    return all;
}

}  // namespace ukemi::plots
