// gpus_by_job.cpp — who held which GPU when: a row a machine, in it a lane a GPU (a Gantt chart).
//
// A job has a colour; as there are more jobs than colours, its name stands in every bar that has
// room for it, else its number, which the table tells.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "plots/gnuplot.hpp"
#include "plots/panels.hpp"
#include "plots/title.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t machines_shown = 32;
constexpr std::size_t labels_most = 400;
constexpr std::size_t first_label = 1000;  // titles have lower numbers
constexpr std::array<std::string_view, 7> job_colours = {
    colour::sky,  colour::orange,     colour::green, colour::yellow,
    colour::blue, colour::vermillion, colour::purple};
constexpr double row_part = 0.88;  // of a machine's row that its lanes fill

std::string problem_of(const MachineUseInput& input) {
    if (!good_file_stem(input.file_stem)) {
        return "the file stem must be letters, digits, '_' and '-'";
    }
    if (input.bars.empty()) return "nobody held a GPU";
    for (const MachineUseInput::Bar& bar : input.bars) {
        const bool there = bar.machine < input.gpus_of.size() && bar.job < input.jobs.size() &&
                           bar.first_gpu >= 0 && bar.gpus >= 1 &&
                           bar.first_gpu + bar.gpus <= input.gpus_of[bar.machine];
        if (!there || !(bar.end_h >= bar.begin_h) || !std::isfinite(bar.end_h)) {
            return "a bar of a job, a machine or GPUs that there are not";
        }
    }
    return {};
}

struct BarPlace {
    double low = 0;
    double high = 0;
};

// The first machine on top.
BarPlace place_of_bar(const MachineUseInput& input, const MachineUseInput::Bar& bar) {
    const double lane = row_part / input.gpus_of[bar.machine];
    const double top = -static_cast<double>(bar.machine) - bar.first_gpu * lane;
    return {top - bar.gpus * lane, top == 0 ? 0 : top};  // not -0
}

std::string table_of(const MachineUseInput& input, std::size_t machines) {
    CsvWriter csv({"begin_h", "end_h", "low", "high", "colour", "machine", "first_gpu", "gpus",
                   "job", "name"});
    for (const MachineUseInput::Bar& bar : input.bars) {
        if (bar.machine >= machines) continue;
        const BarPlace place = place_of_bar(input, bar);
        const std::string_view shade = job_colours[bar.job % job_colours.size()];
        csv.add(bar.begin_h).add(bar.end_h).add(place.low).add(place.high);
        csv.add(fmt::format("0x{}", shade.substr(1))).add(bar.machine).add(bar.first_gpu);
        csv.add(bar.gpus).add(bar.job).add(one_line(input.jobs[bar.job])).end_row();
    }
    return csv.text();
}

std::string name_of(const MachineUseInput& input, std::size_t job) {
    constexpr std::size_t characters_most = 24;
    return label_text(one_line(input.jobs[job]), characters_most);
}

// "array jobs[2] = ['a', 'b']": text from outside stands in settings only.
std::string array_of(const std::vector<std::string>& names) {
    if (names.empty()) return {};
    std::string list;
    for (const std::string& name : names) {
        list += (list.empty() ? "" : ", ") + gnuplot_string(name);
    }
    return fmt::format("array jobs[{}] = [{}]\n", names.size(), list);
}

