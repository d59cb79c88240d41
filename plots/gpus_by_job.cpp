// gpus_by_job.cpp — who held which GPU when: a row a machine, in it a lane a GPU (a Gantt chart).
//
// Jobs with most GPU time have a colour and pattern each, with a key; the others are grey. A job's
// name stands in every bar that has room for it, else its number, by which keys and the table know
// it. Where nobody knows which GPUs a job had, as jobs share them, and where machines or bars are
// too many to be seen, jobs stand above each other instead (job_stack.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "plots/job_stack.hpp"
#include "plots/panels.hpp"
#include "plots/title.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t figures_most = 12;
constexpr std::size_t machines_shown = 32;
constexpr std::size_t bars_shown = 2'000;
constexpr std::size_t labels_most = 400;
constexpr std::size_t first_label = 1000;  // titles have lower numbers
constexpr double row_part = 0.88;          // of a machine's row that its lanes fill

std::string problem_of(const MachineUseInput& input) {
    if (!good_file_stem(input.file_stem)) {
        return "the file stem must be letters, digits, '_' and '-'";
    }
    if (input.spans.empty()) return "nobody held a GPU";
    const auto is_time = [](const auto& one) {
        return one.begin_h >= 0 && one.end_h >= one.begin_h && std::isfinite(one.end_h);
    };
    bool all_there = std::ranges::any_of(input.spans, [](const MachineUseInput::Span& span) {
        return span.end_h > span.begin_h && span.gpus > 0;
    });
    for (const MachineUseInput::Span& span : input.spans) {
        all_there = all_there && span.job < input.jobs.size() && std::isfinite(span.gpus) &&
                    span.gpus >= 0 && is_time(span);
    }
    for (const MachineUseInput::Bar& bar : input.bars) {
        all_there = all_there && bar.machine < input.gpus_of.size() &&
                    bar.job < input.jobs.size() && bar.first_gpu >= 0 && bar.gpus >= 1 &&
                    bar.first_gpu + bar.gpus <= input.gpus_of[bar.machine] && is_time(bar);
    }
    return all_there ? "" : "a time of a job, a machine or GPUs that there are not";
}

