#include "plots/survival_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "plots/gnuplot.hpp"
#include "plots/panels.hpp"
#include "plots/policy_looks.hpp"
#include "plots/title.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t curves_max = 6;

struct CurveStyle {
    std::string_view colour;
    std::string_view dash;
};
constexpr std::array<CurveStyle, curves_max> recorded_styles = {{{colour::black, "1"},
                                                                 {colour::blue, "(30,4)"},
                                                                 {colour::green, "(20,2)"},
                                                                 {colour::grey, "(40,8)"},
                                                                 {colour::sky, "(16,4)"},
                                                                 {colour::purple, "(24,6)"}}};
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
    const std::size_t most = input.simulated ? 2 * curves_max : curves_max;
    if (input.curves.size() > most) return fmt::format("more than {} curves", most);
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

double first_of(const SurvivalInput& input) {
    double first = 0;
    for (const SurvivalCurve& curve : input.curves) {
        for (const auto& [hours, share] : curve.alive) {
            if (hours > 0 && (first == 0 || hours < first)) first = hours;
        }
    }
    return first;
}

double end_of(const SurvivalInput& input) {
    double last = 0;
    for (const SurvivalCurve& curve : input.curves) {
        last = std::max(last, curve.alive.back().first);
    }
    return last > 0 ? last : 1;
}

bool log_time_of(const SurvivalInput& input) {
    return input.log_time.value_or(spans_decades(first_of(input), end_of(input)));
}

// Where all curves begin: at zero, or on a logarithmic axis before the first loss.
double begin_of(const SurvivalInput& input) {
    if (!log_time_of(input)) return 0;
    const double first = first_of(input);
    return first > 0 ? first / 2 : 0.1;
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

std::vector<CurveStyle> styles_of(const SurvivalInput& input) {
    std::vector<CurveStyle> styles;
    if (input.simulated) {  // by who decides, as in every figure
        std::vector<std::string> names;
        for (const SurvivalCurve& curve : input.curves) names.push_back(curve.name);
        for (const PolicyLook& look : looks_of(names)) styles.push_back({look.colour, look.dash});
        return styles;
    }
    std::size_t recorded = 0;
    std::size_t generated = 0;
    for (const SurvivalCurve& curve : input.curves) {
        styles.push_back(curve.generated ? generated_styles[generated++]
                                         : recorded_styles[recorded++]);
    }
    return styles;
}

FigureSource source_of(const SurvivalInput& input, const FigureStyle& style) {
    FigureSource figure;
    figure.name = input.file_stem;
    figure.width = style.width(900);
    const auto room = static_cast<std::size_t>(figure.width / 9);
    const std::string file = input.file_stem + ".csv";
    figure.data = {{file, table_of(input)}};
    const bool log_time = log_time_of(input);
    const TimeUnit unit = axis_time_unit(end_of(input));
    const double begin = begin_of(input) * unit.per_hour;
    const double end = end_of(input) * unit.per_hour * (log_time ? 1.3 : 1.02);
    figure.settings = fmt::format(
        "set border 3 lw 0.8\nset grid lt 1 lw 0.6 lc rgb '#dddddd'\nset xtics nomirror out format "
        "'%g'\nset ytics 0.2 nomirror out\n{}set xrange [{}:{}]\nset yrange [0:1.04]\n"
        "axis_text = {}\nshare_axis = {}\narray names[{}]\n",
        log_time ? "set logscale x\n" : "", begin, end,
        gnuplot_string(label_text(fmt::format("{} ({})", input.time_axis, unit.symbol), room)),
        gnuplot_string(label_text(input.share_axis, 60)), input.curves.size());
    const std::vector<CurveStyle> styles = styles_of(input);
    std::vector<LegendEntry> entries;
    std::vector<std::string> lines;
    std::size_t row = 0;
    for (std::size_t i = 0; i < input.curves.size(); ++i) {
        const SurvivalCurve& curve = input.curves[i];
        const std::string look = fmt::format("lt 1 dt {} lw {} lc rgb '{}'", styles[i].dash,
                                             curve.generated ? 2.2 : 1.8, styles[i].colour);
        const std::string_view from = input.simulated   ? ""
                                      : curve.generated ? "generated: "
                                                        : "recorded: ";
        const std::string label = label_or_name(fmt::format("{}{}", from, curve.name),
                                                room - std::min<std::size_t>(room / 2, 6));
        figure.settings += fmt::format("names[{}] = {}\n", i + 1, gnuplot_string(label));
        entries.push_back({label, fmt::format("names[{}]", i + 1), "lines " + look});
        lines.push_back(
            fmt::format("'{}' skip 1 every ::{}::{} using ($2*{}):3 with steps {} notitle", file,
                        row, row + curve.alive.size(), unit.per_hour, look));
        row += curve.alive.size() + 1;
    }
    const Title title(input.title, figure.width);
    figure.settings += title.settings();
    const Legend legend(style.place(LegendPlace::above), std::move(entries), figure.width - 20);
    Panels panels;
    panels.width = figure.width;
    panels.left = 76;
    panels.above = 30 + title.more();
    panels.make_room(legend);
    panels.high = std::clamp(0.5 * panels.wide(), 190.0, 380.0);
    figure.height = panels.height();
    figure.drawing = panels.margins(0) + title.label(figure.width, figure.height) +
                     legend.settings(figure.width, figure.height, 24 + title.more()) +
                     fmt::format(
                         "    set label 102 axis_text at screen 0.5,screen {} center\n"
                         "    set ylabel share_axis\n    plot {}{}\n"
                         "    unset label\n    unset ylabel\n",
                         (legend.below() + 16.0) / figure.height,
                         fmt::join(lines, ", \\\n        "), legend.plots());
    return figure;
}

}  // namespace

FigureResult draw_survival_curves(const std::string& figure,
                                  std::span<const SurvivalInput> survivals,
                                  const std::filesystem::path& folder,
                                  const FigureOptions& options) {
    FigureResult all;
    if (survivals.empty()) add_result(all, {{}, figure + ": there is no curve to draw"});
    for (const SurvivalInput& each : survivals) {
        const std::string problem = problem_of(each);
        add_result(
            all, problem.empty()
                     ? produce(source_of(each, options.style), folder, options)
                     : FigureResult{{}, fmt::format("{}: {}", one_line(each.file_stem), problem)});
    }
    return all;
}

}  // namespace ukemi::plots
