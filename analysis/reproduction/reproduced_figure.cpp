// reproduced_figure.cpp — takes a figure's values out of the rows of its runs, and draws them.
#include "analysis/reproduction/reproduced_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "plots/varied_lines.hpp"

namespace ukemi::analysis {

namespace {

void add_flat(FigureRow& row, const std::string& before, const nlohmann::json& object) {
    for (const auto& [key, value] : object.items()) {
        const std::string name = before + key;
        if (value.is_object()) add_flat(row, name + "_", value);
        if (value.is_number()) row.numbers[name] = value.get<double>();
        if (value.is_string()) row.texts[name] = value.get<std::string>();
    }
}

// That a text begins with.
std::optional<double> number_at(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

// 191988 s are 53.33 h, whatever the last bits of the quotient are.
double rounded(double at) { return *number_at(fmt::format("{:.9g}", at)); }

bool is_selected(const FigureRow& row, const RowSelection& where) {
    return std::ranges::all_of(where, [&](const auto& one) {
        const auto& [column, value] = one;
        const auto text = row.texts.find(column);
        if (text != row.texts.end()) return text->second == value;
        const auto number = row.numbers.find(column);
        return number != row.numbers.end() && number_at(value) == number->second;
    });
}

using Course = std::vector<std::pair<double, double>>;

// At a place between the first and the last of the course.
double course_at(const Course& course, double at, bool steps) {
    const auto after = std::ranges::upper_bound(course, at, {}, &Course::value_type::first);
    if (after == course.begin()) return course.front().second;
    const auto& [from, value] = *std::prev(after);
    if (steps || after == course.end()) return value;
    const auto& [to, next] = *after;
    return value + (next - value) * (at - from) / (to - from);
}

// Both over the span that they have in common, at so many places of it.
void compare_courses(const Course& published, const Course& simulated, bool steps,
                     ReproducedValue& value) {
    constexpr int places = 5000;
    const double begin = std::max(published.front().first, simulated.front().first);
    const double end = std::min(published.back().first, simulated.back().first);
    double theirs = 0;
    double ours = 0;
    double distance = 0;
    for (int i = 0; i < places; ++i) {
        const double at = begin + (end - begin) * (i + 0.5) / places;
        const double here = course_at(simulated, at, steps);
        const double there = course_at(published, at, steps);
        ours += here / places;
        theirs += there / places;
        distance += std::abs(here - there) / places;
    }
    value.at = end;
    value.published = theirs;
    value.simulated = ours;
    value.distance_percent = 100 * distance / std::abs(theirs);
}

class LineReader {
public:
    LineReader(const FigureDescription& about, const DescribedLine& line,
               std::span<const FigureRow> rows)
        : about_(about), line_(line), rows_(rows) {}

    // By their places.
    std::map<double, const FigureRow*> selected(const RowSelection& where) const {
        std::map<double, const FigureRow*> found;
        for (const FigureRow& row : rows_) {
            if (!is_selected(row, where)) continue;
            const double at = place_of(row);
            if (!found.try_emplace(at, &row).second) {
                refuse(fmt::format("two rows of run \"{}\" stand at {:g}", line_.run, at));
            }
        }
        if (found.empty()) refuse(fmt::format("no row of run \"{}\" fits", line_.run));
        return found;
    }

    double value_of(const FigureRow& row, double at, const DescribedValue& value) const {
        const double mine = taken(row, value);
        if (!value.relative_to) return value.times * mine + value.plus;
        RowSelection where = line_.where;
        for (const auto& [column, wanted] : *value.relative_to) where[column] = wanted;
        const auto others = selected(where);
        const auto other = others.find(at);
        if (other == others.end()) refuse(fmt::format("nothing to relate to stands at {:g}", at));
        return value.times * mine / taken(*other->second, value) + value.plus;
    }

    [[noreturn]] void refuse(const std::string& problem) const {
        throw InputError(about_.file.string(), "",
                         fmt::format("line \"{}\": {}", one_line(line_.name), problem));
    }

private:
    double place_of(const FigureRow& row) const {
        if (line_.stands_at) return *line_.stands_at;
        const auto& places = about_.places;
        if (places.empty()) return rounded(line_.at_times * number_in(row, line_.at));
        const auto text = row.texts.find(line_.at);
        const std::string name =
            text == row.texts.end() ? fmt::format("{:g}", number_in(row, line_.at)) : text->second;
        const auto found = std::ranges::find(places, name);
        if (found == places.end())
            refuse(fmt::format("\"{}\" is none of the axis' \"places\"", name));
        return static_cast<double>(found - places.begin());
    }

    double number_in(const FigureRow& row, const std::string& column) const {
        const auto found = row.numbers.find(column);
        if (found != row.numbers.end()) return found->second;
        const auto text = row.texts.find(column);  // "10 Gbit/s"
        const auto amount = text == row.texts.end() ? std::nullopt : number_at(text->second);
        if (amount) return *amount;
        std::vector<std::string_view> names;
        for (const auto& [name, _] : row.numbers) names.push_back(name);
        refuse(fmt::format("a row of run \"{}\" has no number \"{}\"{}", line_.run, column,
                           did_you_mean(column, names)));
    }

    double taken(const FigureRow& row, const DescribedValue& value) const {
        const double divisor = value.over.empty() ? 1 : number_in(row, value.over);
        return number_in(row, value.take) / divisor;
    }

    const FigureDescription& about_;
    const DescribedLine& line_;
    std::span<const FigureRow> rows_;
};

void add_line(ReproducedFigure& figure, const DescribedLine& line,
              std::span<const FigureRow> rows) {
    const LineReader reader(figure.about, line, rows);
    const std::size_t first = figure.values.size();
    const auto selected = reader.selected(line.where);
    for (const double at : line.published_at) {
        if (!selected.contains(at)) {
            reader.refuse(
                fmt::format("nothing is simulated at {:g}, where a value was published", at));
        }
    }
    for (const auto& [at, row] : selected) {
        const auto place = std::ranges::find(line.published_at, at);
        const bool known = place != line.published_at.end();
        const auto index = static_cast<std::size_t>(place - line.published_at.begin());
        for (std::size_t q = 0; q < line.values.size(); ++q) {
            const DescribedValue& value = line.values[q];
            ReproducedValue& one = figure.values.emplace_back();
            one.panel = line.panel;
            one.line = line.name;
            one.quantity = q;
            one.at = at;
            one.simulated = reader.value_of(*row, at, value);
            if (!std::isfinite(one.simulated)) {
                reader.refuse(fmt::format("its value at {:g} is no number", at));
            }
            if (!known || value.published.empty()) continue;
            one.published = value.published[index];
            one.published_as = value.published_as;
            one.role = value.roles[index];
            if (!value.naive.empty()) one.naive = value.naive[index];
        }
    }
    if (line.published_course.empty()) return;
    Course ours;
    for (const ReproducedValue& one : std::span(figure.values).subspan(first)) {
        if (one.quantity == 0) ours.emplace_back(one.at, one.simulated);
    }
    ReproducedValue& means = figure.values.emplace_back();
    means.panel = line.panel;
    means.line = line.name;
    means.role = line.course_role;
    compare_courses(line.published_course, ours, figure.about.steps, means);
}

// Where it stands in the list, which it joins if need be.
std::size_t place_in(std::vector<std::string>& names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    const auto place = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) names.push_back(name);
    return place;
}

void add_courses(plots::VariationInput& input, const FigureDescription& about) {
    for (const DescribedLine& line : about.lines) {
        if (line.published_course.empty()) continue;
        plots::VariationLine& course = input.lines.emplace_back();
        course.policy = line.name == "simulated" ? "published" : line.name + ", published";
        course.published = true;
        course.column = place_in(input.columns, line.panel);
        for (const auto& [at, value] : line.published_course) {
            course.points.push_back({at, {{value}}, 0});
        }
    }
}

// Without means of courses, and cut where the axis ends: what holds until the next goes on to
// there.
std::vector<ReproducedValue> shown_values(const ReproducedFigure& figure) {
    const std::optional<double> to = figure.about.shown_to;
    std::vector<ReproducedValue> shown;
    bool was_cut = false;
    for (const ReproducedValue& value : figure.values) {
        if (value.distance_percent) continue;
        const bool beyond = to && value.at > *to;
        if (beyond && !was_cut && figure.about.steps && !shown.empty()) {
            shown.push_back(shown.back());
            shown.back().at = *to;
        }
        was_cut = beyond;
        if (!beyond) shown.push_back(value);
    }
    return shown;
}

bool is_given(std::string_view role) { return role == "typed in" || role == "fitted"; }

// What a value's line is worth beside a published course; empty where there is none.
std::string_view role_of_course(const FigureDescription& about, const ReproducedValue& value) {
    for (const DescribedLine& line : about.lines) {
        const bool own = line.name == value.line && line.panel == value.panel;
        if (own && !line.published_course.empty()) return line.course_role;
    }
    return {};
}

// Whether its lines are simulated, and are not called so: rows of `describe` and courses are.
bool needs_saying(const FigureDescription& about) {
    const auto says = [](const DescribedLine& line) { return line.name == "simulated"; };
    const auto describes = [](const DescribedRun& run) { return run.command == "describe"; };
    return std::ranges::none_of(about.lines, says) && std::ranges::none_of(about.runs, describes);
}

plots::VariationInput input_of(const ReproducedFigure& figure) {
    plots::VariationInput input;
    input.title = figure.about.title;
    input.axis = figure.about.axis;
    input.column = figure.about.axis_column;
    input.steps = figure.about.steps;
    input.places = figure.about.places;
    input.simulated = needs_saying(figure.about);
    for (const DescribedQuantity& one : figure.about.quantities) {
        input.quantities.push_back({one.name, one.axis, one.column, one.log_too, one.log});
    }
    const auto drawn_values = shown_values(figure);
    for (const ReproducedValue& value : drawn_values) {
        const std::size_t column = place_in(input.columns, value.panel);
        const bool same = !input.lines.empty() && input.lines.back().policy == value.line &&
                          input.lines.back().column == column;
        if (!same) input.lines.push_back({value.line, column, {}});
        auto& points = input.lines.back().points;
        if (value.quantity == 0) points.push_back({value.at, {}, 0});
        plots::VariationValue& drawn = points.back().values.emplace_back();
        drawn.mean = value.simulated;
        drawn.published = value.published;
        drawn.given = is_given(value.role) || is_given(role_of_course(figure.about, value));
        if (value.published) drawn.published_as = place_in(input.published_as, value.published_as);
    }
    // Sources may name them from the largest down.
    for (plots::VariationLine& line : input.lines) {
        std::ranges::stable_sort(line.points, {}, &plots::VariationPoint::at);
    }
    add_courses(input, figure.about);
    return input;
}

}  // namespace

FigureRow figure_row(const nlohmann::json& object) {
    FigureRow row;
    add_flat(row, "", object);
    return row;
}

double ReproducedFigure::worst_percent() const {
    double worst = 0;
    for (const ReproducedValue& value : values) {
        if (value.is_held()) worst = std::max(worst, std::abs(value.error_percent()));
    }
    return worst;
}

ReproducedFigure reproduce_figure(const FigureDescription& about, const RowsOfRun& rows_of) {
    ReproducedFigure figure;
    figure.about = about;
    std::map<std::string, std::vector<FigureRow>> rows;
    for (const DescribedRun& run : about.runs) rows[run.name] = rows_of(run);
    for (const DescribedLine& line : about.lines) add_line(figure, line, rows.at(line.run));
    return figure;
}

plots::FigureResult draw_reproduced(const ReproducedFigure& figure,
                                    const std::filesystem::path& folder,
                                    const plots::FigureOptions& options) {
    const plots::VariationInput input = input_of(figure);
    return plots::draw_varied_lines(figure.about.name, {&input, 1}, folder, options);
}

}  // namespace ukemi::analysis
