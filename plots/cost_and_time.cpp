// cost_and_time.cpp — what each policy costs, and how long it takes.
//
// Two panels share the rows, one policy each in its colour, sorted by mean cost. In a row, above:
// the box plot (least, quartiles, median, greatest); in the middle: the mean with its 95 %
// interval; below: the runs themselves, while there are few enough to be seen. The deadline is a
// line in the right panel, what lies beyond it is shaded, and runs that missed it are crosses.
// Where policies are compared with one of them, a third panel has the differences: filled where
// they are significant.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clustered_summary.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/statistics.hpp"
#include "base/time_unit.hpp"
#include "plots/panels.hpp"
#include "plots/policy_looks.hpp"
#include "plots/policy_rows.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t runs_shown_max = 200;  // of one policy
constexpr int bars_width = 1100;
constexpr int difference_width = 420;

struct Spread {
    Summary summary;
    double quartile_1 = 0;
    double quartile_3 = 0;
};

Spread spread_of(const PolicyRow& row, double RunPoint::*field) {
    std::vector<double> values;
    std::vector<ClusterValue> clustered;
    for (std::size_t i = 0; i < row.runs.size(); ++i) {
        const RunPoint& run = *row.runs[i];
        values.push_back(run.*field);
        clustered.push_back({run.cluster.value_or(i), run.*field});
    }
    std::sort(values.begin(), values.end());
    return {summarise_clusters(clustered), quantile(values, 0.25), quantile(values, 0.75)};
}

double missed_share(const PolicyRow& row) {
    const auto missed = std::count_if(row.runs.begin(), row.runs.end(), [](const RunPoint* run) {
        return run->deadline_met == false;
    });
    return static_cast<double>(missed) / static_cast<double>(row.runs.size());
}

// The names come last in every file: gnuplot never reads as far as the text.
std::string table_of_policies(const PolicyRows& rows) {
    std::vector<std::string> columns{"row", "runs"};
    for (const char* quantity : {"cost_usd", "duration_h"}) {
        for (const char* part : {"mean", "mean_low_95", "mean_high_95", "min", "quartile_1",
                                 "median", "quartile_3", "max"}) {
            columns.push_back(fmt::format("{}_{}", quantity, part));
        }
    }
    columns.insert(columns.end(), {"deadline_missed_share", "policy"});
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        const PolicyRow& row = rows.rows[i];
        csv.add(static_cast<std::int64_t>(i)).add(static_cast<std::int64_t>(row.runs.size()));
        for (const auto field : {&RunPoint::cost_usd, &RunPoint::duration_h}) {
            const auto [all, quartile_1, quartile_3] = spread_of(row, field);
            csv.add(all.mean).add(all.mean_low_95).add(all.mean_high_95).add(all.min);
            csv.add(quartile_1).add(all.median).add(quartile_3).add(all.max);
        }
        const bool none_due =
            std::none_of(row.runs.begin(), row.runs.end(),
                         [](const RunPoint* run) { return run->deadline_met.has_value(); });
        if (none_due) {
            csv.add(std::string_view{});
        } else {
            csv.add(missed_share(row));
        }
        csv.add(one_line(row.policy));
        csv.end_row();
    }
    return csv.text();
}

std::string table_of_runs(const PolicyRows& rows) {
    CsvWriter csv(
        {"row", "spread", "cost_usd", "duration_h", "deadline_met", "seed", "trace", "policy"});
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        const PolicyRow& row = rows.rows[i];
        for (std::size_t n = 0; n < row.runs.size(); ++n) {
            const RunPoint& run = *row.runs[n];
            // Multiples of the golden ratio: neighbours in the file lie far apart in the row, and
            // the same data always gives the same picture.
            constexpr double golden = 0.6180339887498949;
            const double turn = golden * static_cast<double>(n + 1);
            const double spread = std::round(1000 * (turn - std::floor(turn))) / 1000;
            csv.add(static_cast<std::int64_t>(i)).add(spread);
            csv.add(run.cost_usd).add(run.duration_h);
            csv.add(std::string_view(!run.deadline_met ? "" : *run.deadline_met ? "1" : "0"));
            csv.add(std::to_string(run.seed));
            csv.add(one_line(run.trace)).add(one_line(run.policy));
            csv.end_row();
        }
    }
    return csv.text();
}

