// lifetimes.cpp — how long something lasted: the share that lasted longer, over time.
//
// Recorded curves are solid, generated ones dashed; each has a colour and a dash of its own. With a
// logarithmic axis the first hour, in which most is lost, has as much room as the first day.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/gnuplot.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t curves_max = 6;

struct CurveStyle {
    std::string_view colour;
    std::string_view dash;
};
constexpr std::array<CurveStyle, curves_max> recorded_styles = {{{colour::black, "1"},
                                                                 {colour::blue, "1"},
                                                                 {colour::green, "1"},
                                                                 {colour::grey, "1"},
                                                                 {colour::sky, "1"},
                                                                 {colour::purple, "1"}}};
constexpr std::array<CurveStyle, curves_max> generated_styles = {{{colour::vermillion, "(8,4)"},
                                                                  {colour::orange, "(2,3)"},
                                                                  {colour::purple, "(10,3,2,3)"},
                                                                  {colour::green, "(4,4)"},
                                                                  {colour::blue, "(12,6)"},
                                                                  {colour::black, "(1,3)"}}};

std::string problem_of(const SurvivalInput& input) {
    if (!good_file_stem(input.file_stem)) {
        return "the file stem must be letters, digits, '_' and '-'";
    }
    if (input.curves.empty()) return "there is no curve to draw";
    if (input.curves.size() > curves_max) return fmt::format("more than {} curves", curves_max);
    for (const SurvivalCurve& curve : input.curves) {
        if (curve.alive.empty()) return "a curve without points";
        double before = 1;
        for (const auto& [hours, share] : curve.alive) {
            if (!(hours >= 0) || !(share >= 0) || !(share <= before)) {
                return "a share that lasted must fall from one, at times from zero";
            }
            before = share;
        }
        if (!finite_and_ordered(curve.alive)) return "points must be finite and in order of time";
    }
    return {};
}

// Where all curves begin: at zero, or on a logarithmic axis before the first loss.
double begin_of(const SurvivalInput& input) {
    if (!input.log_time) return 0;
    double first = 0;
    for (const SurvivalCurve& curve : input.curves) {
        for (const auto& [hours, share] : curve.alive) {
            if (hours > 0 && (first == 0 || hours < first)) first = hours;
        }
    }
    return first > 0 ? first / 2 : 0.1;
}

double end_of(const SurvivalInput& input) {
    double last = 0;
    for (const SurvivalCurve& curve : input.curves) {
        last = std::max(last, curve.alive.back().first);
    }
    return last > 0 ? last : 1;
}

std::string table_of(const SurvivalInput& input) {
    CsvWriter csv({"curve", "hours", "share_alive", "kind", "name"});
    const double begin = begin_of(input);
    for (std::size_t i = 0; i < input.curves.size(); ++i) {
        const SurvivalCurve& curve = input.curves[i];
        const auto row = [&](double hours, double share) {
            csv.add(i + 1).add(hours).add(share);
            csv.add(curve.generated ? "generated" : "recorded").add(one_line(curve.name));
            csv.end_row();
        };
        row(begin, 1);
        for (const auto& [hours, share] : curve.alive) row(std::max(hours, begin), share);
    }
    return csv.text();
}

FigureSource source_of(const SurvivalInput& input) {
    FigureSource figure;
    figure.name = input.file_stem;
    figure.width = 900;
    figure.height = 470 + 22 * static_cast<int>(input.curves.size());
    const std::string file = input.file_stem + ".csv";
    figure.data = {{file, table_of(input)}};
    const double begin = begin_of(input);
    const double end = end_of(input);
    figure.settings = fmt::format(
        "set border 3 lw 0.8\nset grid lt 1 lw 0.6 lc rgb '#dddddd'\nset xtics nomirror out\n"
        "set ytics 0.2 nomirror out\n{}set xrange [{}:{}]\nset yrange [0:1.04]\n"
        "title_text = {}\naxis_text = {}\narray names[{}]\n",
        input.log_time ? "set logscale x\n" : "", begin, input.log_time ? 1.3 * end : 1.02 * end,
        gnuplot_string(label_text(input.title, 90)),
        gnuplot_string(label_text(input.time_axis, 90)), input.curves.size());
    std::vector<std::string> lines;
    std::size_t row = 0;
    std::size_t recorded = 0;
    std::size_t generated = 0;
    for (std::size_t i = 0; i < input.curves.size(); ++i) {
        const SurvivalCurve& curve = input.curves[i];
        const CurveStyle& style =
            curve.generated ? generated_styles[generated++] : recorded_styles[recorded++];
        figure.settings += fmt::format(
            "names[{}] = {}\n", i + 1,
            gnuplot_string(fmt::format("{}: {}", curve.generated ? "generated" : "recorded",
                                       label_text(curve.name, 80))));
        lines.push_back(fmt::format(
            "'{}' skip 1 every ::{}::{} using 2:3 with steps lt 1 dt {} lw {} lc rgb '{}' title "
            "names[{}]",
            file, row, row + curve.alive.size(), style.dash, curve.generated ? 2.2 : 1.8,
            style.colour, i + 1));
        row += curve.alive.size() + 1;
    }
    const double key = 44 + 22.0 * static_cast<double>(input.curves.size());
    figure.drawing = fmt::format(
        "    set lmargin at screen 0.09\n    set rmargin at screen 0.97\n"
        "    set bmargin at screen {}\n    set tmargin at screen {}\n"
        "    set label 101 title_text at screen 0.03,screen {}\n"
        "    set label 102 axis_text at graph 0.5,screen {} center\n"
        "    set ylabel 'share that lasted longer'\n"
        "    set key at screen 0.09,screen {} left top vertical Left reverse samplen 4 spacing "
        "1.2\n    plot {}\n    unset label\n    unset ylabel\n",
        58.0 / figure.height, 1 - key / figure.height, 1 - 16.0 / figure.height,
        16.0 / figure.height, 1 - 30.0 / figure.height, fmt::join(lines, ", \\\n        "));
    return figure;
}

}  // namespace

FigureResult draw_lifetimes(const FigureInput& input, const std::filesystem::path& folder,
                            const FigureOptions& options) {
    FigureResult all;
    if (input.survivals.empty()) add_result(all, {{}, "lifetimes: there is no curve to draw"});
    for (const SurvivalInput& each : input.survivals) {
        const std::string problem = problem_of(each);
        add_result(
            all, problem.empty()
                     ? produce(source_of(each), folder, options)
                     : FigureResult{{}, fmt::format("{}: {}", one_line(each.file_stem), problem)});
    }
    return all;
}

}  // namespace ukemi::plots
