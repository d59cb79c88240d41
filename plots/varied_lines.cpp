#include "plots/varied_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/gnuplot.hpp"
#include "plots/legend.hpp"
#include "plots/policy_looks.hpp"
#include "plots/title.hpp"
#include "plots/varied_hours.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t variations_max = 12;
constexpr std::size_t varied_lines_max = 12;
constexpr std::size_t varied_columns_max = 12;
constexpr int panel_left = 70;      // pixels, at least
constexpr int beside_numbers = 43;  // an axis' name, a tic, and what is between them and numbers
constexpr int tics_of_panel = 6;    // at most, of numbers upwards
constexpr int panel_above = 24;
constexpr int panel_below = 52;
constexpr int panel_gap = 20;
constexpr int panel_width_min = 230;
constexpr std::size_t place_max = 40;  // letters
constexpr std::size_t marks_max = 60;  // of a line that goes by steps, and tics at values
constexpr std::string_view published_mark = "pt 6 ps 1.5 lw 1.8";  // a ring around its own point

std::string problem_of(const VariationInput& input) {
    if (input.lines.empty()) return "there is no line to draw";
    for (const VariationLine& line : input.lines) {
        if (line.column >= input.columns.size()) return "a line has no column";
        double before = -std::numeric_limits<double>::infinity();
        for (const VariationPoint& point : line.points) {
            if (!std::isfinite(point.at) || !(point.at > before)) {
                return "points must be finite and in order";
            }
            before = point.at;
            if (point.values.size() != input.quantities.size()) return "a quantity is missing";
            for (const VariationValue& value : point.values) {
                const auto [low, high] = value.interval_95.value_or(std::pair(0.0, 0.0));
                if (std::isfinite(value.mean) && std::isfinite(low) && std::isfinite(high)) {
                    continue;
                }
                return fmt::format("a value of {} is not finite", one_line(line.policy));
            }
        }
    }
    return {};
}

template <class Holds>
bool any_value(const VariationInput& input, Holds holds) {
    return std::ranges::any_of(input.lines, [&](const VariationLine& line) {
        return std::ranges::any_of(line.points, [&](const VariationPoint& point) {
            return std::ranges::any_of(point.values, holds);
        });
    });
}

bool any_ideal(const VariationInput& input) {
    return any_value(input, [](const VariationValue& value) { return value.ideal.has_value(); });
}

bool any_published(const VariationInput& input) {
    return any_value(input,
                     [](const VariationValue& value) { return value.published.has_value(); });
}

bool any_interval(const VariationInput& input) {
    return any_value(input,
                     [](const VariationValue& value) { return value.interval_95.has_value(); });
}

void add_if_known(CsvWriter& csv, std::optional<double> value) {
    value ? csv.add(*value) : csv.add("");
}

std::string table_of(const VariationInput& input) {
    std::vector<std::string> columns{"line", input.column};
    for (const VariationQuantity& quantity : input.quantities) {
        for (const char* part : {"mean", "low_95", "high_95"}) {
            columns.push_back(fmt::format("{}_{}", quantity.column, part));
        }
        if (any_ideal(input)) columns.push_back(quantity.column + "_ideal");
        if (any_published(input)) columns.push_back(quantity.column + "_published");
    }
    columns.insert(columns.end(), {"missed_share", "policy", "variant"});
    CsvWriter csv(columns);
    for (std::size_t i = 0; i < input.lines.size(); ++i) {
        const VariationLine& line = input.lines[i];
        for (const VariationPoint& point : line.points) {
            csv.add(i).add(point.at);
            for (const VariationValue& value : point.values) {
                csv.add(value.mean);
                if (value.interval_95) {
                    csv.add(value.interval_95->first).add(value.interval_95->second);
                } else {
                    csv.add("").add("");
                }
                if (any_ideal(input)) add_if_known(csv, value.ideal);
                if (any_published(input)) add_if_known(csv, value.published);
            }
            csv.add(point.missed_share).add(one_line(line.policy));
            csv.add(one_line(input.columns[line.column])).end_row();
        }
    }
    return csv.text();
}

std::vector<double> places_of(const VariationInput& input) {
    std::set<double> places;
    for (const VariationLine& line : input.lines) {
        for (const VariationPoint& point : line.points) places.insert(point.at);
    }
    return {places.begin(), places.end()};
}

