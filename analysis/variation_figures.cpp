#include "analysis/variation_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analysis/policy_means.hpp"
#include "analysis/table.hpp"
#include "plots/gnuplot.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace {

// What columns count in `unit` is shown on axes in these, the larger ones later.
struct ShownUnit {
    std::string_view unit;
    std::string_view shown;
    std::string_view suffix;  // of the figure's own column
    double of_unit = 1;       // one of these in the unit of columns
};
constexpr ShownUnit shown_units[] = {
    {"_s", "ms", "_ms", 1e-3},
    {"_s", "s", "_s", 1},
    {"_s", "min", "_min", 60},
    {"_s", "h", "_h", 3600},
    {"_s", "d", "_d", 86400},
    {"_usd_per_h", "USD/h", "_usd_per_h", 1},
    {"_usd_per_gb", "USD/GB", "_usd_per_gb", 1},
    {"_bytes", "MB", "_mb", 1e6},
    {"_bytes", "GB", "_gb", 1e9},
    {"_bytes", "TB", "_tb", 1e12},
    {"_bytes_per_s", "Mbit/s", "_mbit_per_s", 1e6 / 8},
    {"_bytes_per_s", "Gbit/s", "_gbit_per_s", 1e9 / 8},
};

bool is_short(double number) {
    const double hundredths = 100 * number;
    return std::abs(hundredths - std::round(hundredths)) <= 1e-9 * std::abs(hundredths);
}

// The largest unit in which the least value that is not zero is at least a half; of days, two. Of
// these, one in which all have two decimals at most comes first: 52 h rather than 2.167 d.
std::optional<ShownUnit> shown_unit(std::string_view unit, std::span<const double> values) {
    double least = 0;
    for (const double value : values) {
        const double size = std::abs(value);
        if (size != 0 && (least == 0 || size < least)) least = size;
    }
    std::optional<ShownUnit> largest;
    std::optional<ShownUnit> round;
    for (const ShownUnit& one : shown_units) {
        if (one.unit != unit) continue;
        if (largest && least < (one.shown == "d" ? 2.0 : 0.5) * one.of_unit) continue;
        largest = one;
        const auto fits = [&](double value) { return is_short(value / one.of_unit); };
        if (std::ranges::all_of(values, fits)) round = one;
    }
    return round ? round : largest;
}

// A text in quotes, as JSON has it, is the text.
std::string_view unquoted(std::string_view text) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
    return text.substr(1, text.size() - 2);
}

}  // namespace

std::optional<VariedAxis> varied_axis(std::string_view pointer,
                                      std::span<const std::string> values) {
    VariedAxis axis;
    std::string unit;
    for (const std::string& value : values) {
        const std::optional<records::VariedAmount> amount = records::varied_amount(value);
        if (!amount || (!axis.at.empty() && amount->unit != unit)) return std::nullopt;
        unit = amount->unit;
        axis.at.push_back(amount->value);
    }
    axis.name = varied_words(pointer);
    if (const std::optional<ShownUnit> shown = shown_unit(unit, axis.at)) {
        constexpr double digits_most = 1e4;  // of numbers that still say something: 3.6e+06 ms
        for (double& number : axis.at) number /= shown->of_unit;
        if (unit == "_s" && std::ranges::max(axis.at) > digits_most) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                axis.tics[axis.at[i]] = unquoted(values[i]);
            }
        } else {
            axis.name += fmt::format(" ({})", shown->shown);
        }
        unit = shown->suffix;
    } else if (!unit.empty()) {
        axis.name += fmt::format(" ({})", unit.substr(1));
    }
    axis.column = records::varied_column_name(pointer, unit);
    return axis;
}

std::string varied_words(std::string_view pointer) {
    constexpr std::array<std::string_view, 5> sections = {"job", "jobs", "policies", "market",
                                                          "plan"};
    std::vector<std::string> words;
    bool first = true;
    while (!pointer.empty()) {
        pointer.remove_prefix(pointer.front() == '/' ? 1 : 0);
        const std::string_view part = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(part.size());
        const bool section = first && std::ranges::find(sections, part) != sections.end();
        const bool number = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
        first = false;
        if (section || number || part.empty()) continue;
        words.emplace_back(part);
        std::ranges::replace(words.back(), '_', ' ');
    }
    return words.empty() ? "value" : fmt::format("{}", fmt::join(words, " "));
}

std::string varied_words(std::span<const records::VariedValue> varied) {
    std::string text;
    for (const records::VariedValue& one : varied) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", varied_words(one.pointer),
                            unquoted(one.value));
    }
    return text;
}

