#include "plots/varied_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "plots/gnuplot.hpp"
#include "plots/varied_axes.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t marks_of_steps = 7;            // where there are more
constexpr std::size_t marks_max = 60;                // of a line that goes by steps
constexpr std::string_view hollow_inside = "white";  // of a filled point that is smaller
constexpr std::string_view ring = "ps 1.7 lw 1.4";   // around a point of its own line

// Of gnuplot's points, from 4 on, a hollow one stands before the filled one of its shape.
int filled(int point) { return point | 1; }
int hollow(int point) { return filled(point) - 1; }

// On a line.
std::string point_of(const VariationLine& line, const PolicyLook& look) {
    if (line.published) return fmt::format("pt {} {}", hollow(look.point), ring);
    return fmt::format("lw 1.8 pt {} ps 0.8", look.point);
}

// The mark of published values: around points of their line, or a cross or star for what they are
// else.
int published_point(std::size_t published_as, int point_of_line) {
    constexpr std::array<int, published_marks_max> points = {0, 1, 3};
    return published_as == 0 ? hollow(point_of_line) : points.at(published_as);
}

template <class Holds>
bool any_value(const VariationInput& input, Holds holds) {
    return std::ranges::any_of(input.lines, [&](const VariationLine& line) {
        return std::ranges::any_of(line.points, [&](const VariationPoint& point) {
            return std::ranges::any_of(point.values, holds);
        });
    });
}

bool any_interval(const VariationInput& input) {
    return any_value(input,
                     [](const VariationValue& value) { return value.interval_95.has_value(); });
}

bool any_missed(const VariationInput& input) {
    return std::ranges::any_of(input.lines, [](const VariationLine& line) {
        return std::ranges::any_of(line.points,
                                   [](const auto& point) { return point.missed_share > 0; });
    });
}

// Where rings stand around points, these are filled, and differ in shape where colours are the
// same.
void fill_points(std::vector<PolicyLook>& looks) {
    constexpr int first = 5;
    constexpr int last = 15;
    for (std::size_t i = 0; i < looks.size(); ++i) {
        looks[i].point = filled(looks[i].point);
        const auto before = std::span(looks).first(i);
        for (int tried = first; tried <= last; tried += 2) {
            const auto taken = [&](const PolicyLook& one) {
                return one.colour == looks[i].colour && one.point == looks[i].point;
            };
            if (std::ranges::none_of(before, taken)) break;
            looks[i].point = looks[i].point == last ? first : looks[i].point + 2;
        }
    }
}

// What is drawn of one quantity of a line, whose rows of the table begin at `begin`.
struct LineRows {
    const VariationInput& input;
    const VariationLine& line;
    const std::string& file;
    std::size_t begin = 0;
    std::size_t quantity = 0;
    std::size_t order = 0;  // of the line: marks of several do not begin at the same place

    std::size_t ideals() const { return any_ideal(input) ? 1 : 0; }
    std::size_t each() const { return 3 + ideals() + (any_published(input) ? 1 : 0); }
    std::size_t mean() const { return 3 + each() * quantity; }  // a column, as those below
    std::size_t ideal() const { return mean() + 3; }
    std::size_t published() const { return mean() + 3 + ideals(); }
    std::size_t missed() const { return 3 + each() * input.quantities.size(); }

    // Of some of its points.
    std::string rows(std::size_t first, std::size_t count) const {
        return fmt::format("'{}' skip 1 every ::{}::{}", file, begin + first,
                           begin + first + count - 1);
    }
    std::string rows() const { return rows(0, line.points.size()); }

    // Of its points for which it holds: neighbours together.
    template <class Holds>
    std::vector<std::string> rows_where(Holds holds) const {
        std::vector<std::string> all;
        std::size_t count = 0;
        for (std::size_t i = 0; i <= line.points.size(); ++i) {
            const bool is_one = i < line.points.size() && holds(line.points[i].values[quantity]);
            if (!is_one && count > 0) all.push_back(rows(i - count, count));
            count = is_one ? count + 1 : 0;
        }
        return all;
    }