bool log_places(const VariationInput& input) {
    if (!input.places.empty()) return false;
    const std::vector<double> places = places_of(input);
    return spans_decades(places.front(), places.back());
}

// Whether a quantity's axis is logarithmic: always, or as that of the numbers, where all values can
// be shown.
bool on_log_axis(const VariationInput& input, std::size_t quantity) {
    const VariationQuantity& shown = input.quantities[quantity];
    if (!shown.log && !(shown.log_too && log_places(input))) return false;
    return std::ranges::all_of(input.lines, [&](const VariationLine& line) {
        return std::ranges::all_of(line.points, [&](const VariationPoint& point) {
            const VariationValue& value = point.values[quantity];
            return value.mean > 0 && value.ideal.value_or(1) > 0 && value.published.value_or(1) > 0;
        });
    });
}

// All of the means and intervals, unless these reach so far that the means could not be told apart:
// then an axis ends before them, and marks say so (cut_marks).
AxisRange range_of(const VariationInput& input, std::size_t quantity) {
    constexpr double reach_most = 5;  // over that of the means; on a logarithmic axis a factor
    double min = std::numeric_limits<double>::max();
    double max = std::numeric_limits<double>::lowest();
    double low = min;
    double high = max;
    for (const VariationLine& line : input.lines) {
        for (const VariationPoint& point : line.points) {
            const VariationValue& value = point.values[quantity];
            const double ideal = value.ideal.value_or(value.mean);
            const double published = value.published.value_or(value.mean);
            min = std::min({min, value.mean, ideal, published});
            max = std::max({max, value.mean, ideal, published});
            if (!value.interval_95) continue;
            low = std::min(low, value.interval_95->first);
            high = std::max(high, value.interval_95->second);
        }
    }
    if (on_log_axis(input, quantity)) {
        const double least = std::max(low, min / reach_most);
        const double most = std::min(high, max * reach_most);
        min = std::min(min, least);
        max = std::max(max, most);
        const double factor = std::pow(max / min, 0.06);
        return {min / factor, max * factor};
    }
    const double reach =
        reach_most * std::max(max - min, 0.2 * std::max(std::abs(max), std::abs(min)));
    const double least = std::max(low, min - reach);
    const double most = std::min(high, max + reach);
    return axis_range(std::min(min, least), std::max(max, most));
}

// How far intervals are drawn.
AxisRange drawn_range(const VariationInput& input, std::size_t quantity) {
    const AxisRange range = range_of(input, quantity);
    if (!on_log_axis(input, quantity)) {
        const double margin = 0.02 * (range.high - range.low);
        return {range.low + margin, range.high - margin};
    }
    const double factor = std::pow(range.high / range.low, 0.02);
    return {range.low * factor, range.high / factor};
}

bool any_cut(const VariationInput& input) {
    for (std::size_t quantity = 0; quantity < input.quantities.size(); ++quantity) {
        const AxisRange range = drawn_range(input, quantity);
        for (const VariationLine& line : input.lines) {
            for (const VariationPoint& point : line.points) {
                const auto& interval = point.values[quantity].interval_95;
                if (!interval) continue;
                if (interval->first < range.low || interval->second > range.high) return true;
            }
        }
    }
    return false;
}

// Pixels of the widest number on a quantity's axis.
double numbers_width(const VariationInput& input, std::size_t quantity) {
    const AxisRange range = range_of(input, quantity);
    double widest = 0;
    const auto widen = [&](double number) {
        widest = std::max(widest, label_width(fmt::format("{:g}", number)));
    };
    if (on_log_axis(input, quantity)) {
        for (const double end : {range.low, range.high}) {
            widen(std::pow(10.0, std::floor(std::log10(end))));
        }
        return widest;
    }
    const double step = tic_step(range.high - range.low, tics_of_panel);
    for (int i = 0; i <= tics_of_panel; ++i) {
        const double number = (std::ceil(range.low / step) + i) * step;
        if (number <= range.high) widen(number);
    }
    return widest;
}

struct LineLooks {
    std::vector<std::string> policies;  // in the order of their first lines
    std::vector<PolicyLook> looks;

    std::size_t of(const std::string& policy) const {
        return static_cast<std::size_t>(std::ranges::find(policies, policy) - policies.begin());
    }
};

