// market_over_time.cpp — what a market offered: a strip a zone, all on one time axis.
//
// Filled: the instances that could be held (left axis of each strip). The line: the price of an
// instance-hour (right axis, the same range in every strip, so that zones can be compared).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/gnuplot.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t zones_max = 24;
constexpr int market_width = 1000;
constexpr int above = 74;
constexpr int below = 56;
constexpr int between = 26;  // where a strip's name stands
constexpr double market_left = 0.075;
constexpr double market_right = 0.925;

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

std::string strip_of(const MarketInput& market, std::size_t zone, bool with_key, bool any_capacity,
                     double price_top) {
    const MarketZone& shown = market.zones[zone];
    std::vector<std::string> parts;
    const auto every = [](const Rows& rows) {
        return fmt::format("skip 1 every ::{}::{}", rows.begin, rows.end - 1);
    };
    if (!shown.capacity.empty()) {
        const Rows rows = rows_of(market, &MarketZone::capacity, zone);
        parts.push_back(fmt::format(
            "'{}_instances.csv' {} using 2:3 with fillsteps lc rgb '{}' fs solid 0.75 noborder "
            "notitle",
            market.file_stem, every(rows), colour::sky));
    }
    if (!shown.price.empty() && price_top > 0) {
        const Rows rows = rows_of(market, &MarketZone::price, zone);
        parts.push_back(
            fmt::format("'{}_price.csv' {} using 2:3 axes x1y2 with steps lt 1 lw 1.6 lc rgb '{}' "
                        "notitle",
                        market.file_stem, every(rows), colour::black));
    }
    if (with_key && any_capacity) {
        parts.push_back(fmt::format(
            "NaN with boxes lc rgb '{}' fs solid 0.75 noborder title 'instances that can be held "
            "(left)'",
            colour::sky));
    }
    if (with_key && price_top > 0) {
        parts.push_back(fmt::format(
            "NaN with lines lt 1 lw 1.6 lc rgb '{}' title 'price, USD per instance-hour (right)'",
            colour::black));
    }
    if (parts.empty()) parts.emplace_back("NaN notitle");
    // A zone without a record of its instances has no left axis.
    if (shown.capacity.empty()) {
        return fmt::format("    set yrange [0:1]\n    unset ytics\n    plot {}\n",
                           fmt::join(parts, ", \\\n        "));
    }
    const double top = std::max(1.0, largest(shown.capacity));
    return fmt::format(
        "    set yrange [0:{}]\n    set ytics {} nomirror out format '%g'\n    plot {}\n",
        1.08 * top, std::max(1.0, tic_step(top, 3)), fmt::join(parts, ", \\\n        "));
}

FigureSource source_of(const MarketInput& market) {
    const std::size_t zones = std::min(market.zones.size(), zones_max);
    const int strip = zones <= 3 ? 130 : zones <= 8 ? 84 : 58;
    FigureSource figure;
    figure.name = market.file_stem;
    figure.width = market_width;
    figure.height = above + below + static_cast<int>(zones) * (strip + between) - between;
    double begin_h = market.zones.front().begin_h;
    double end_h = market.zones.front().end_h;
    double price_top = 0;
    bool any_capacity = false;
    for (std::size_t i = 0; i < zones; ++i) {
        begin_h = std::min(begin_h, market.zones[i].begin_h);
        end_h = std::max(end_h, market.zones[i].end_h);
        price_top = std::max(price_top, largest(market.zones[i].price));
        any_capacity = any_capacity || !market.zones[i].capacity.empty();
    }
    if (end_h <= begin_h) end_h = begin_h + 1;
    if (any_capacity) {
        figure.data.emplace_back(market.file_stem + "_instances.csv",
                                 table_of(market, &MarketZone::capacity, "instances", zones));
    }
    if (price_top > 0) {
        figure.data.emplace_back(
            market.file_stem + "_price.csv",
            table_of(market, &MarketZone::price, "usd_per_instance_hour", zones));
    }
    std::string title = label_text(market.title, 90);
    if (zones < market.zones.size()) {
        title += fmt::format(" (the first {} of {} zones)", zones, market.zones.size());
    }
    figure.settings = fmt::format(
        "set border {} lw 0.8\nset grid x lt 1 lw 0.6 lc rgb '#dddddd'\nset xtics nomirror out\n"
        "set ytics nomirror out format '%g'\nset xrange [{}:{}]\nset lmargin at screen {}\n"
        "set rmargin at screen {}\ntitle_text = {}\naxis_text = {}\narray names[{}]\n",
        price_top > 0 ? 11 : 3, begin_h, end_h, market_left, market_right, gnuplot_string(title),
        gnuplot_string(label_text(market.time_axis, 90)), zones);
    if (price_top > 0) {
        figure.settings +=
            fmt::format("set y2range [0:{}]\nset y2tics {} nomirror out format '%g'\n",
                        1.08 * price_top, tic_step(price_top, 3));
    }
    for (std::size_t i = 0; i < zones; ++i) {
        figure.settings += fmt::format("names[{}] = {}\n", i + 1,
                                       gnuplot_string(label_text(market.zones[i].name, 70)));
    }
    figure.drawing = fmt::format(
        "    set multiplot\n    set format x ''\n"
        "    set label 101 title_text at screen {},screen {}\n"
        "    set key at screen {},screen {} right top vertical maxrows 1 Left reverse samplen 2\n",
        market_left, 1 - 16.0 / figure.height, market_right, 1 - 26.0 / figure.height);
    for (std::size_t i = 0; i < zones; ++i) {
        const double top = figure.height - above - static_cast<double>(i) * (strip + between);
        if (i + 1 == zones) {
            figure.drawing += fmt::format(
                "    set format x '%g'\n    set label 103 axis_text at graph 0.5,screen {} "
                "center\n",
                16.0 / figure.height);
        }
        figure.drawing += fmt::format(
            "    set tmargin at screen {}\n    set bmargin at screen {}\n"
            "    set label 102 names[{}] at graph 0,graph 1 offset 0,0.5\n{}    unset label\n"
            "    unset key\n",
            top / figure.height, (top - strip) / figure.height, i + 1,
            strip_of(market, i, i == 0, any_capacity, price_top));
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
                            ? produce(source_of(market), folder, options)
                            : FigureResult{
                                  {}, fmt::format("{}: {}", one_line(market.file_stem), problem)});
    }
    return all;
}

}  // namespace ukemi::plots
