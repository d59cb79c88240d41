// varied_columns.cpp — from texts such as "2 min" to numbers in one unit, where there is one.
#include "records/varied_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/unit_text.hpp"

namespace ukemi::records {

namespace {

using nlohmann::ordered_json;

ordered_json json_or_text(const std::string& text) {
    auto value = ordered_json::parse(text, nullptr, false);
    return value.is_discarded() ? ordered_json(text) : value;
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// "120 samples/s": what rates are given in is not known here.
std::optional<VariedAmount> rate_in(std::string_view text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    if (unit.starts_with(' ')) unit.remove_prefix(1);
    const std::size_t slash = unit.find('/');
    if (error != std::errc{} || !std::isfinite(value) || slash == 0 ||
        slash == std::string_view::npos) {
        return std::nullopt;
    }
    VariedAmount amount{value, "_"};
    for (const char c : unit) {
        if (!is_plain(c) && c != '/') return std::nullopt;
        amount.unit += c == '/' ? std::string("_per_") : std::string(1, c);
    }
    return amount;
}

}  // namespace

std::optional<VariedAmount> varied_amount(const std::string& given) {
    const ordered_json json = json_or_text(given);
    if (json.is_number()) return VariedAmount{json.get<double>(), ""};
    if (!json.is_string()) return std::nullopt;
    const auto text = json.get<std::string>();
    struct Kind {
        const char* unit;
        double (*read)(std::string_view text);
    };
    static constexpr std::string_view nowhere;
    static constexpr Kind kinds[] = {
        {"_s", [](std::string_view one) { return to_seconds(parse_duration(one, nowhere)); }},
        {"_usd_per_h",
         [](std::string_view one) { return to_dollars_per_hour(parse_price(one, nowhere)); }},
        {"_bytes",
         [](std::string_view one) { return static_cast<double>(parse_bytes(one, nowhere).raw()); }},
        {"_bytes_per_s", [](std::string_view one) { return parse_bandwidth(one, nowhere).raw(); }},
        {"_usd_per_gb", [](std::string_view one) {
             return static_cast<double>(parse_egress_price(one, nowhere).raw()) / 1e9;
         }}};
    for (const Kind& kind : kinds) {
        try {
            return VariedAmount{kind.read(text), kind.unit};
        } catch (const InputError&) {  // of another kind
        }
    }
    return rate_in(text);
}

std::string varied_column_name(std::string_view pointer, std::string_view unit) {
    const bool at_the_top = pointer.rfind('/') == 0;
    std::string name = at_the_top ? "scenario_" : "";
    if (!pointer.empty()) pointer.remove_prefix(1);
    for (const char c : pointer) name += is_plain(c) ? c : '_';
    name += unit;
    return name;
}

std::string variant_label(std::span<const VariedValue> varied) {
    std::string label;
    for (const VariedValue& value : varied) {
        label += fmt::format("{}{}={}", label.empty() ? "" : ", ", value.pointer, value.value);
    }
    return one_line(label);
}

std::string variant_key(std::span<const VariedValue> varied) {
    std::vector<VariedValue> sorted(varied.begin(), varied.end());
    std::ranges::stable_sort(sorted, {}, &VariedValue::pointer);
    return variant_label(sorted);
}

void VariedColumns::add(std::span<const VariedValue> varied) {
    for (const VariedValue& one : varied) {
        auto column = std::ranges::find(columns_, one.pointer, &VariedColumn::pointer);
        if (column == columns_.end()) {
            columns_.push_back({one.pointer, varied_column_name(one.pointer, ""), {}});
            values_.emplace_back();
            column = columns_.end() - 1;
        }
        values_[static_cast<std::size_t>(column - columns_.begin())].insert(one.value);
    }
}

void VariedColumns::settle() {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        VariedColumn& column = columns_[i];
        std::set<std::string> units;
        for (const std::string& value : values_[i]) {
            const std::optional<VariedAmount> amount = varied_amount(value);
            units.insert(amount ? amount->unit : "no number");
            if (amount) column.numbers.emplace(value, amount->value);
        }
        if (units.size() == 1 && !column.numbers.empty()) {
            column.name += *units.begin();
        } else {
            column.numbers.clear();
        }
        while (!taken.insert(column.name).second) column.name += '_';
    }
}

void VariedColumns::add_names(std::vector<std::string>& names) const {
    for (const VariedColumn& column : columns_) names.push_back(column.name);
}

void VariedColumns::add_fields(CsvWriter& csv, std::span<const VariedValue> varied) const {
    for (const VariedColumn& column : columns_) {
        const auto own = std::ranges::find(varied, column.pointer, &VariedValue::pointer);
        if (own == varied.end()) {
            csv.add(std::string_view{});
        } else if (column.numbers.empty()) {
            csv.add(std::string_view(own->value));
        } else {
            csv.add(column.numbers.at(own->value));
        }
    }
}

void VariedColumns::add_fields(ordered_json& row, std::span<const VariedValue> varied) const {
    for (const VariedColumn& column : columns_) {
        ordered_json& field = row[column.name];
        const auto own = std::ranges::find(varied, column.pointer, &VariedValue::pointer);
        if (own == varied.end()) continue;  // null
        if (column.numbers.empty()) {
            field = json_or_text(own->value);
        } else {
            field = column.numbers.at(own->value);
        }
    }
}

}  // namespace ukemi::records
