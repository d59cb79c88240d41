// losses_by_hour.cpp — when it happens: on which share of days a loss falls into each hour (UTC).
//
// One bar an hour and source, side by side: recorded ones are solid, generated ones hatched.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/gnuplot.hpp"

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

FigureSource source_of(std::span<const HourlyLosses> sources) {
    FigureSource figure;
    figure.name = "losses_by_hour";
    figure.width = 900;
    figure.height = 370 + 22 * static_cast<int>(sources.size());
    figure.data = {{"losses_by_hour.csv", table_of(sources)}};
    double most = 0;
    for (const HourlyLosses& source : sources)
        most = std::max(most, std::ranges::max(source.share_of_days));
    figure.settings = fmt::format(
        "set border 3 lw 0.8\nset grid y lt 1 lw 0.6 lc rgb '#dddddd'\n"
        "set xtics 2 nomirror out\nset ytics nomirror out format '%g'\nset xrange [0:24]\n"
        "set yrange [0:{}]\nset xlabel 'hour of the day (UTC)'\n"
        "set ylabel 'share of days with a loss in this hour'\narray names[{}]\n",
        most > 0 ? 1.06 * most : 1, sources.size());
    const double bar = 0.86 / static_cast<double>(sources.size());
    std::vector<std::string> bars;
    std::size_t recorded = 0;
    std::size_t generated = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const BarFill& fill =
            sources[i].generated ? generated_fills[generated++] : recorded_fills[recorded++];
        figure.settings += fmt::format(
            "names[{}] = {}\n", i + 1,
            gnuplot_string(fmt::format("{}: {}", sources[i].generated ? "generated" : "recorded",
                                       label_text(sources[i].name, 95))));
        const double from = 0.07 + bar * static_cast<double>(i);
        bars.push_back(fmt::format(
            "'losses_by_hour.csv' skip 1 every ::{}::{} using ($2+{}):(0):($2+{}):($2+{}):(0):3 "
            "with boxxyerror lc rgb '{}' fs {} border lc rgb '{}' title names[{}]",
            24 * i, 24 * i + 23, from + bar / 2, from, from + bar, fill.colour, fill.style,
            colour::black, i + 1));
    }
    figure.drawing = fmt::format(
        "    set lmargin at screen 0.09\n    set rmargin at screen 0.97\n"
        "    set bmargin at screen {}\n    set tmargin at screen {}\n"
        "    set key at screen 0.09,screen {} left top vertical Left reverse samplen 2.5 spacing "
        "1.2\n    plot {}\n",
        58.0 / figure.height, 1 - (26 + 22.0 * static_cast<double>(sources.size())) / figure.height,
        1 - 10.0 / figure.height, fmt::join(bars, ", \\\n        "));
    return figure;
}

}  // namespace

FigureResult draw_losses_by_hour(const FigureInput& input, const std::filesystem::path& folder,
                                 const FigureOptions& options) {
    const std::string problem = problem_of(input.hourly_losses);
    if (!problem.empty()) return {{}, "losses_by_hour: " + problem};
    return produce(source_of(input.hourly_losses), folder, options);
}

}  // namespace ukemi::plots