// All runs, and the intervals of the means too, unless they reach so far that nothing else could be
// seen (two or three runs): then they are cut off at the edge.
AxisRange range_of(const PolicyRows& rows, double RunPoint::*field, std::optional<double> also) {
    double min = rows.rows.front().runs.front()->*field;
    double max = min;
    double low = min;
    double high = max;
    for (const PolicyRow& row : rows.rows) {
        const Summary summary = spread_of(row, field).summary;
        min = std::min(min, summary.min);
        max = std::max(max, summary.max);
        low = std::min(low, summary.mean_low_95);
        high = std::max(high, summary.mean_high_95);
    }
    const double reach = (max - min) / 2;
    min = std::min(min, std::max({0.0, low, min - reach}));
    max = std::max(max, std::min(high, max + reach));
    return axis_range(std::min(min, also.value_or(min)), std::max(max, also.value_or(max)));
}

// The key of the means; what is empty or odd is left out of it.
std::string mean_title(const std::string& over) {
    const bool plain = std::ranges::all_of(over, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ' ' || c == ',' ||
               c == '(' || c == ')';
    });
    if (over.empty() || !plain) return "mean, 95 % interval";
    // Three columns of keys fit the page while each is short.
    return "mean, 95 % over " + over.substr(0, over.find(" ("));
}

std::vector<PolicyLook> looks_of_policies(const PolicyRows& rows) {
    std::vector<std::string> names;
    for (const PolicyRow& row : rows.rows) names.push_back(row.policy);
    return looks_of(names);
}

// Of several policies each has its own point and colour, and the key a neutral one.
std::string mean_mark(const PolicyRows& rows) {
    const bool several = rows.rows.size() != 1;
    const PolicyLook look =
        several ? PolicyLook{colour::black, "1", 7} : looks_of_policies(rows)[0];
    return fmt::format("pt {} ps 0.75 lw 1.6 lc rgb '{}'", look.point, look.colour);
}

// Whether any policy has several runs, and any an interval of its mean.
struct Several {
    bool runs = false;
    bool clusters = false;
};
Several several_of(const PolicyRows& rows) {
    Several any;
    for (const PolicyRow& row : rows.rows) {
        any.runs = any.runs || row.runs.size() > 1;
        any.clusters = any.clusters || spread_of(row, &RunPoint::cost_usd).summary.clusters > 1;
    }
    return any;
}

bool any_missed(const PolicyRows& rows) {
    return std::ranges::any_of(rows.rows,
                               [](const PolicyRow& row) { return missed_share(row) > 0; });
}

// Only of what there is.
std::vector<LegendEntry> entries_of_runs(const PolicyRows& rows, const FigureInput& input,
                                         bool runs_shown) {
    const std::string black(colour::black);
    const Several several = several_of(rows);
    std::vector<LegendEntry> entries;
    if (several.runs) {
        entries = {
            own_entry("least to greatest", "lines lt 1 lw 1 lc rgb '" + black + "'"),
            own_entry("quartiles", fmt::format("boxes lc rgb '{}' fs solid 0.6 border lc rgb '{}'",
                                               colour::grey, black)),
            own_entry("median", "points pt '|' ps 1 lc rgb '" + black + "'")};
    }
    if (several.clusters) {
        entries.push_back(own_entry(mean_title(input.intervals_over),
                                    "xerrorbars lt 1 " + mean_mark(rows), no_bars));
    } else if (several.runs) {
        entries.push_back(own_entry("mean", "points " + mean_mark(rows)));
    }
    if (runs_shown) {
        entries.push_back(own_entry("one run", "points pt 6 ps 0.4 lw 0.8 lc rgb '#555555'"));
    }
    if (runs_shown && any_missed(rows)) {
        entries.push_back(own_entry("one run, late or unfinished",
                                    "points pt 2 ps 0.5 lw 1.2 lc rgb '" + black + "'"));
    }
    if (std::ranges::any_of(input.differences, &PairedCost::significant)) {
        entries.push_back(
            own_entry("filled: p_Holm < 0.05", "points pt 7 ps 1 lc rgb '" + black + "'"));
    }
    return entries;
}