    template <class Holds>
    bool any(Holds holds) const {
        return std::ranges::any_of(line.points, [&](const VariationPoint& point) {
            return holds(point.values[quantity]);
        });
    }

    // The intervals, each up to where the axis ends, with a mark where it would go on.
    std::vector<std::string> bars(const PolicyLook& look) const {
        if (!any([](const auto& value) { return value.interval_95.has_value(); })) return {};
        const AxisRange range = drawn_range(input, quantity);
        const auto cut = [&](std::string_view reaches, double end, int mark) {
            return fmt::format(
                "{} using 2:({} ? {} : NaN) with points pt {} ps 0.9 lc rgb '{}' notitle", rows(),
                reaches, end, mark, look.colour);
        };
        const std::string low = fmt::format("${} < {}", mean() + 1, range.low);
        const std::string high = fmt::format("${} > {}", mean() + 2, range.high);
        return {fmt::format("{} using 2:{}:({} ? {} : ${}):({} ? {} : ${}) with yerrorbars lt 1 lw "
                            "1.2 pt 0 lc rgb '{}' notitle",
                            rows(), mean(), low, range.low, mean() + 1, high, range.high,
                            mean() + 2, look.colour),
                cut(low, range.low, 11), cut(high, range.high, 9)};
    }

    std::vector<std::string> marks(const PolicyLook& look) const {
        std::vector<std::string> all;
        if (any([](const auto& value) { return value.ideal.has_value(); })) {
            all.push_back(
                fmt::format("{} using 2:{} with lines lt 1 dt (1,3) lw 1.4 lc rgb '{}' notitle",
                            rows(), ideal(), colour::black));
        }
        if (input.steps) {
            all.push_back(
                fmt::format("{} using 2:{} with steps lt 1 dt {} lw 1.8 lc rgb '{}' notitle",
                            rows(), mean(), look.dash, look.colour));
        }
        const bool joined = !input.steps && input.places.empty();
        if (joined || line.points.size() <= marks_max) {
            all.push_back(fmt::format("{} using 2:{} with {} lt 1 dt {} {} lc rgb '{}' notitle",
                                      rows(), mean(), joined ? "linespoints" : "points",
                                      joined ? look.dash : "1", point_of(line, look), look.colour));
        }
        const std::size_t some_marks = line.points.size() / marks_of_steps;
        if (!joined && line.points.size() > marks_max) {
            all.push_back(fmt::format(
                "'{}' skip 1 every {}::{}::{} using 2:{} with points {} lc rgb "
                "'{}' notitle",
                file, some_marks, begin + some_marks * order / (order + 1),
                begin + line.points.size() - 1, mean(), point_of(line, look), look.colour));
        }
        return all;
    }

    // Above all lines, so that none of another makes a given point look like a predicted one.
    std::vector<std::string> marks_above(const PolicyLook& look) const {
        std::vector<std::string> all;
        for (const std::string& some :
             rows_where([](const VariationValue& value) { return value.given; })) {
            all.push_back(fmt::format("{} using 2:{} with points {} lc rgb '{}' notitle", some,
                                      mean(), point_of(line, look), look.colour));
            all.push_back(fmt::format("{} using 2:{} with points pt {} ps 0.4 lc rgb '{}' notitle",
                                      some, mean(), look.point, hollow_inside));
        }
        for (std::size_t i = 0; i < input.published_as.size(); ++i) {
            const auto is_one = [&](const VariationValue& value) {
                return value.published && value.published_as == i;
            };
            for (const std::string& some : rows_where(is_one)) {
                all.push_back(fmt::format("{} using 2:{} with points pt {} {} lc rgb '{}' notitle",
                                          some, published(), published_point(i, look.point), ring,
                                          look.colour));
            }
        }
        if (std::ranges::any_of(line.points,
                                [](const auto& point) { return point.missed_share > 0; })) {
            all.push_back(
                fmt::format("{} using (${} > 0 ? $2 : NaN):{} with points pt 2 ps 1.3 lw 1.6 lc "
                            "rgb '{}' notitle",
                            rows(), missed(), mean(), colour::black));
        }
        return all;
    }
};

}  // namespace

