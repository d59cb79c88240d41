#include "plots/varied_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "plots/gnuplot.hpp"
#include "plots/legend.hpp"
#include "plots/title.hpp"
#include "plots/varied_axes.hpp"
#include "plots/varied_hours.hpp"
#include "plots/varied_marks.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t variations_max = 12;
constexpr std::size_t varied_lines_max = 12;
constexpr std::size_t varied_columns_max = 12;
constexpr int panel_left = 70;      // pixels, at least
constexpr int beside_numbers = 43;  // an axis' name, a tic, and what is between them and numbers
constexpr int panel_above = 24;
constexpr int panel_below = 52;
constexpr int panel_gap = 20;
constexpr int panel_width_min = 230;
constexpr std::size_t place_max = 40;             // letters
constexpr std::size_t places_beside_legend = 12;  // more names need the width of the picture
constexpr double upright_name = 16;               // pixels that one takes along the axis

std::string problem_of(const VariationInput& input) {
    if (input.published_as.size() > published_marks_max) {
        return "published values are of too many kinds";
    }
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
        const bool beside = !narrow && input.places.size() <= places_beside_legend;
        const Legend legend(style.place(beside ? LegendPlace::right : LegendPlace::below),
                            entries_of(input, all_, label_max), source_.width - 20);
        grid_ = grid_of(input, source_.width - legend.right());
        const Title title(input.title, source_.width);
        above_ = (title.empty() ? 8 : 30 + title.more()) + legend.above();
        named_ = input.columns.size() > 1;
        const double row = grid_.high + (named_ ? panel_above : panel_gap);
        rows_ = shown_.size() * grid_.lines;
        source_.height = static_cast<int>(above_ + row * static_cast<double>(rows_) + panel_below +
                                          room_for_places() + legend.below());
        if (legend.right() > 0) {
            source_.height = std::max(source_.height, static_cast<int>(above_ + legend.height()));
        }
        settings(label_max);
        source_.settings += title.settings();
        source_.drawing = drawing(title, legend);
    }
    const FigureSource& source() const { return source_; }
    // What it has no room for; mostly empty.
    std::string note() const {
        if (named_places() == 1) return {};
        return fmt::format("{}: one of {} places has its name, for want of room", source_.name,
                           named_places());
    }

private:
    // Names of places stand aslant below the axis; many of them, upright.
    bool stand_upright() const { return input_.places.size() > 6; }
    // One of so many has its name.
    std::size_t named_places() const {
        if (!stand_upright()) return 1;
        const auto places = static_cast<double>(input_.places.size());
        return static_cast<std::size_t>(
            std::max(1.0, std::ceil(upright_name * places / grid_.wide)));
    }
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
            "axis_text = {}\narray names[{}]\narray columns[{}]\narray published[{}]\n",
            log_x ? "set logscale x\n" : "", x.low, x.high,
            // A line in steps changes anywhere: places where it does say nothing.
            !input_.steps ? tics_at(places, x, log_x, grid_.wide)
            : log_x       ? fmt::format("set xtics {} nomirror out\n", log_tics(x))
                          : "set xtics autofreq nomirror out\n",
            gnuplot_string(label_text(input_.axis, axis_letters())), all_.policies.size(),
            input_.columns.size(), input_.published_as.size());
        name_all("names", distinct_labels(all_.policies, label_max));
        if (!input_.places.empty()) {
            source_.settings +=
                fmt::format("set xrange [-0.5:{}]\nset xtics 0,1\narray places[{}]\n",
                            static_cast<double>(input_.places.size()) - 0.5, input_.places.size());
        }
        name_all("places", distinct_labels(input_.places, place_max));
        x_ = x;
        if (!input_.tics.empty()) {
            source_.settings += fmt::format("array tics[{}]\n", input_.tics.size());
            name_all("tics", named_tics().labels);
        }
        name_all("published", distinct_labels(input_.published_as, label_max));
        name_all("columns", named_ ? distinct_labels(input_.columns, 34)
                                   : std::vector<std::string>(input_.columns.size(), " "));
    }

    // As many as fit about the middle of the panels, up to the edge of the picture.
    std::size_t axis_letters() const {
        const double letter = 8;
        const auto columns = static_cast<double>(grid_.columns);
        const double middle = grid_.left + (columns * grid_.wide + (columns - 1) * panel_gap) / 2;
        const double half = std::min(middle, source_.width - middle);
        return static_cast<std::size_t>(std::max(10.0, 2 * half / letter));
    }

    struct NamedTics {
        std::vector<double> places;
        std::vector<std::string> labels;
    };
    NamedTics named_tics() const {
        NamedTics named;
        std::vector<std::string> names;
        for (const auto& [place, name] : input_.tics) {
            named.places.push_back(place);
            names.push_back(name);
        }
        named.labels = distinct_labels(names, place_max);
        return named;
    }
    // For a panel; with their names below the lowest alone.
    std::string xtics_named(bool lowest) const {
        const NamedTics named = named_tics();
        std::vector<std::string> tics;
        for (const std::size_t i :
             tics_with_room(named.places, named.labels, x_, log_places(input_), grid_.wide)) {
            tics.push_back(lowest ? fmt::format("tics[{}] {}", i + 1, named.places[i])
                                  : fmt::format("'' {}", named.places[i]));
        }
        return fmt::format("    set xtics ({}) nomirror out\n", fmt::join(tics, ", "));
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
        if (!input_.tics.empty()) text += xtics_named(lowest);
        for (std::size_t i = 0; lowest && i < input_.places.size(); i += named_places()) {
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
    AxisRange x_;
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
        const std::string_view before = input.title.empty() ? "" : "; ";
        input.title += fmt::format("{}the first {} of {} lines", before, varied_lines_max,
                                   all.policies.size());
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
        if (!drawing.note().empty()) all.notes.push_back(drawing.note());
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