// The plot command of one panel; `first` is the column of the mean, `run` that of one run's value.
std::string panel(int first, int run, bool runs_shown, double factor) {
    const auto column = [&](int offset) { return fmt::format("${}*{}", first + offset, factor); };
    std::string text = fmt::format(
        "    plot 'cost_and_time.csv' skip 1 using ({min}):($1-0.2):({max}-{min}):(0) with vectors "
        "nohead lt 1 lw 1 lc rgb '{black}' notitle, \\\n"
        "        '' skip 1 using ({q1}):($1-0.2):({q1}):({q3}):($1-0.33):($1-0.07):(shade($1)) "
        "with boxxyerror lc rgb variable fs solid 0.6 border lc rgb '{black}' notitle, \\\n"
        "        '' skip 1 using ({median}):($1-0.33):(0):(0.26) with vectors nohead lt 1 lw 2.5 "
        "lc rgb '{black}' notitle, \\\n"
        "        '' skip 1 using ({mean}):($1+0.06):({low}):({high}):(shade($1)) with xerrorbars "
        "pt 0 lw 1.6 lc rgb variable notitle, \\\n"
        "        '' skip 1 using ({mean}):($1+0.06):(point($1)):(shade($1)) with points ps 0.9 pt "
        "variable lc rgb variable notitle",
        fmt::arg("min", column(3)), fmt::arg("max", column(7)), fmt::arg("q1", column(4)),
        fmt::arg("q3", column(6)), fmt::arg("median", column(5)), fmt::arg("mean", column(0)),
        fmt::arg("low", column(1)), fmt::arg("high", column(2)), fmt::arg("black", colour::black));
    if (!runs_shown) return text;
    const std::string_view where = "($1+0.2+0.2*$2)";
    text += fmt::format(
        ", \\\n        'cost_and_time_runs.csv' skip 1 using (strcol(5) eq '0' ? NaN : "
        "${0}*{3}):{1} "
        "with points pt 6 ps 0.4 lw 0.8 lc rgb '#555555' notitle, \\\n"
        "        '' skip 1 using (strcol(5) eq '0' ? ${0}*{3} : NaN):{1} with points pt 2 ps 0.5 "
        "lw "
        "1.2 lc rgb '{2}' notitle",
        run, where, colour::black, factor);
    return text;
}

// The colours and points of the rows, for gnuplot to look up.
std::string looks_of_rows(const PolicyRows& rows) {
    const std::vector<PolicyLook> looks = looks_of_policies(rows);
    std::string text = fmt::format("array shades[{0}]\narray points[{0}]\n", looks.size());
    for (std::size_t i = 0; i < looks.size(); ++i) {
        text += fmt::format("shades[{0}] = 0x{1}\npoints[{0}] = {2}\n", i + 1,
                            looks[i].colour.substr(1), looks[i].point);
    }
    return text + "shade(row) = shades[int(row) + 1]\npoint(row) = points[int(row) + 1]\n";
}

