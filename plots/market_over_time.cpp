// market_over_time.cpp — what a market offered: a strip a zone, all on one time axis.
//
// Filled: the instances that could be held (left axis of each strip). The line: the price of an
// instance-hour (right axis, the same range in every strip, so that zones can be compared).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "plots/gnuplot.hpp"
#include "plots/legend.hpp"
#include "plots/title.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t zones_max = 24;
constexpr int market_width = 1000;
constexpr double strips_below = 56;
constexpr double between = 26;  // where a strip's name stands
constexpr double beside = 74;   // an axis and its name, on either side

std::string problem_of(const MarketInput& market) {
    if (!good_file_stem(market.file_stem)) {
        return "the file stem must be letters, digits, '_' and '-'";
    }
    if (market.zones.empty()) return "there is no zone to draw";
    for (const MarketZone& zone : market.zones) {
        if (zone.capacity.empty() && zone.price.empty()) return "a zone has nothing to draw";
        if (!finite_and_ordered(zone.capacity) || !finite_and_ordered(zone.price)) {
            return "points must be finite and in order of time";
        }
        if (!std::isfinite(zone.begin_h) || !std::isfinite(zone.end_h) ||
            zone.end_h < zone.begin_h) {
            return "a zone must end after it begins";
        }
    }
    return {};
}

double largest(const PlotPoints& points) {
    double high = 0;
    for (const auto& [at, value] : points) high = std::max(high, value);
    return high;
}

// Every value, and the last one again where the zone ends.
std::string table_of(const MarketInput& market, PlotPoints MarketZone::*series, const char* column,
                     std::size_t zones) {
    CsvWriter csv({"zone_number", "t_h", column, "zone"});
    for (std::size_t i = 0; i < zones; ++i) {
        const MarketZone& zone = market.zones[i];
        PlotPoints points = zone.*series;
        if (points.empty()) continue;
        if (points.back().first < zone.end_h) {
            points.emplace_back(zone.end_h, points.back().second);
        }
        for (const auto& [at, value] : points) {
            csv.add(i + 1).add(at).add(value).add(one_line(zone.name));
            csv.end_row();
        }
    }
    return csv.text();
}

// The rows of a zone in its table: gnuplot is told their numbers, never a name.
struct Rows {
    std::size_t begin = 0;
    std::size_t end = 0;
};
Rows rows_of(const MarketInput& market, PlotPoints MarketZone::*series, std::size_t zone) {
    Rows rows;
    for (std::size_t i = 0; i <= zone; ++i) {
        const PlotPoints& points = market.zones[i].*series;
        rows.begin = rows.end;
        if (points.empty()) continue;
        rows.end += points.size() + (points.back().first < market.zones[i].end_h ? 1 : 0);
    }
    return rows;
}

std::string strip_of(const MarketInput& market, std::size_t zone, bool with_price) {
    const MarketZone& shown = market.zones[zone];
    std::vector<std::string> parts;
    const auto every = [](const Rows& rows) {
        return fmt::format("skip 1 every ::{}::{}", rows.begin, rows.end - 1);
    };
    if (!shown.capacity.empty()) {
        const Rows rows = rows_of(market, &MarketZone::capacity, zone);
        parts.push_back(fmt::format(
            "'{}_instances.csv' {} using ($2*unit):3 with fillsteps lc rgb '{}' fs solid 0.75 "
            "noborder notitle",
            market.file_stem, every(rows), colour::sky));
    }
    if (!shown.price.empty() && with_price) {
        const Rows rows = rows_of(market, &MarketZone::price, zone);
        parts.push_back(fmt::format(
            "'{}_price.csv' {} using ($2*unit):3 axes x1y2 with steps lt 1 lw 1.6 lc rgb '{}' "
            "notitle",
            market.file_stem, every(rows), colour::black));
    }
    if (parts.empty()) parts.emplace_back("NaN notitle");
    const std::string plot = fmt::format("    plot {}", fmt::join(parts, ", \\\n        "));
    // A zone without a record of its instances has no left axis.
    if (shown.capacity.empty()) return "    set yrange [0:1]\n    unset ytics\n" + plot;
    const double top = std::max(1.0, largest(shown.capacity));
    return fmt::format("    set yrange [0:{}]\n    set ytics {} nomirror out format '%g'\n{}",
                       1.08 * top, std::max(1.0, tic_step(top, 3)), plot);
}

struct MarketSpan {
    double begin_h = 0;
    double end_h = 0;
    double price_top = 0;
    bool any_capacity = false;
};
MarketSpan span_of(const MarketInput& market, std::size_t zones) {
    MarketSpan span{market.zones.front().begin_h, market.zones.front().end_h, 0, false};
    for (std::size_t i = 0; i < zones; ++i) {
        span.begin_h = std::min(span.begin_h, market.zones[i].begin_h);
        span.end_h = std::max(span.end_h, market.zones[i].end_h);
        span.price_top = std::max(span.price_top, largest(market.zones[i].price));
        span.any_capacity = span.any_capacity || !market.zones[i].capacity.empty();
    }
    if (span.end_h <= span.begin_h) span.end_h = span.begin_h + 1;
    return span;
}

