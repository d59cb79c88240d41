#include "analysis/tuning/tuned_parameter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/exact_math.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/rng.hpp"
#include "base/text_scan.hpp"
#include "base/unit_text.hpp"
#include "policies/parameter_notes.hpp"

namespace ukemi::analysis {

namespace {

using scenarios::PolicyList;

constexpr std::string_view over_form =
    "PARAMETER=LOW..HIGH, PARAMETER=LOW..HIGH:log or PARAMETER=VALUE,VALUE…";

[[noreturn]] void refuse_over(const std::string& problem) {
    throw InputError("--over", "", problem);
}

struct FoundParameter {
    std::size_t policy = 0;
    KeyNote note;
};

bool is_called(const policies::PolicyEntry& entry, std::string_view name) {
    return name.empty() || name == entry.name || name == entry.alias;
}

// Those that are one number or word, which tuning can set.
std::vector<std::string> tunable_names(const policies::PolicyEntry& entry) {
    std::vector<std::string> names;
    for (const KeyNote& note : policies::parameters_of(entry)) {
        const std::string own = note.path.substr(1);
        if (own.find('/') == std::string::npos && !note.listed) names.push_back(own);
    }
    return names;
}

// Says of which policy the parameter might be that is meant; else what there is to set.
[[noreturn]] void refuse_parameter(std::string_view policy, std::string_view key,
                                   const PolicyList& list) {
    std::string has;
    bool is_there = false;
    for (const PolicyList::Item& item : list.items) {
        const policies::PolicyEntry& entry = *item.entry;
        if (!is_called(entry, policy)) continue;
        is_there = true;
        const std::vector<std::string> names = tunable_names(entry);
        const std::vector<std::string_view> known(names.begin(), names.end());
        if (const std::string hint = did_you_mean(key, known); !hint.empty()) {
            refuse_over(
                fmt::format("policy \"{0}\" has no parameter {1}{2} (see ukemi list "
                            "policies {0})",
                            entry.name, ukemi::quoted(key), hint));
        }
        has += fmt::format("{}\"{}\" has {}", has.empty() ? "" : ", ", entry.name,
                           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    if (!is_there) {
        refuse_over(
            fmt::format("there is no policy {} in \"{}\"", ukemi::quoted(policy), list.label()));
    }
    refuse_over(fmt::format("no policy of \"{}\" has a parameter {}: {}", list.label(),
                            ukemi::quoted(key), has));
}

// "interval", or "periodic.interval".
FoundParameter find_parameter(std::string_view name, const PolicyList& list) {
    const std::size_t dot = name.find('.');
    const bool is_dotted = dot != std::string_view::npos;
    const std::string_view policy = is_dotted ? name.substr(0, dot) : "";
    const std::string_view key = is_dotted ? name.substr(dot + 1) : name;
    std::vector<FoundParameter> found;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        const policies::PolicyEntry& entry = *list.items[i].entry;
        for (const KeyNote& note : policies::parameters_of(entry)) {
            const std::string own = note.path.substr(1);
            if (own.find('/') != std::string::npos || note.listed) continue;
            if (own == key && is_called(entry, policy)) found.push_back({i, note});
        }
    }
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
        refuse_over(fmt::format("several policies have a parameter \"{}\": expected {}.{}",
                                one_line(key), list.items[found.front().policy].entry->name,
                                one_line(key)));
    }
    refuse_parameter(policy, key, list);
}

double bound_of(const std::string& text, TunedParameter::Range range) {
    if (range == TunedParameter::Range::duration_s) {
        return to_seconds(parse_duration(text, "--over"));
    }
    constexpr int places = 9;
    const auto value = range == TunedParameter::Range::integer
                           ? parse_whole(text, DecimalGrammar::relaxed)
                           : parse_decimal(text, places, DecimalGrammar::relaxed);
    if (!value) {
        refuse_over(fmt::format("expected {}, found {}",
                                range == TunedParameter::Range::integer ? "an integer" : "a number",
                                ukemi::quoted(text)));
    }
    return static_cast<double>(*value) / (range == TunedParameter::Range::integer ? 1 : 1e9);
}

// What a person would write: three digits tell settings apart.
double rounded(double value) {
    if (value == 0) return 0;
    const double step =
        exact::pow(10.0, std::floor(exact::log(std::abs(value)) / exact::log(10)) - 2);
    return std::round(value / step) * step;
}

std::string short_text(double value) {
    std::string text = fmt::format("{:.6g}", value);
    std::erase(text, '+');  // of an exponent: it would begin another policy
    return text;
}

// "9.64h", "24.3min", "90s".
std::string duration_text(double value_s) {
    constexpr std::pair<double, std::string_view> units[] = {{3600, "h"}, {60, "min"}, {1, "s"}};
    for (const auto& [unit_s, name] : units) {
        if (value_s < 2 * unit_s && unit_s > 1) continue;
        return fmt::format("{}{}", short_text(rounded(value_s / unit_s)), name);
    }
    return {};
}

// The nearest short number that lies in the range, or else the bound that was given.
std::string text_of_value(double value, const TunedParameter& parameter) {
    if (parameter.range == TunedParameter::Range::integer) {
        return fmt::format("{:.0f}", std::round(value));
    }
    if (parameter.range == TunedParameter::Range::number) {
        return short_text(std::clamp(rounded(value), parameter.low, parameter.high));
    }
    const std::string text = duration_text(value);
    const double back = to_seconds(parse_duration(text, "--over"));
    if (back >= parameter.low && back <= parameter.high) return text;
    std::string bound = format_duration(seconds(std::clamp(back, parameter.low, parameter.high)));
    std::erase(bound, ' ');
    return bound;
}

std::string value_at(const TunedParameter& parameter, double share) {
    if (!parameter.values.empty()) {
        const double count = static_cast<double>(parameter.values.size());
        const auto place = static_cast<std::size_t>(share * count);
        return parameter.values[std::min(place, parameter.values.size() - 1)];
    }
    double value = parameter.low + share * (parameter.high - parameter.low);
    if (parameter.is_logarithmic) {
        value = parameter.low * exact::pow(parameter.high / parameter.low, share);
    }
    return text_of_value(value, parameter);
}

// The list as a command line names it, with these values of the parameters.
std::string policies_with(const PolicyList& list, std::span<const TunedParameter> parameters,
                          std::span<const std::string> values) {
    std::string text;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        const PolicyList::Item& item = list.items[i];
        std::string own;
        for (std::size_t k = 0; k < parameters.size(); ++k) {
            if (parameters[k].policy == i) {
                own += fmt::format(":{}={}", parameters[k].key, values[k]);
            }
        }
        const std::string_view name =
            item.entry->alias.empty() ? item.entry->name : item.entry->alias;
        const bool is_short = item.value.find('=') == std::string::npos;
        const std::string given =
            item.value.empty() ? ""
            : is_short         ? fmt::format(":{}={}", item.entry->short_parameter, item.value)
                               : ":" + item.value;
        text += fmt::format("{}{}{}{}", i == 0 ? "" : "+", name, given, own);
    }
    return text;
}

// Whether the list names the parameter itself, as in "periodic:20min".
bool is_set(const PolicyList::Item& item, const std::string& key) {
    if (item.value.empty()) return false;
    if (item.value.find('=') == std::string::npos) return item.entry->short_parameter == key;
    return fmt::format(":{}", item.value).find(fmt::format(":{}=", key)) != std::string::npos;
}

std::optional<TunedParameter::Range> range_of(const KeyNote& note) {
    switch (note.kind) {
        case KeyKind::duration: return TunedParameter::Range::duration_s;
        case KeyKind::integer: return TunedParameter::Range::integer;
        case KeyKind::number: return TunedParameter::Range::number;
        default: return std::nullopt;
    }
}

void read_range(const std::string& text, const KeyNote& note, TunedParameter& parameter) {
    const std::size_t dots = text.find("..");
    std::string high = text.substr(dots + 2);
    constexpr std::string_view log_ending = ":log";
    parameter.is_logarithmic = high.ends_with(log_ending);
    if (parameter.is_logarithmic) high.resize(high.size() - log_ending.size());
    const auto range = range_of(note);
    if (!range) {
        refuse_over(fmt::format("{} is no number or duration: expected {}=VALUE,VALUE…",
                                one_line(parameter.name), one_line(parameter.name)));
    }
    parameter.range = *range;
    parameter.low = bound_of(text.substr(0, dots), *range);
    parameter.high = bound_of(high, *range);
    if (parameter.low >= parameter.high) {
        refuse_over(fmt::format("expected a range from a lower to a higher value, found {}",
                                ukemi::quoted(text)));
    }
    if (parameter.is_logarithmic && parameter.low <= 0) {
        refuse_over(
            fmt::format("a logarithmic range begins above zero, found {}", ukemi::quoted(text)));
    }
}

void read_values(std::string_view text, TunedParameter& parameter) {
    while (true) {
        const std::string_view one = text.substr(0, text.find(','));
        if (one.empty() || std::ranges::find(parameter.values, one) != parameter.values.end()) {
            refuse_over(fmt::format("expected different values of {}, found {}",
                                    one_line(parameter.name), ukemi::quoted(text)));
        }
        parameter.values.emplace_back(one);
        if (one.size() == text.size()) return;
        text.remove_prefix(one.size() + 1);
    }
}

}  // namespace