// The deadline, and beside the panel who missed it how often.
std::string deadline_marks(const PolicyRows& rows, std::optional<double> deadline_h,
                           const AxisRange& time, const TimeUnit& unit, bool narrow) {
    std::string text;
    if (deadline_h) {
        const bool at_the_edge = *deadline_h > time.low + 0.8 * (time.high - time.low);
        text += fmt::format(
            "    set object 1 rectangle from {0},graph 0 to graph 1,graph 1 behind "
            "fc rgb '#ececec' fs solid noborder\n"
            "    set arrow 1 from {0},graph 0 to {0},graph 1 nohead dt (8,4) lw 1.6 "
            "lc rgb '{1}'\n"
            "    set label 1 'deadline' at {0},graph 1 {2} offset 0,0.6\n",
            *deadline_h * unit.per_hour, colour::black, at_the_edge ? "right" : "center");
    }
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        const double share = missed_share(rows.rows[i]);
        if (share == 0) continue;
        text += fmt::format("    set label {} '{} {} %' at graph 1.02,first {}\n", i + 2,
                            narrow ? "late" : "missed", percent(share), i);
    }
    return text;
}

// Of the differences, those of the rows; the baseline's own row has none.
std::string table_of_differences(const PolicyRows& rows, std::span<const PairedCost> differences) {
    CsvWriter csv({"row", "cost_usd_difference_mean", "cost_usd_difference_low_95",
                   "cost_usd_difference_high_95", "significant", "policy", "baseline"});
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
        for (const PairedCost& one : differences) {
            if (one.policy != rows.rows[i].policy) continue;
            csv.add(i).add(one.usd_mean).add(one.usd_low_95).add(one.usd_high_95);
            csv.add(one.significant ? 1 : 0).add(one_line(one.policy)).add(one_line(one.baseline));
            csv.end_row();
        }
    }
    return csv.text();
}

// Both sides of zero, as far as the intervals reach.
AxisRange range_of(std::span<const PairedCost> differences) {
    AxisRange range{0, 0};
    for (const PairedCost& one : differences) {
        range.low = std::min({range.low, one.usd_mean, one.usd_low_95});
        range.high = std::max({range.high, one.usd_mean, one.usd_high_95});
    }
    const double margin = range.high > range.low ? 0.05 * (range.high - range.low) : 1;
    return {range.low - margin, range.high + margin};
}

std::string difference_panel(std::span<const PairedCost> differences, double pixels) {
    const AxisRange range = range_of(differences);
    return fmt::format(
        "    set xlabel 'cost beyond the baseline (USD)'\n    set xrange [{}:{}]\n"
        "    set xtics {}\n"
        "    set label 1 baseline at graph 0.5,graph 1 center offset 0,0.6\n"
        "    set arrow 1 from 0,graph 0 to 0,graph 1 nohead lw 1.2 lc rgb '{}'\n"
        "    plot 'cost_and_time_differences.csv' skip 1 using 2:1:3:4:(shade($1)) with xerrorbars "
        "pt 0 lw 1.6 lc rgb variable notitle, \\\n"
        "        '' skip 1 using 2:1:(shade($1)) with points pt 6 ps 1 lw 1.6 lc rgb variable "
        "notitle, \\\n"
        "        '' skip 1 using ($5 > 0 ? $2 : NaN):1:(shade($1)) with points pt 7 ps 1 lc rgb "
        "variable notitle",
        range.low, range.high, tic_step(range.high - range.low, tics_on(pixels)), colour::black);
}

std::string axis_of(std::string_view name, const AxisRange& range, double pixels) {
    return fmt::format("    set xlabel '{}'\n    set xrange [{}:{}]\n    set xtics {}\n", name,
                       range.low, range.high, tic_step(range.high - range.low, tics_on(pixels)));
}