bool any_ideal(const VariationInput& input) {
    return any_value(input, [](const VariationValue& value) { return value.ideal.has_value(); });
}

bool any_published(const VariationInput& input) {
    return any_value(input,
                     [](const VariationValue& value) { return value.published.has_value(); });
}

LineLooks looks_of_lines(const VariationInput& input) {
    LineLooks all;
    for (const VariationLine& line : input.lines) {
        if (all.of(line.policy) == all.policies.size()) all.policies.push_back(line.policy);
    }
    all.looks = looks_of(all.policies);
    const bool beside_published = input.simulated || any_published(input) ||
                                  std::ranges::any_of(input.lines, &VariationLine::published);
    if (beside_published) fill_points(all.looks);
    return all;
}

std::vector<LegendEntry> entries_of(const VariationInput& input, const LineLooks& all,
                                    std::size_t label_max) {
    std::vector<LegendEntry> entries;
    const std::vector<std::string> labels = distinct_labels(all.policies, label_max);
    for (std::size_t i = 0; i < all.policies.size(); ++i) {
        const PolicyLook& look = all.looks[i];
        const auto line = std::ranges::find(input.lines, all.policies[i], &VariationLine::policy);
        entries.push_back({labels[i], fmt::format("names[{}]", i + 1),
                           fmt::format("{} lt 1 dt {} {} lc rgb '{}'",
                                       input.places.empty() ? "linespoints" : "points",
                                       input.places.empty() ? look.dash : "1",
                                       point_of(*line, look), look.colour)});
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
    if (input.simulated) {
        entries.push_back(
            own_entry("simulated", fmt::format("points pt 7 ps 0.8 lc rgb '{}'", colour::black)));
    }
    if (any_value(input, [](const VariationValue& value) { return value.given; })) {
        entries.push_back(
            own_entry("typed in or fitted",
                      fmt::format("points pt 6 ps 0.7 lw 1.2 lc rgb '{}'", colour::black)));
    }
    for (std::size_t i = 0; i < input.published_as.size(); ++i) {
        const auto is_one = [&](const VariationValue& value) {
            return value.published && value.published_as == i;
        };
        if (!any_value(input, is_one)) continue;
        entries.push_back({label_text(input.published_as[i], label_max),
                           fmt::format("published[{}]", i + 1),
                           fmt::format("points pt {} {} lc rgb '{}'", published_point(i, 7), ring,
                                       colour::black)});
    }
    if (any_missed(input)) {
        entries.push_back(
            own_entry("some late or unfinished",
                      fmt::format("points pt 2 ps 1.3 lw 1.6 lc rgb '{}'", colour::black)));
    }
    return entries;
}

std::string plot_of(const VariationInput& input, const std::string& file, const LineLooks& all,
                    std::size_t column, std::size_t quantity) {
    std::vector<std::string> bars;
    std::vector<std::string> lines;
    std::vector<std::string> above;
    std::size_t row = 0;
    std::size_t order = 0;
    for (const VariationLine& line : input.lines) {
        const LineRows rows{input, line, file, row, quantity, order++};
        row += line.points.size();
        if (line.column != column || line.points.empty()) continue;
        const PolicyLook& look = all.looks[all.of(line.policy)];
        for (std::string& bar : rows.bars(look)) bars.push_back(std::move(bar));
        for (std::string& mark : rows.marks(look)) lines.push_back(std::move(mark));
        for (std::string& mark : rows.marks_above(look)) above.push_back(std::move(mark));
    }
    bars.insert(bars.end(), lines.begin(), lines.end());
    bars.insert(bars.end(), above.begin(), above.end());
    if (bars.empty()) bars.emplace_back("NaN notitle");
    return fmt::format("    plot {}", fmt::join(bars, ", \\\n        "));
}

}  // namespace ukemi::plots