LineLooks looks_of_lines(const VariationInput& input) {
    LineLooks all;
    for (const VariationLine& line : input.lines) {
        if (all.of(line.policy) == all.policies.size()) all.policies.push_back(line.policy);
    }
    all.looks = looks_of(all.policies);
    return all;
}

bool any_missed(const VariationInput& input) {
    return std::ranges::any_of(input.lines, [](const VariationLine& line) {
        return std::ranges::any_of(line.points,
                                   [](const auto& point) { return point.missed_share > 0; });
    });
}

std::vector<LegendEntry> entries_of(const VariationInput& input, const LineLooks& all,
                                    std::size_t label_max) {
    std::vector<LegendEntry> entries;
    const std::vector<std::string> labels = distinct_labels(all.policies, label_max);
    for (std::size_t i = 0; i < all.policies.size(); ++i) {
        const PolicyLook& look = all.looks[i];
        entries.push_back(
            {labels[i], fmt::format("names[{}]", i + 1),
             fmt::format("{} lt 1 dt {} lw 1.8 pt {} ps 0.8 lc rgb '{}'",
                         input.places.empty() ? "linespoints" : "points",
                         input.places.empty() ? look.dash : "1", look.point, look.colour)});
    }
    if (any_interval(input)) {
        const std::string over = input.intervals_over.substr(0, input.intervals_over.find(" ("));
        entries.push_back(own_entry(
            label_text(over.empty() ? "mean, 95 % interval" : "mean, 95 % over " + over, 44),
            fmt::format("yerrorbars lt 1 lw 1.2 pt 0 lc rgb '{}'", colour::black), no_bars));
    }
    if (any_cut(input)) {
        entries.push_back(own_entry("interval goes on",
                                    fmt::format("points pt 9 ps 0.9 lc rgb '{}'", colour::black)));
    }
    if (any_ideal(input)) {
        entries.push_back(own_entry(
            "ideal", fmt::format("lines lt 1 dt (1,3) lw 1.4 lc rgb '{}'", colour::black)));
    }
    if (any_published(input)) {
        entries.push_back(own_entry(
            "published", fmt::format("points {} lc rgb '{}'", published_mark, colour::black)));
    }
    if (any_missed(input)) {
        entries.push_back(
            own_entry("some late or unfinished",
                      fmt::format("points pt 2 ps 1.3 lw 1.6 lc rgb '{}'", colour::black)));
    }
    return entries;
}

// The intervals of a line, each up to where the axis ends, with a mark where it would go on.
std::vector<std::string> interval_bars(const std::string& rows, std::size_t mean, AxisRange range,
                                       std::string_view shade) {
    const auto cut = [&](std::string_view reaches, double end, int mark) {
        return fmt::format(
            "{} using 2:({} ? {} : NaN) with points pt {} ps 0.9 lc rgb '{}' notitle", rows,
            reaches, end, mark, shade);
    };
    const std::string low = fmt::format("${} < {}", mean + 1, range.low);
    const std::string high = fmt::format("${} > {}", mean + 2, range.high);
    return {fmt::format("{} using 2:{}:({} ? {} : ${}):({} ? {} : ${}) with yerrorbars lt 1 lw 1.2 "
                        "pt 0 lc rgb '{}' notitle",
                        rows, mean, low, range.low, mean + 1, high, range.high, mean + 2, shade),
            cut(low, range.low, 11), cut(high, range.high, 9)};
}

