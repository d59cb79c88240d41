// timeline.cpp — one run over time, in three panels that share the hours.
//
// Above: instances held (on-demand stacked on spot), what the spot market would have given, and the
// revocations. In the middle: the price. Below: the share of the work done, beside the straight
// line that would just make the deadline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/gnuplot.hpp"

namespace ukemi::plots {
namespace {

constexpr int timeline_width = 1000;
constexpr int timeline_height = 720;
constexpr double timeline_left = 0.105;
constexpr std::size_t revocation_lines_max = 60;
constexpr double timeline_right = 0.975;

std::string problem_of(const TimelineInput& run) {
    if (!good_file_stem(run.file_stem)) {
        return "the file stem must be letters, digits, '_' and '-'";
    }
    for (const PlotPoints* points :
         {&run.spot_held, &run.on_demand_held, &run.capacity, &run.price, &run.progress}) {
        if (!finite_and_ordered(*points)) return "points must be finite and in order of time";
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

// One row wherever any of the three changes, and one at the end.
std::string table_of_instances(const TimelineInput& run) {
    std::vector<double> times{0, run.end_h};
    for (const PlotPoints* points : {&run.spot_held, &run.on_demand_held, &run.capacity}) {
        for (const auto& [at, value] : *points) times.push_back(at);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    CsvWriter csv({"t_h", "spot_held", "on_demand_held", "capacity"});
    for (const double at : times) {
        if (at < 0 || at > run.end_h) continue;
        csv.add(at).add(value_at(run.spot_held, at)).add(value_at(run.on_demand_held, at));
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
        "    plot '{0}_instances.csv' skip 1 using 1:($2+$3) with fillsteps lc rgb '{1}' "
        "fs pattern 4 title 'on-demand held', \\\n"
        "        '' skip 1 using 1:2 with fillsteps lc rgb '{2}' fs solid 1.0 title 'spot held', "
        "\\\n        '' skip 1 using 1:($2+$3) with steps lt 1 lw 1 lc rgb '{3}' notitle",
        run.file_stem, colour::vermillion, colour::sky, colour::black);
    if (!run.capacity.empty()) {
        text += fmt::format(
            ", \\\n        '' skip 1 using 1:4 with steps lt 1 dt (6,3) lw 1.5 lc rgb '{}' "
            "title 'spot capacity'",
            colour::blue);
    }
    if (!run.revocations_h.empty()) {
        // Few: a mark with a line through the panel. Many: short strokes above it, or nothing else
        // could be seen.
        const bool few = run.revocations_h.size() <= revocation_lines_max;
        const std::string legend =
            fmt::format("title 'revocations ({})'", run.revocations_h.size());
        text += fmt::format(
            ", \\\n        '{}_revocations.csv' skip 1 using 1:({}):(0):({}) with vectors nohead "
            "lt 1 lw 0.7 lc rgb '{}' {}",
            run.file_stem, few ? "0" : "top * 1.06", few ? "marks" : "top * 0.06", colour::black,
            few ? "notitle" : legend);
        if (few) {
            text += fmt::format(
                ", \\\n        '' skip 1 using 1:(marks) with points pt 11 ps 0.8 lc rgb '{}' {}",
                colour::black, legend);
        }
    }
    return text + "\n";
}

std::string price_panel(const TimelineInput& run, double x_middle) {
    if (run.price.empty()) {
        return fmt::format(
            "    set label 1 'no price is known' at {},0.5 center\n    set format y ''\n"
            "    plot [][0:1] NaN notitle\n    set format y '%g'\n    unset label 1\n",
            x_middle);
    }
    return fmt::format(
        "    plot '{}_price.csv' skip 1 using 1:2 with steps lt 1 lw 1.8 lc rgb '{}' notitle\n",
        run.file_stem, colour::black);
}

std::string progress_panel(const TimelineInput& run) {
    std::vector<std::string> parts;
    if (!run.progress.empty()) {
        parts.push_back(fmt::format(
            "'{}_progress.csv' skip 1 using 1:2 with lines lt 1 lw 2.2 lc rgb '{}' title 'done'",
            run.file_stem, colour::green));
    }
    if (run.deadline_h) {
        parts.push_back(fmt::format(
            "'+' using (column(1)):(column(1) <= deadline ? column(1)/deadline : NaN) with lines "
            "lt 1 dt (2,3) lw 1.5 lc rgb '{}' title 'uniform progress'",
            colour::black));
    }
    if (parts.empty()) parts.emplace_back("NaN notitle");
    return fmt::format("    plot {}\n", fmt::join(parts, ", \\\n        "));
}

std::string settings_of(const TimelineInput& run) {
    const double last = std::max(run.end_h, run.deadline_h.value_or(0));
    std::string text = fmt::format(
        "set border 3 lw 0.8\nset grid lt 1 lw 0.6 lc rgb '#dddddd'\n"
        "set xtics nomirror out\nset ytics nomirror out format '%g'\nset xrange [0:{}]\n"
        "set lmargin at screen {}\nset rmargin at screen {}\ntop = {}\nmarks = top * 1.09\n",
        last * 1.02, timeline_left, timeline_right, top_of(run));
    if (run.deadline_h) {
        text += fmt::format(
            "deadline = {}\nset arrow 1 from deadline,graph 0 to deadline,graph 1 nohead dt (8,4) "
            "lw 1.6 lc rgb '{}'\n",
            *run.deadline_h, colour::black);
    }
    text += fmt::format("title_text = {}\n", gnuplot_string(label_text(run.title, 100)));
    return text;
}

FigureSource source_of(const TimelineInput& run) {
    FigureSource figure;
    figure.name = run.file_stem;
    figure.width = timeline_width;
    figure.height = timeline_height;
    figure.data = {{run.file_stem + "_instances.csv", table_of_instances(run)}};
    const auto add = [&](const char* ending, std::string text) {
        figure.data.emplace_back(run.file_stem + ending, std::move(text));
    };
    if (!run.price.empty()) {
        add("_price.csv", table_of_points(run.price, "usd_per_instance_hour", run.end_h));
    }
    if (!run.progress.empty()) {
        add("_progress.csv", table_of_points(run.progress, "work_done_share", run.end_h));
    }
    if (!run.revocations_h.empty()) add("_revocations.csv", table_of_revocations(run));
    figure.settings = settings_of(run);

    const double last = std::max(run.end_h, run.deadline_h.value_or(0));
    double price_top = 0;
    for (const auto& [at, value] : run.price) price_top = std::max(price_top, value);
    if (price_top <= 0) price_top = 1;
    const std::string deadline_label =
        run.deadline_h ? fmt::format("    set label 2 'deadline' at {},1.09 right offset -0.6,0\n",
                                     *run.deadline_h)
                       : std::string();
    figure.drawing = fmt::format(
        "    set multiplot\n    set format x ''\n"
        "    set label 1 title_text at screen {left},screen 0.975\n"
        "    set tmargin at screen 0.915\n    set bmargin at screen 0.60\n"
        "    set key at screen {right},screen 0.92 right bottom vertical maxrows 1 Left reverse "
        "samplen 2\n"
        "    set label 3 'instances' at screen 0.025,graph 0.5 center rotate\n"
        "    set yrange [0:top * 1.16]\n    set ytics {instance_step}\n{instances}"
        "    unset label\n"
        "    set tmargin at screen 0.55\n    set bmargin at screen 0.38\n"
        "    set label 3 'price (USD per' at screen 0.013,graph 0.5 center rotate\n"
        "    set label 4 'instance-hour)' at screen 0.032,graph 0.5 center rotate\n"
        "    set yrange [0:{price_top}]\n    set ytics {price_step}\n{price}    unset label\n"
        "    set tmargin at screen 0.33\n    set bmargin at screen 0.08\n"
        "    set key at screen {right},screen 0.335 right bottom vertical maxrows 1 Left reverse "
        "samplen 3\n"
        "    set format x '%g'\n    set xlabel 'time (h)'\n"
        "    set label 3 'work done (share)' at screen 0.025,graph 0.5 center rotate\n"
        "    set yrange [0:1.16]\n    set ytics 0.2\n{label}{progress}"
        "    unset label\n    unset xlabel\n    unset multiplot\n",
        fmt::arg("instance_step", std::max(1.0, tic_step(top_of(run), 6))),
        fmt::arg("price_top", 1.1 * price_top), fmt::arg("price_step", tic_step(price_top, 5)),
        fmt::arg("left", timeline_left), fmt::arg("right", timeline_right),
        fmt::arg("instances", instances_panel(run)), fmt::arg("price", price_panel(run, last / 2)),
        fmt::arg("label", deadline_label), fmt::arg("progress", progress_panel(run)));
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
        const FigureResult one = produce(source_of(run), folder, options);
        all.files.insert(all.files.end(), one.files.begin(), one.files.end());
        all.skipped = all.skipped || one.skipped;
        complain(one.problem);
    }
    return all;
}

}  // namespace ukemi::plots