std::string settings_of(const MarketInput& market, std::size_t zones, const MarketSpan& span,
                        int width, double legend_right) {
    const TimeUnit unit = axis_time_unit(span.end_h - span.begin_h);
    const auto room = static_cast<std::size_t>(width / 8);
    const double length = (span.end_h - span.begin_h) * unit.per_hour;
    std::string settings = fmt::format(
        "set border {} lw 0.8\nset grid x lt 1 lw 0.6 lc rgb '#dddddd'\nset xtics {} nomirror out\n"
        "set ytics nomirror out format '%g'\nset xrange [{}:{}]\nset lmargin at screen {}\n"
        "set rmargin at screen {}\nunit = {}\naxis_text = {}\narray names[{}]\n",
        span.price_top > 0 ? 11 : 3, tic_step(length, tics_on(width - 2 * beside - legend_right)),
        span.begin_h * unit.per_hour, span.end_h * unit.per_hour, beside / width,
        1 - ((span.price_top > 0 ? beside : 20) + legend_right) / width, unit.per_hour,
        gnuplot_string(label_text(fmt::format("{} ({})", market.time_axis, unit.symbol), room)),
        zones);
    if (span.price_top > 0) {
        settings += fmt::format("set y2range [0:{}]\nset y2tics {} nomirror out format '%g'\n",
                                1.08 * span.price_top, tic_step(span.price_top, 3));
    }
    for (std::size_t i = 0; i < zones; ++i) {
        settings += fmt::format("names[{}] = {}\n", i + 1,
                                gnuplot_string(label_text(market.zones[i].name, room - 8)));
    }
    return settings;
}

FigureSource source_of(const MarketInput& market, const FigureStyle& style) {
    const std::size_t zones = std::min(market.zones.size(), zones_max);
    const double strip = zones <= 3 ? 130 : zones <= 8 ? 84 : 58;
    const MarketSpan span = span_of(market, zones);
    FigureSource figure;
    figure.name = market.file_stem;
    figure.width = style.width(market_width);
    if (span.any_capacity) {
        figure.data.emplace_back(market.file_stem + "_instances.csv",
                                 table_of(market, &MarketZone::capacity, "instances", zones));
    }
    std::vector<LegendEntry> entries;
    if (span.any_capacity) {
        entries.push_back(own_entry(
            span.price_top > 0 ? "instances that can be held (left)" : "instances that can be held",
            fmt::format("boxes lc rgb '{}' fs solid 0.75 noborder", colour::sky)));
    }
    if (span.price_top > 0) {
        figure.data.emplace_back(
            market.file_stem + "_price.csv",
            table_of(market, &MarketZone::price, "usd_per_instance_hour", zones));
        entries.push_back(own_entry("price, USD per instance-hour (right)",
                                    fmt::format("lines lt 1 lw 1.6 lc rgb '{}'", colour::black)));
    }
    const Legend legend(style.place(LegendPlace::above), std::move(entries), figure.width - 20);
    const Title title(zones == market.zones.size()
                          ? market.title
                          : fmt::format("{} (the first {} of {} zones)", market.title, zones,
                                        market.zones.size()),
                      figure.width);
    const double above = 48 + title.more() + legend.above();
    figure.height = static_cast<int>(above + strips_below + legend.below() +
                                     static_cast<double>(zones) * (strip + between) - between);
    figure.settings =
        settings_of(market, zones, span, figure.width, legend.right()) + title.settings();
    figure.drawing = "    set multiplot\n    set format x ''\n" +
                     title.label(figure.width, figure.height) +
                     legend.settings(figure.width, figure.height, 24 + title.more());
    for (std::size_t i = 0; i < zones; ++i) {
        const double top = figure.height - above - static_cast<double>(i) * (strip + between);
        if (i + 1 == zones) {
            figure.drawing += fmt::format(
                "    set format x '%g'\n    set label 103 axis_text at screen 0.5,screen {} "
                "center\n",
                (legend.below() + 16.0) / figure.height);
        }
        figure.drawing += fmt::format(
            "    set tmargin at screen {}\n    set bmargin at screen {}\n"
            "    set label 102 names[{}] at graph 0,graph 1 offset 0,0.5\n{}{}\n    unset label\n"
            "    unset key\n",
            top / figure.height, (top - strip) / figure.height, i + 1,
            strip_of(market, i, span.price_top > 0), i == 0 ? legend.plots() : "");
    }
    figure.drawing += "    unset multiplot\n";
    return figure;
}

}  // namespace

FigureResult draw_market_over_time(const FigureInput& input, const std::filesystem::path& folder,
                                   const FigureOptions& options) {
    FigureResult all;
    if (input.markets.empty())
        add_result(all, {{}, "market_over_time: there is no market to draw"});
    for (const MarketInput& market : input.markets) {
        const std::string problem = problem_of(market);
        add_result(all, problem.empty()
                            ? produce(source_of(market, options.style), folder, options)
                            : FigureResult{
                                  {}, fmt::format("{}: {}", one_line(market.file_stem), problem)});
    }
    return all;
}

}  // namespace ukemi::plots