// The lines of one panel; columns of the table: line, the number, three or four a quantity, missed.
std::string plot_of(const VariationInput& input, const std::string& file, const LineLooks& all,
                    std::size_t column, std::size_t quantity) {
    const std::size_t ideal = any_ideal(input) ? 1 : 0;
    const std::size_t each = 3 + ideal + (any_published(input) ? 1 : 0);
    const std::size_t mean = 3 + each * quantity;
    const std::size_t missed = 3 + each * input.quantities.size();
    std::vector<std::string> bars;
    std::vector<std::string> lines;
    std::size_t row = 0;
    for (const VariationLine& line : input.lines) {
        const std::size_t begin = row;
        row += line.points.size();
        if (line.column != column || line.points.empty()) continue;
        const PolicyLook& look = all.looks[all.of(line.policy)];
        const std::string rows = fmt::format("'{}' skip 1 every ::{}::{}", file, begin, row - 1);
        const auto any = [&](auto&& holds) { return std::ranges::any_of(line.points, holds); };
        if (any([&](const auto& point) {
                return point.values[quantity].interval_95.has_value();
            })) {
            for (std::string& bar :
                 interval_bars(rows, mean, drawn_range(input, quantity), look.colour)) {
                bars.push_back(std::move(bar));
            }
        }
        if (any([&](const auto& point) { return point.values[quantity].ideal.has_value(); })) {
            lines.push_back(
                fmt::format("{} using 2:{} with lines lt 1 dt (1,3) lw 1.4 lc rgb '{}' notitle",
                            rows, mean + 3, colour::black));
        }
        if (input.steps) {
            lines.push_back(
                fmt::format("{} using 2:{} with steps lt 1 dt {} lw 1.8 lc rgb '{}' notitle", rows,
                            mean, look.dash, look.colour));
        }
        const bool joined = !input.steps && input.places.empty();
        if (joined || line.points.size() <= marks_max) {
            lines.push_back(fmt::format(
                "{} using 2:{} with {} lt 1 dt {} lw 1.8 pt {} ps 0.8 lc rgb '{}' notitle", rows,
                mean, joined ? "linespoints" : "points", joined ? look.dash : "1", look.point,
                look.colour));
        }
        if (any([&](const auto& point) { return point.values[quantity].published.has_value(); })) {
            lines.push_back(fmt::format("{} using 2:{} with points {} lc rgb '{}' notitle", rows,
                                        mean + 3 + ideal, published_mark, look.colour));
        }
        if (any([](const auto& point) { return point.missed_share > 0; }))
            lines.push_back(
                fmt::format("{} using (${} > 0 ? $2 : NaN):{} with points pt 2 ps 1.3 lw 1.6 lc "
                            "rgb '{}' notitle",
                            rows, missed, mean, colour::black));
    }
    bars.insert(bars.end(), lines.begin(), lines.end());
    if (bars.empty()) bars.emplace_back("NaN notitle");
    return fmt::format("    plot {}", fmt::join(bars, ", \\\n        "));
}

// A grid of panels: quantities below each other; columns wrap where the picture is too narrow.
struct PanelGrid {
    std::size_t columns = 1;
    std::size_t lines = 1;  // that one quantity takes
    double wide = 0;
    double high = 0;
    double left = panel_left;
};

PanelGrid grid_of(const VariationInput& input, double width) {
    PanelGrid grid;
    for (std::size_t quantity = 0; quantity < input.quantities.size(); ++quantity) {
        grid.left = std::max(grid.left, beside_numbers + numbers_width(input, quantity));
    }
    const std::size_t columns = input.columns.size();
    const double inner = width - grid.left - 14;
    grid.columns = std::clamp<std::size_t>(
        static_cast<std::size_t>((inner + panel_gap) / (panel_width_min + panel_gap)), 1, columns);
    grid.lines = (columns + grid.columns - 1) / grid.columns;
    grid.wide = (inner - panel_gap * static_cast<double>(grid.columns - 1)) /
                static_cast<double>(grid.columns);
    grid.high = std::clamp(0.62 * grid.wide, 150.0, 300.0);
    return grid;
}

class VariedDrawing {
public:
    VariedDrawing(const VariationInput& input, const std::string& figure, const std::string& name,
                  const FigureStyle& style)
        : input_(input), all_(looks_of_lines(input)) {
        for (std::size_t i = 0; i < input.quantities.size(); ++i) {
            if (style.shows(figure, input.quantities[i].panel, name)) shown_.push_back(i);
        }
        source_.name = name;
        source_.data = {{name + ".csv", table_of(input)}};
        source_.width = style.width(input.columns.size() > 1 ? 1000 : 760);
        const bool narrow = source_.width < narrow_width;
        const std::size_t label_max = narrow ? 26 : 40;
        const Legend legend(style.place(narrow ? LegendPlace::below : LegendPlace::right),
                            entries_of(input, all_, label_max), source_.width - 20);
        grid_ = grid_of(input, source_.width - legend.right());
        const Title title(input.title, source_.width);
        above_ = (title.empty() ? 8 : 30 + title.more()) + legend.above();
        named_ = input.columns.size() > 1;
        const double row = grid_.high + (named_ ? panel_above : panel_gap);
        rows_ = shown_.size() * grid_.lines;
        source_.height = static_cast<int>(above_ + row * static_cast<double>(rows_) + panel_below +
                                          room_for_places() + legend.below());
        settings(label_max);
        source_.settings += title.settings();
        source_.drawing = drawing(title, legend);
    }
    const FigureSource& source() const { return source_; }

private:
    // Names of places stand aslant below the axis; many of them, upright.
    bool stand_upright() const { return input_.places.size() > 6; }
    double room_for_places() const {
        double widest = 0;
        for (const std::string& place : distinct_labels(input_.places, place_max)) {
            widest = std::max(widest, label_width(place));
        }
        return (stand_upright() ? 1 : 0.5) * widest;
    }