bool fits_in_lanes(const MachineUseInput& input) {
    return !input.bars.empty() && input.bars.size() <= bars_shown &&
           input.gpus_of.size() <= machines_shown;
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

std::string table_of(const MachineUseInput& input, const JobLooks& looks) {
    CsvWriter csv(
        {"begin_h", "end_h", "low", "high", "look", "machine", "first_gpu", "gpus", "job", "name"});
    for (const MachineUseInput::Bar& bar : input.bars) {
        const BarPlace place = place_of_bar(input, bar);
        csv.add(bar.begin_h).add(bar.end_h).add(place.low).add(place.high);
        csv.add(looks.of(input.jobs[bar.job])).add(bar.machine).add(bar.first_gpu);
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

struct LanePixels {
    double per_hour = 0;
    double per_row = 0;
};

// Names of jobs where bars have room for them, or their numbers; on patterns, in boxes.
std::string names_in_bars(const MachineUseInput& input, const JobLooks& looks, double per_hour,
                          const LanePixels& pixels, std::vector<std::string>& names) {
    std::string text;
    std::size_t label = first_label;
    std::map<std::size_t, std::size_t> places;  // of jobs, among the names
    for (const MachineUseInput::Bar& bar : input.bars) {
        if (label >= first_label + labels_most) break;
        const BarPlace place = place_of_bar(input, bar);
        const double wide = (bar.end_h - bar.begin_h) * pixels.per_hour;
        const auto fits = [&](std::string_view name) { return wide >= label_width(name) + 6; };
        const std::string number = fmt::format("{}", bar.job);
        const bool named = fits(name_of(input, bar.job));
        if ((!named && !fits(number)) || (place.high - place.low) * pixels.per_row < 11) continue;
        if (named && places.try_emplace(bar.job, names.size() + 1).second) {
            names.push_back(name_of(input, bar.job));
        }
        const std::string name =
            named ? fmt::format("jobs[{}]", places.at(bar.job)) : gnuplot_string(number);
        const bool plain = looks.fill(looks.of(input.jobs[bar.job])).style.starts_with("solid");
        text += fmt::format("    set label {} {} at first {},first {} center front{}\n", label++,
                            name, (bar.begin_h + bar.end_h) / 2 * per_hour,
                            (place.low + place.high) / 2, plain ? "" : " boxed");
    }
    return text;
}

std::string bars_of(const MachineUseInput& input, const JobLooks& looks, double per_hour) {
    std::string text;
    for (std::size_t look = 0; look <= looks.count(); ++look) {
        const bool any = std::ranges::any_of(input.bars, [&](const MachineUseInput::Bar& bar) {
            return looks.of(input.jobs[bar.job]) == look;
        });
        if (!any) continue;
        text += fmt::format(
            "{}'{}.csv' skip 1 using ($5 == {} ? ($1+$2)/2*{} : NaN):(($3+$4)/2):($1*{}):($2*{}):"
            "3:4 with boxxyerror {} notitle",
            text.empty() ? "" : ", \\\n        ", input.file_stem, look, per_hour, per_hour,
            per_hour, look_of_fill(looks.fill(look), true));
    }
    return text;
}

FigureSource lanes_of(const MachineUseInput& input, const JobLooks& looks,
                      const FigureStyle& style) {
    const std::size_t machines = input.gpus_of.size();
    FigureSource figure;
    figure.name = input.file_stem;
    figure.width = style.width(1000);
    figure.data = {{input.file_stem + ".csv", table_of(input, looks)}};
    double end_h = 0;
    for (const MachineUseInput::Bar& bar : input.bars) end_h = std::max(end_h, bar.end_h);
    const TimeUnit unit = axis_time_unit(end_h);
    const double end = std::max(end_h * unit.per_hour, 1e-9);
    const Title title(input.title, figure.width);
    const Legend legend(style.place(LegendPlace::below), looks.entries(input), figure.width - 20);
    Panels panels;
    panels.width = figure.width;
    panels.left = 96;
    panels.above = 30 + title.more();
    panels.make_room(legend);
    panels.high = std::clamp(64.0 * static_cast<double>(machines), 120.0, 900.0);
    if (legend.right() > 0) panels.high = std::max(panels.high, legend.height());
    figure.height = panels.height();
    std::string rows;
    for (std::size_t i = 0; i < machines; ++i) {
        rows += fmt::format("{}'machine {}' {}", i == 0 ? "" : ", ", i,
                            row_part / -2 - static_cast<double>(i));
    }
    std::vector<std::string> names;
    const LanePixels pixels{panels.wide() / end * unit.per_hour,
                            panels.high / static_cast<double>(machines)};
    const std::string bars_named = names_in_bars(input, looks, unit.per_hour, pixels, names);
    figure.settings =
        fmt::format(
            "set border 3 lw 0.8\nset xtics {} nomirror out format '%g'\nset ytics nomirror out "
            "({})\nset xrange [0:{}]\nset yrange [{}:{}]\n"
            "set style textbox opaque noborder margins 0.2,0.2\n",
            tic_step(end, tics_on(panels.wide())), rows, end,
            -static_cast<double>(machines) + 1 - row_part - 0.06, 0.06) +
        array_of(names) + looks.settings(input) + title.settings();
    figure.drawing = panels.margins(0) + title.label(figure.width, figure.height) +
                     legend.settings(figure.width, figure.height, 24 + title.more()) + bars_named +
                     fmt::format("    set xlabel 'time ({})'\n    plot {}{}\n    unset label\n",
                                 unit.symbol, bars_of(input, looks, unit.per_hour), legend.plots());
    return figure;
}

}  // namespace

FigureResult draw_gpus_by_job(const FigureInput& input, const std::filesystem::path& folder,
                              const FigureOptions& options) {
    FigureResult all;
    if (input.machine_uses.empty()) add_result(all, {{}, "gpus_by_job: there is nothing to draw"});
    const std::span shown =
        std::span(input.machine_uses).first(std::min(input.machine_uses.size(), figures_most));
    if (shown.size() < input.machine_uses.size()) {
        all.notes.push_back(fmt::format("gpus_by_job: drawn for the first {} of {}", shown.size(),
                                        input.machine_uses.size()));
    }
    std::vector<MachineUseInput> good;
    for (const MachineUseInput& each : shown) {
        const std::string problem = problem_of(each);
        if (problem.empty()) {
            good.push_back(each);
        } else {
            add_result(all, {{}, fmt::format("{}: {}", one_line(each.file_stem), problem)});
        }
    }
    const JobLooks looks(good);
    for (const MachineUseInput& each : good) {
        add_result(all, produce(fits_in_lanes(each) ? lanes_of(each, looks, options.style)
                                                    : job_stack(each, looks, options.style),
                                folder, options));
    }
    return all;
}

}  // namespace ukemi::plots
