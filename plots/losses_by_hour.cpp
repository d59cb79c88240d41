// losses_by_hour.cpp — when it happens: on which share of days a loss falls into each hour (UTC).
//
// One bar an hour and source, side by side: recorded ones are solid, generated ones hatched.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/gnuplot.hpp"
#include "plots/panels.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t sources_max = 4;

constexpr std::array<BarFill, sources_max> recorded_fills = {{{colour::blue, "solid 1.0"},
                                                              {colour::sky, "solid 0.6"},
                                                              {colour::grey, "solid 0.6"},
                                                              {colour::green, "solid 1.0"}}};
constexpr std::array<BarFill, sources_max> generated_fills = {{{colour::vermillion, "pattern 4"},
                                                               {colour::orange, "pattern 2"},
                                                               {colour::purple, "pattern 5"},
                                                               {colour::black, "pattern 1"}}};

std::string problem_of(std::span<const HourlyLosses> sources) {
    if (sources.empty()) return "there are no losses to draw";
    if (sources.size() > sources_max) return fmt::format("more than {} sources", sources_max);
    for (const HourlyLosses& source : sources) {
        for (const double value : source.share_of_days) {
            if (!std::isfinite(value) || value < 0) return "a number is negative or not finite";
        }
    }
    return {};
}

std::string table_of(std::span<const HourlyLosses> sources) {
    CsvWriter csv({"source", "hour_utc", "share_of_days", "kind", "name"});
    for (std::size_t i = 0; i < sources.size(); ++i) {
        for (std::size_t hour = 0; hour < 24; ++hour) {
            csv.add(i + 1).add(hour).add(sources[i].share_of_days[hour]);
            csv.add(sources[i].generated ? "generated" : "recorded").add(one_line(sources[i].name));
            csv.end_row();
        }
    }
    return csv.text();
}

FigureSource source_of(std::span<const HourlyLosses> sources, const FigureStyle& style) {
    FigureSource figure;
    figure.name = "losses_by_hour";
    figure.width = style.width(900);
    const bool narrow = figure.width < narrow_width;
    figure.data = {{"losses_by_hour.csv", table_of(sources)}};
    double most = 0;
    for (const HourlyLosses& source : sources)
        most = std::max(most, std::ranges::max(source.share_of_days));
    if (most <= 0) most = 1;
    figure.settings = fmt::format(
        "set border 3 lw 0.8\nset grid y lt 1 lw 0.6 lc rgb '#dddddd'\n"
        "set xtics {} nomirror out\nset ytics {} nomirror out format '%g'\nset xrange [0:24]\n"
        "set yrange [0:{}]\nset xlabel 'hour of the day (UTC)'\n"
        "set ylabel '{}'\narray names[{}]\n",
        narrow ? 4 : 2, 100 * tic_step(most, 6), 106 * most,
        narrow ? "days with a loss (%)" : "days with a loss in this hour (%)", sources.size());
    const double bar = 0.86 / static_cast<double>(sources.size());
    std::vector<std::string> bars;
    std::vector<LegendEntry> entries;
    std::size_t recorded = 0;
    std::size_t generated = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const BarFill& fill =
            sources[i].generated ? generated_fills[generated++] : recorded_fills[recorded++];
        const std::string look = fmt::format("lc rgb '{}' fs {} border lc rgb '{}'", fill.colour,
                                             fill.style, colour::black);
        const std::string label = label_or_name(
            fmt::format("{}: {}", sources[i].generated ? "generated" : "recorded", sources[i].name),
            static_cast<std::size_t>(figure.width / 9 - 5));
        figure.settings += fmt::format("names[{}] = {}\n", i + 1, gnuplot_string(label));
        entries.push_back({label, fmt::format("names[{}]", i + 1), "boxes " + look});
        const double from = 0.07 + bar * static_cast<double>(i);
        bars.push_back(
            fmt::format("'losses_by_hour.csv' skip 1 every ::{}::{} using "
                        "($2+{}):(0):($2+{}):($2+{}):(0):($3*100) with boxxyerror {} notitle",
                        24 * i, 24 * i + 23, from + bar / 2, from, from + bar, look));
    }
    const Legend legend(style.place(LegendPlace::above), std::move(entries), figure.width - 20);
    Panels panels;
    panels.width = figure.width;
    panels.left = 76;
    panels.above = 10;
    panels.make_room(legend);
    panels.high = std::clamp(0.4 * panels.wide(), 180.0, 310.0);
    figure.height = panels.height();
    figure.drawing =
        panels.margins(0) + legend.settings(figure.width, figure.height, 0) +
        fmt::format("    plot {}{}\n", fmt::join(bars, ", \\\n        "), legend.plots());
    return figure;
}

}  // namespace

FigureResult draw_losses_by_hour(const FigureInput& input, const std::filesystem::path& folder,
                                 const FigureOptions& options) {
    const std::string problem = problem_of(input.hourly_losses);
    if (!problem.empty()) return {{}, "losses_by_hour: " + problem};
    return produce(source_of(input.hourly_losses, options.style), folder, options);
}

}  // namespace ukemi::plots