    void settings(std::size_t label_max) {
        const std::vector<double> places = places_of(input_);
        const bool log_x = log_places(input_);
        const double margin = std::max(0.05 * (places.back() - places.front()),
                                       places.size() > 1 ? 0 : 0.1 * std::abs(places.front()));
        const double factor = std::pow(places.back() / places.front(), 0.05);
        const AxisRange x =
            log_x ? AxisRange{places.front() / factor, places.back() * factor}
                  : AxisRange{places.front() - margin, places.back() + std::max(margin, 1e-9)};
        source_.settings = fmt::format(
            "set border 3 lw 0.8\nset grid lt 1 lw 0.6 lc rgb '#dddddd'\nset bars 0.5\n"
            "set ytics nomirror out format '%g'\n{}set xrange [{}:{}]\n{}"
            "axis_text = {}\narray names[{}]\narray columns[{}]\n",
            log_x ? "set logscale x\n" : "", x.low, x.high,
            // A line in steps changes anywhere: places where it does say nothing.
            !input_.steps ? tics_at(places, x, log_x, grid_.wide)
            : log_x       ? fmt::format("set xtics {} nomirror out\n", log_tics(x))
                          : "set xtics autofreq nomirror out\n",
            gnuplot_string(label_text(input_.axis, static_cast<std::size_t>(source_.width / 8))),
            all_.policies.size(), input_.columns.size());
        name_all("names", distinct_labels(all_.policies, label_max));
        if (!input_.places.empty()) {
            source_.settings +=
                fmt::format("set xrange [-0.5:{}]\nset xtics 0,1\narray places[{}]\n",
                            static_cast<double>(input_.places.size()) - 0.5, input_.places.size());
        }
        name_all("places", distinct_labels(input_.places, place_max));
        name_all("columns", named_ ? distinct_labels(input_.columns, 34)
                                   : std::vector<std::string>(input_.columns.size(), " "));
    }