std::optional<VariationKeys> variation_keys(
    std::span<const std::vector<records::VariedValue>> variants) {
    if (variants.empty()) return std::nullopt;
    const std::size_t count = variants.front().size();
    const bool same =
        std::ranges::all_of(variants, [&](const auto& varied) { return varied.size() == count; });
    if (!same) return std::nullopt;
    std::optional<VariationKeys> keys;
    std::vector<std::size_t> several;  // keys with two values at least
    for (std::size_t key = 0; key < count; ++key) {
        std::vector<std::string> values;
        for (const auto& varied : variants) {
            if (std::ranges::find(values, varied[key].value) == values.end())
                values.push_back(varied[key].value);
        }
        if (values.size() < 2) continue;
        several.push_back(key);
        const std::string& pointer = variants.front()[key].pointer;
        auto places = pointer == "/seed" ? std::nullopt : varied_axis(pointer, values);
        if (!places || (keys && keys->values.size() >= values.size())) continue;
        keys = {key, std::nullopt, std::move(*places), std::move(values)};
    }
    if (!keys) return std::nullopt;
    std::erase(several, keys->axis);
    if (!several.empty()) keys->columns = several.front();
    return keys;
}

VariationFigures::VariationFigures(VariationKeys keys,
                                   std::vector<plots::VariationQuantity> quantities)
    : keys_(std::move(keys)), quantities_(std::move(quantities)) {}

void VariationFigures::add(std::span<const records::VariedValue> varied, const std::string& line,
                           std::vector<plots::VariationValue> values, double missed_share) {
    std::vector<records::VariedValue> others;
    for (std::size_t key = 0; key < varied.size(); ++key) {
        if (key != keys_.axis && key != keys_.columns) others.push_back(varied[key]);
    }
    const std::string own = varied_words(others);
    auto figure = std::ranges::find(figures_, own, &decltype(figures_)::value_type::first);
    if (figure == figures_.end()) figure = figures_.insert(figures_.end(), {own, {}});
    plots::VariationInput& input = figure->second;
    const std::string column =
        keys_.columns ? varied_words(varied.subspan(*keys_.columns, 1)) : std::string();
    auto place = std::ranges::find(input.columns, column);
    if (place == input.columns.end()) place = input.columns.insert(place, column);
    const auto number = static_cast<std::size_t>(place - input.columns.begin());
    auto own_line = std::ranges::find_if(input.lines, [&](const plots::VariationLine& one) {
        return one.policy == line && one.column == number;
    });
    if (own_line == input.lines.end()) {
        own_line = input.lines.insert(own_line, {line, number, {}});
    }
    const auto value = std::ranges::find(keys_.values, varied[keys_.axis].value);
    const double at = keys_.places.at[static_cast<std::size_t>(value - keys_.values.begin())];
    own_line->points.push_back({at, std::move(values), missed_share});
    std::ranges::sort(own_line->points, {}, &plots::VariationPoint::at);
}

std::vector<plots::VariationInput> VariationFigures::figures(
    std::string_view what, const std::string& intervals_over) const {
    std::vector<plots::VariationInput> all;
    for (const auto& [others, input] : figures_) {
        plots::VariationInput& figure = all.emplace_back(input);
        const std::string& name = keys_.places.name;
        figure.title = fmt::format("{} against {}{}{}", what, name.substr(0, name.find(" (")),
                                   others.empty() ? "" : "; ", others);
        figure.axis = name;
        figure.column = keys_.places.column;
        figure.tics = keys_.places.tics;
        figure.quantities = quantities_;
        figure.intervals_over = intervals_over;
    }
    return all;
}

namespace {

plots::VariationValue value_of(const Summary& summary) {
    plots::VariationValue value{summary.mean};
    if (summary.clusters > 1) value.interval_95 = {summary.mean_low_95, summary.mean_high_95};
    return value;
}

double missed_share(const OutcomeMeans& one) {
    const std::size_t late = one.with_deadline - one.deadline_met;
    return static_cast<double>(std::max(late, one.runs - one.finished)) /
           static_cast<double>(one.runs);
}

}  // namespace

std::vector<plots::VariationInput> variations_of(std::span<const records::RunResult> runs) {
    std::vector<std::vector<records::VariedValue>> variants;
    std::map<std::string, const records::RunResult*> first;  // by variant
    for (const records::RunResult& run : runs) {
        const bool fresh = first.try_emplace(records::variant_label(run.varied), &run).second;
        if (fresh) variants.push_back(run.varied);
    }
    std::optional<VariationKeys> keys = variation_keys(variants);
    if (!keys) return {};
    const std::vector<PolicyMeans> means = policy_means(runs);
    std::string over = means.front().clusters_words;
    bool several = false;  // scenarios
    for (const PolicyMeans& one : means) {
        if (one.clusters_words != over) over.clear();
        several = several || one.scenario != means.front().scenario;
    }
    VariationFigures figures(
        std::move(*keys), {{.panel = "cost", .axis = "cost (USD)", .column = "cost_usd"},
                           {.panel = "time", .axis = "time", .column = "duration", .hours = true}});
    for (const PolicyMeans& one : means) {
        const std::string policy = short_label(one.policy);
        figures.add(first.at(one.variant)->varied,
                    several ? fmt::format("{}, {}", policy, one.scenario) : policy,
                    {value_of(one.cost_usd), value_of(one.hours)}, missed_share(one.outcome));
    }
    return figures.figures("cost and time", over);
}

}  // namespace ukemi::analysis