// Names of jobs where bars have room for them, or their numbers.
std::string names_in_bars(const MachineUseInput& input, std::size_t machines, double per_hour,
                          double pixels_per_unit, double row_pixels,
                          std::vector<std::string>& names) {
    std::string text;
    std::size_t label = first_label;
    std::map<std::size_t, std::size_t> places;  // of jobs, among the names
    for (const MachineUseInput::Bar& bar : input.bars) {
        if (bar.machine >= machines || label >= first_label + labels_most) continue;
        const BarPlace place = place_of_bar(input, bar);
        const double wide = (bar.end_h - bar.begin_h) * per_hour * pixels_per_unit;
        const auto fits = [&](std::string_view name) { return wide >= label_width(name) + 6; };
        const std::string number = fmt::format("{}", bar.job);
        const bool named = fits(name_of(input, bar.job));
        if ((!named && !fits(number)) || (place.high - place.low) * row_pixels < 11) continue;
        if (named && places.try_emplace(bar.job, names.size() + 1).second) {
            names.push_back(name_of(input, bar.job));
        }
        const std::string name =
            named ? fmt::format("jobs[{}]", places.at(bar.job)) : gnuplot_string(number);
        text +=
            fmt::format("    set label {} {} at first {},first {} center front\n", label++, name,
                        (bar.begin_h + bar.end_h) / 2 * per_hour, (place.low + place.high) / 2);
    }
    return text;
}

FigureSource source_of(const MachineUseInput& input, std::size_t machines,
                       const FigureStyle& style) {
    FigureSource figure;
    figure.name = input.file_stem;
    figure.width = style.width(1000);
    const std::string file = input.file_stem + ".csv";
    figure.data = {{file, table_of(input, machines)}};
    double end_h = 0;
    for (const MachineUseInput::Bar& bar : input.bars) end_h = std::max(end_h, bar.end_h);
    const TimeUnit unit = axis_time_unit(end_h);
    const double end = std::max(end_h * unit.per_hour, 1e-9);
    const Title title(input.title, figure.width);
    Panels panels;
    panels.width = figure.width;
    panels.left = 96;
    panels.above = 30 + title.more();
    panels.high = std::clamp(64.0 * static_cast<double>(machines), 120.0, 900.0);
    figure.height = panels.height();
    const double row_pixels = panels.high / static_cast<double>(machines);
    std::string rows;
    for (std::size_t i = 0; i < machines; ++i) {
        rows += fmt::format("{}'machine {}' {}", i == 0 ? "" : ", ", i,
                            row_part / -2 - static_cast<double>(i));
    }
    std::vector<std::string> names;
    const std::string bars_named =
        names_in_bars(input, machines, unit.per_hour, panels.wide() / end, row_pixels, names);
    figure.settings =
        fmt::format(
            "set border 3 lw 0.8\nset xtics nomirror out format '%g'\nset ytics nomirror "
            "out ({})\nset xrange [0:{}]\nset yrange [{}:{}]\nunset key\n"
            "set style fill solid 0.75 border rgb '#333333'\n",
            rows, end, -static_cast<double>(machines) + 1 - row_part - 0.06, 0.06) +
        array_of(names) + title.settings();
    figure.drawing = panels.margins(0) + title.label(figure.width, figure.height) + bars_named +
                     fmt::format(
                         "    set xlabel 'time ({0})'\n    plot '{1}' skip 1 using "
                         "(($1+$2)/2*{2}):(($3+$4)/2):($1*{2}):($2*{2}):3:4:(int(strcol(5))) with "
                         "boxxyerror lc rgb variable notitle\n    unset label\n",
                         unit.symbol, file, unit.per_hour);
    return figure;
}

}  // namespace

FigureResult draw_gpus_by_job(const FigureInput& input, const std::filesystem::path& folder,
                              const FigureOptions& options) {
    FigureResult all;
    if (input.machine_uses.empty()) add_result(all, {{}, "gpus_by_job: there is nothing to draw"});
    for (const MachineUseInput& each : input.machine_uses) {
        const std::string problem = problem_of(each);
        if (!problem.empty()) {
            add_result(all, {{}, fmt::format("{}: {}", one_line(each.file_stem), problem)});
            continue;
        }
        const std::size_t machines = std::min(each.gpus_of.size(), machines_shown);
        if (machines < each.gpus_of.size()) {
            all.notes.push_back(fmt::format("{}: shows the first {} of {} machines", each.file_stem,
                                            machines, each.gpus_of.size()));
        }
        add_result(all, produce(source_of(each, machines, options.style), folder, options));
    }
    return all;
}

}  // namespace ukemi::plots