TunedParameter parse_tuned_parameter(const std::string& text, const PolicyList& list,
                                     const scenarios::Scenario& scenario) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        refuse_over(fmt::format("expected {}, found {}", over_form, ukemi::quoted(text)));
    }
    TunedParameter parameter;
    parameter.name = text.substr(0, equals);
    const FoundParameter found = find_parameter(parameter.name, list);
    parameter.policy = found.policy;
    parameter.key = found.note.path.substr(1);
    if (is_set(list.items[found.policy], parameter.key)) {
        refuse_over(fmt::format("\"{}\" sets {} itself", list.label(), parameter.key));
    }
    const std::string values = text.substr(equals + 1);
    if (values.find("..") == std::string::npos) {
        read_values(values, parameter);
    } else {
        read_range(values, found.note, parameter);
    }
    // Whatever the policy refuses, it refuses now.
    std::vector<std::string> extremes = parameter.values;
    if (extremes.empty()) extremes = {value_at(parameter, 0), value_at(parameter, 1)};
    for (const std::string& value : extremes) {
        scenarios::parse_policies(policies_with(list, {&parameter, 1}, {&value, 1}), scenario,
                                  "--over");
    }
    return parameter;
}

std::vector<TunedSetting> settings_to_try(std::span<const TunedParameter> parameters,
                                          const PolicyList& list, std::size_t count,
                                          std::uint64_t seed) {
    RandomStream random(seed, "tune");
    std::vector<std::vector<std::size_t>> places(parameters.size());
    for (std::vector<std::size_t>& own : places) {
        for (std::size_t i = 0; i < count; ++i) own.push_back(i);
        if (parameters.size() < 2) continue;
        for (std::size_t i = count; i > 1; --i) {  // Fisher and Yates
            std::swap(
                own[i - 1],
                own[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
        }
    }
    std::vector<TunedSetting> settings;
    for (std::size_t i = 0; i < count; ++i) {
        TunedSetting setting;
        for (std::size_t k = 0; k < parameters.size(); ++k) {
            const double steps =
                static_cast<double>(count - (parameters[k].values.empty() ? 1 : 0));
            setting.values.push_back(
                value_at(parameters[k], static_cast<double>(places[k][i]) / std::max(steps, 1.0)));
        }
        const bool is_there = std::ranges::any_of(
            settings, [&](const TunedSetting& before) { return before.values == setting.values; });
        if (is_there) continue;
        setting.policies = policies_with(list, parameters, setting.values);
        settings.push_back(std::move(setting));
    }
    return settings;
}

}  // namespace ukemi::analysis