    void name_all(std::string_view array, const std::vector<std::string>& labels) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
            source_.settings +=
                fmt::format("{}[{}] = {}\n", array, i + 1, gnuplot_string(labels[i]));
        }
    }

    std::string panel(std::size_t row, std::size_t column, std::size_t quantity,
                      bool lowest) const {
        const std::size_t place = column % grid_.columns;
        const double x = grid_.left + static_cast<double>(place) * (grid_.wide + panel_gap);
        const double gap = named_ ? panel_above : panel_gap;
        const double top = above_ + static_cast<double>(row) * (grid_.high + gap) + gap;
        const AxisRange range = range_of(input_, quantity);
        const bool log_y = on_log_axis(input_, quantity);
        const std::string tics =
            log_y ? log_tics(range)
                  : fmt::format("{}", tic_step(range.high - range.low, tics_of_panel));
        std::string text = fmt::format(
            "    set lmargin at screen {}\n    set rmargin at screen {}\n"
            "    set tmargin at screen {}\n    set bmargin at screen {}\n"
            "    {} logscale y\n    set yrange [{}:{}]\n    set ytics {}\n"
            "    set format y {}\n    set format x {}\n",
            x / source_.width, (x + grid_.wide) / source_.width, 1 - top / source_.height,
            1 - (top + grid_.high) / source_.height, log_y ? "set" : "unset", range.low, range.high,
            tics, place == 0 ? "'%g'" : "''",
            lowest && input_.places.empty() ? tic_format(places_of(input_)) : "''");
        for (std::size_t i = 0; lowest && i < input_.places.size(); ++i) {
            text += fmt::format(
                "    set label {} places[{}] at first {},graph 0 right offset 0,-0.8 rotate by "
                "{}\n",
                300 + i, i + 1, i, stand_upright() ? 90 : 30);
        }
        if (place == 0) {
            text +=
                fmt::format("    set label 103 {} at screen {},graph 0.5 center rotate\n",
                            gnuplot_string(input_.quantities[quantity].axis), 14.0 / source_.width);
        }
        if (named_) {
            text += fmt::format(
                "    set label 102 columns[{}] at graph 0.5,graph 1 center offset 0,0.6\n",
                column + 1);
        }
        return text;
    }

    std::string drawing(const Title& title, const Legend& legend) const {
        std::string text = fmt::format(
            "    set multiplot\n{}    set label 104 axis_text at screen {},screen {} center\n",
            title.label(source_.width, source_.height),
            (grid_.left + (source_.width - legend.right() - 14)) / 2 / source_.width,
            (legend.below() + 14) / source_.height);
        text +=
            legend.settings(source_.width, source_.height, title.empty() ? 4 : 28 + title.more());
        for (std::size_t q = 0; q < shown_.size(); ++q) {
            for (std::size_t column = 0; column < input_.columns.size(); ++column) {
                const std::size_t row = q * grid_.lines + column / grid_.columns;
                const bool lowest =
                    q + 1 == shown_.size() && column + grid_.columns >= input_.columns.size();
                text += panel(row, column, shown_[q], lowest);
                const bool first = q == 0 && column == 0;
                text += plot_of(input_, source_.name + ".csv", all_, column, shown_[q]);
                text += (first ? legend.plots() : "") + "\n    unset label\n    unset key\n";
            }
        }
        return text + "    unset multiplot\n";
    }

    const VariationInput& input_;
    LineLooks all_;
    std::vector<std::size_t> shown_;  // quantities
    FigureSource source_;
    PanelGrid grid_;
    std::size_t rows_ = 0;
    double above_ = 0;
    bool named_ = false;  // the columns
};

// What there is room for, the rest said.
VariationInput with_room(VariationInput input, const std::string& name,
                         std::vector<std::string>& notes) {
    if (input.columns.size() > varied_columns_max) {
        notes.push_back(fmt::format("{}: shows the first {} of {} panels", name, varied_columns_max,
                                    input.columns.size()));
        input.columns.resize(varied_columns_max);
    }
    LineLooks all = looks_of_lines(input);
    if (all.policies.size() > varied_lines_max) {
        notes.push_back(fmt::format("{}: shows the first {} of {} policies", name, varied_lines_max,
                                    all.policies.size()));
        all.policies.resize(varied_lines_max);
    }
    std::erase_if(input.lines, [&](const VariationLine& line) {
        return line.points.empty() || line.column >= input.columns.size() ||
               all.of(line.policy) == all.policies.size();
    });
    return input;
}

}  // namespace

FigureResult draw_varied_lines(const std::string& figure,
                               std::span<const VariationInput> variations,
                               const std::filesystem::path& folder, const FigureOptions& options) {
    FigureResult all;
    if (variations.empty()) add_result(all, {{}, figure + ": there is nothing to draw"});
    for (std::size_t i = 0; i < std::min(variations.size(), variations_max); ++i) {
        const std::string name = i == 0 ? figure : fmt::format("{}-{}", figure, i + 1);
        const std::string problem = problem_of(variations[i]);
        if (!problem.empty()) {
            add_result(all, {{}, fmt::format("{}: {}", figure, problem)});
            continue;
        }
        const VariationInput shown = in_time_units(with_room(variations[i], name, all.notes));
        const bool any = std::ranges::any_of(shown.quantities, [&](const auto& quantity) {
            return options.style.shows(figure, quantity.panel, name);
        });
        if (!any) continue;
        const VariedDrawing drawing(shown, figure, name, options.style);
        add_result(all, produce(drawing.source(), folder, options));
    }
    if (variations.size() > variations_max) {
        all.notes.push_back(
            fmt::format("{}: drawn for the first {} of {} combinations of what "
                        "else was varied",
                        figure, variations_max, variations.size()));
    }
    return all;
}

}  // namespace ukemi::plots
