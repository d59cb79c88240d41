#include "plots/job_stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "plots/panels.hpp"
#include "plots/title.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t parts_most = 300;  // of the time axis

// Where somebody begins or ends, or evenly where that is too often.
std::vector<double> edges_of(const MachineUseInput& input, double end_h) {
    std::set<double> changes{0};
    for (const MachineUseInput::Span& span : input.spans) {
        changes.insert(span.begin_h);
        changes.insert(span.end_h);
    }
    if (changes.size() <= parts_most + 1) return {changes.begin(), changes.end()};
    std::vector<double> edges;
    for (std::size_t i = 0; i <= parts_most; ++i) {
        edges.push_back(end_h * static_cast<double>(i) / static_cast<double>(parts_most));
    }
    return edges;
}

// GPUs held in the mean between two edges, by look and part of the time.
std::vector<std::vector<double>> held_by_look(const MachineUseInput& input, const JobLooks& looks,
                                              const std::vector<double>& edges) {
    std::vector<std::vector<double>> held(looks.count() + 1,
                                          std::vector<double>(edges.size() - 1, 0));
    for (const MachineUseInput::Span& span : input.spans) {
        std::vector<double>& own = held[looks.of(input.jobs[span.job])];
        const auto first = std::ranges::upper_bound(edges, span.begin_h) - edges.begin();
        for (auto i = static_cast<std::size_t>(std::max<std::ptrdiff_t>(first, 1)) - 1;
             i + 1 < edges.size() && edges[i] < span.end_h; ++i) {
            const double both =
                std::min(edges[i + 1], span.end_h) - std::max(edges[i], span.begin_h);
            own[i] += span.gpus * both / (edges[i + 1] - edges[i]);
        }
    }
    return held;
}

struct StackRows {
    std::string table;
    std::vector<std::size_t> first;  // of each look, and of what follows the last
    double most = 0;                 // GPUs at once
};

// A row at either end of what does not change; rows of one look stand together.
StackRows rows_of(const MachineUseInput& input, const JobLooks& looks) {
    double end_h = 0;
    for (const MachineUseInput::Span& span : input.spans) end_h = std::max(end_h, span.end_h);
    const std::vector<double> edges = edges_of(input, end_h);
    std::vector<std::vector<double>> held = held_by_look(input, looks, edges);
    if (looks.others_in(input) == 0) held.pop_back();
    CsvWriter csv({"look", "t_h", "low_gpus", "high_gpus", "gpus", "job"});
    StackRows rows;
    std::vector<double> below(edges.size() - 1, 0);
    std::size_t count = 0;
    for (std::size_t look = 0; look < held.size(); ++look) {
        rows.first.push_back(count);
        const std::string name = look < looks.count() ? looks.name(look) : "others";
        for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
            const double low = below[i];
            below[i] += held[look][i];
            rows.most = std::max(rows.most, below[i]);
            for (const double at : {edges[i], edges[i + 1]}) {
                csv.add(look).add(at).add(low).add(below[i]).add(held[look][i]);
                csv.add(one_line(name)).end_row();
                ++count;
            }
        }
    }
    rows.first.push_back(count);
    rows.table = csv.text();
    return rows;
}

}  // namespace

FigureSource job_stack(const MachineUseInput& input, const JobLooks& looks,
                       const FigureStyle& style) {
    FigureSource figure;
    figure.name = input.file_stem;
    figure.width = style.width(1000);
    const std::string file = input.file_stem + ".csv";
    StackRows rows = rows_of(input, looks);
    figure.data = {{file, std::move(rows.table)}};
    double end_h = 0;
    for (const MachineUseInput::Span& span : input.spans) end_h = std::max(end_h, span.end_h);
    const TimeUnit unit = axis_time_unit(end_h);
    const double end = end_h * unit.per_hour;
    const double gpus = std::accumulate(input.gpus_of.begin(), input.gpus_of.end(), 0.0);
    const double high = 1.04 * std::max(gpus, rows.most);
    const Title title(input.title, figure.width);
    const Legend legend(style.place(LegendPlace::below), looks.entries(input), figure.width - 20);
    Panels panels;
    panels.width = figure.width;
    panels.left = 76;
    panels.above = 30 + title.more();
    panels.make_room(legend);
    panels.high = std::clamp(0.4 * panels.wide(), 190.0, 380.0);
    if (legend.right() > 0) panels.high = std::max(panels.high, legend.height());
    figure.height = panels.height();
    figure.settings = fmt::format(
        "set border 3 lw 0.8\nset grid y lt 1 lw 0.6 lc rgb '#dddddd'\n"
        "set xtics {} nomirror out format '%g'\nset ytics {} nomirror out format '%g'\n"
        "set xrange [0:{}]\nset yrange [0:{}]\nset ylabel 'GPUs held'\n{}{}",
        tic_step(end, tics_on(panels.wide())), tic_step(high, 8), end, high, title.settings(),
        looks.settings(input));
    std::vector<std::string> areas;
    for (std::size_t look = 0; look + 1 < rows.first.size(); ++look) {
        areas.push_back(
            fmt::format("'{}' skip 1 every ::{}::{} using ($2*{}):3:4 with filledcurves {} notitle",
                        file, rows.first[look], rows.first[look + 1] - 1, unit.per_hour,
                        look_of_fill(looks.fill(look), false)));
    }
    figure.drawing = panels.margins(0) + title.label(figure.width, figure.height) +
                     legend.settings(figure.width, figure.height, 24 + title.more()) +
                     fmt::format("    set xlabel 'time ({})'\n    plot {}{}\n    unset label\n",
                                 unit.symbol, fmt::join(areas, ", \\\n        "), legend.plots());
    return figure;
}

}  // namespace ukemi::plots