std::string panel_called(std::string_view name, const PolicyRows& rows, const FigureInput& input,
                         bool runs_shown, double pixels, bool narrow) {
    if (name == "differences") return difference_panel(input.differences, pixels);
    if (name == "cost") {
        const AxisRange cost = range_of(rows, &RunPoint::cost_usd, std::nullopt);
        return axis_of("cost (USD)", cost, pixels) + panel(3, 3, runs_shown, 1);
    }
    const AxisRange time = range_of(rows, &RunPoint::duration_h, input.deadline_h);
    const TimeUnit unit = axis_time_unit(time.high);
    return axis_of(fmt::format("duration ({})", unit.symbol),
                   {time.low * unit.per_hour, time.high * unit.per_hour}, pixels) +
           deadline_marks(rows, input.deadline_h, time, unit, narrow) +
           panel(11, 4, runs_shown, unit.per_hour);
}

}  // namespace

FigureResult draw_cost_and_time(const FigureInput& input, const std::filesystem::path& folder,
                                const FigureOptions& options) {
    PolicyRows rows = group_by_policy(input.runs);
    if (rows.problem.empty() && input.deadline_h && !std::isfinite(*input.deadline_h)) {
        rows.problem = "the deadline is not a finite number of hours";
    }
    if (!rows.problem.empty()) return {{}, "cost_and_time: " + rows.problem};
    const bool compared = !input.differences.empty();
    std::vector<std::string_view> shown;
    for (const std::string_view one : {"cost", "time", "differences"}) {
        if (one == "differences" && !compared) continue;
        if (options.style.shows("cost_and_time", one)) shown.push_back(one);
    }
    if (shown.empty()) return {};
    const RowLayout layout =
        row_layout(rows, options.style, bars_width + (compared ? difference_width : 0));
    const bool runs_shown = std::all_of(rows.rows.begin(), rows.rows.end(), [](const auto& row) {
        return row.runs.size() <= runs_shown_max;
    });
    const bool missed = any_missed(rows);
    const bool narrow = layout.width < narrow_width;
    const Legend legend(options.style.place(LegendPlace::above),
                        entries_of_runs(rows, input, runs_shown), layout.width - 20);
    Panels panels;
    panels.width = layout.width;
    panels.left = layout.left;
    panels.high = layout.high;
    panels.count = shown.size();
    for (const std::string_view one : shown) {  // room for who missed the deadline
        panels.beside.push_back(missed && one == "time" ? (narrow ? 72 : 92) : 0);
    }
    panels.make_room(legend);
    // The other panels have names above them: the deadline's, the baseline's.
    panels.above = panels.stacked() && shown.front() == "cost" ? 8 : 26;

    FigureSource figure;
    figure.name = "cost_and_time";
    figure.width = layout.width;
    figure.height = panels.height();
    figure.data = {{"cost_and_time.csv", table_of_policies(rows)},
                   {"cost_and_time_runs.csv", table_of_runs(rows)}};
    figure.settings = layout.settings + looks_of_rows(rows) +
                      "set border 3 lw 0.8\nset grid x lt 1 lw 0.6 lc rgb '#dddddd'\n"
                      "set xtics nomirror out format '%g'\nset bars 0.5\n";
    if (compared) {
        figure.data.emplace_back("cost_and_time_differences.csv",
                                 table_of_differences(rows, input.differences));
        const auto letters = static_cast<std::size_t>(std::clamp(panels.wide() / 9, 12.0, 40.0));
        figure.settings += fmt::format(
            "baseline = {}\n",
            gnuplot_string(label_text("against " + input.differences.front().baseline, letters)));
    }
    figure.drawing = "    set multiplot\n" + legend.settings(figure.width, figure.height, 0);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        figure.drawing += panels.margins(i);
        if (i == 0 || panels.stacked()) figure.drawing += layout.names;
        figure.drawing += panel_called(shown[i], rows, input, runs_shown, panels.wide(), narrow);
        figure.drawing += (i == 0 ? legend.plots() : std::string()) +
                          "\n    unset object\n    unset arrow\n    unset label\n    unset key\n";
    }
    figure.drawing += "    unset multiplot\n";
    return produce(figure, folder, options);
}

}  // namespace ukemi::plots
