#include "analysis/report/json_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/regret.hpp"

namespace ukemi::analysis {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view difference_ending = "_difference_mean";

ordered_json value_at(const ordered_json& row, const std::string& pointer) {
    const ordered_json::json_pointer place(pointer);
    return row.contains(place) ? row.at(place) : ordered_json();
}

ReportCell cell_of(const ordered_json& row, const JsonColumn& column, double per_hour) {
    const ordered_json value = value_at(row, column.pointer);
    if (value.is_boolean()) return {value.get<bool>() ? "yes" : "no", value.get<bool>() ? 1 : 0};
    if (value.is_string()) return {value.get<std::string>(), std::nullopt};
    if (!value.is_number()) return {std::string(nothing_to_show), std::nullopt};
    double number = value.get<double>();
    if (!column.less.empty()) number -= number_at(row, column.less).value_or(0);
    number *= column.scale * per_hour;
    return {shown_number(number, column.decimals), number};
}

// Of a time, the unit for the longest in it; an interval has that of what it is around.
std::optional<TimeUnit> unit_of_column(const ordered_json& rows, const JsonColumn& column) {
    if (!column.is_time) return std::nullopt;
    double longest = 0;
    for (const ordered_json& row : rows) {
        const auto value = number_at(row, column.less.empty() ? column.pointer : column.less);
        longest = std::max(longest, std::abs(value.value_or(0)));
    }
    return table_time_unit(longest * column.scale);
}

JsonColumn difference_column(const std::string& quantity, std::string_view ending,
                             const std::string& title, double scale) {
    return {title, fmt::format("/{}_{}", quantity, ending), scale, 3, ""};
}

// As tables for the terminal call them, with what is taken for a time in a unit of its size.
std::pair<std::string, double> unit_of_quantity(const ordered_json& rows,
                                                const std::string& quantity) {
    if (quantity == "cost_usd") return {"USD", 1};
    if (quantity != "hours") return {"", 1};
    const TimeUnit time = time_unit_of(rows, fmt::format("/{}{}", quantity, difference_ending));
    return {std::string(time.symbol), time.per_hour};
}

ReportTable table_of_pairs(const ordered_json& rows, const std::string& quantity,
                           std::span<const JsonColumn> names) {
    const auto [unit, scale] = unit_of_quantity(rows, quantity);
    const std::string named = unit.empty() ? quantity : unit;
    std::vector<JsonColumn> columns(names.begin(), names.end());
    columns.push_back(difference_column(quantity, "difference_mean", named + " more", scale));
    JsonColumn half = difference_column(quantity, "difference_high_95", "± " + named, scale);
    half.less = columns.back().pointer;
    columns.push_back(half);
    columns.push_back(difference_column(quantity, "ratio", "ratio", 1));
    columns.push_back(difference_column(quantity, "ratio_low_95", "ratio from", 1));
    columns.push_back(difference_column(quantity, "ratio_high_95", "to", 1));
    columns.push_back(difference_column(quantity, "p", "p", 1));
    columns.push_back(difference_column(quantity, "p_holm", "p, Holm", 1));
    columns.push_back({"pairs", "/pairs", 1, 0, ""});
    columns.push_back({"left out", "/unfinished", 1, 0, ""});
    columns.push_back({"left out", "/unfinished_pairs", 1, 0, ""});
    const std::string baseline = text_at(rows.front(), "/baseline");
    return table_of_rows(fmt::format("{} against {}", quantity, baseline), rows, columns);
}

}  // namespace

std::string shown_number(double value, int decimals) {
    const double size = std::abs(value);
    if (size != 0 && size < 0.1) return fmt::format("{:.2g}", value);
    return fmt::format("{:.{}f}", value, size >= 10'000 ? 0 : decimals);
}

std::optional<double> number_at(const ordered_json& row, const std::string& pointer) {
    const ordered_json value = value_at(row, pointer);
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string text_at(const ordered_json& row, const std::string& pointer) {
    const ordered_json value = value_at(row, pointer);
    if (value.is_null()) return {};
    return value.is_string() ? value.get<std::string>() : value.dump();
}

TimeUnit time_unit_of(const ordered_json& rows, const std::string& pointer) {
    double longest_h = 0;
    for (const ordered_json& row : rows) {
        longest_h = std::max(longest_h, std::abs(number_at(row, pointer).value_or(0)));
    }
    return table_time_unit(longest_h);
}

ReportTable table_of_rows(std::string title, const ordered_json& rows,
                          std::span<const JsonColumn> columns) {
    ReportTable table;
    table.title = std::move(title);
    table.rows.resize(rows.size());
    for (const JsonColumn& column : columns) {
        const auto is_empty = [&](const ordered_json& row) {
            const ordered_json value = value_at(row, column.pointer);
            return value.is_null() || value == "";
        };
        if (std::ranges::all_of(rows, is_empty)) continue;
        const std::optional<TimeUnit> unit = unit_of_column(rows, column);
        bool is_number = true;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            table.rows[i].push_back(cell_of(rows[i], column, unit ? unit->per_hour : 1));
            is_number = is_number && !value_at(rows[i], column.pointer).is_string();
        }
        table.columns.push_back(
            {unit ? fmt::format("{}, {}", column.title, unit->symbol) : column.title, is_number});
    }
    return table;
}

std::vector<ReportTable> tables_of_pairs(const ordered_json& rows,
                                         std::span<const JsonColumn> names,
                                         std::string_view in_common) {
    ordered_json pairs = ordered_json::array();  // a baseline is in none
    for (const ordered_json& row : rows) {
        if (text_at(row, "/baseline").empty()) continue;
        ordered_json& pair = pairs.emplace_back(row);
        if (number_at(row, "/clusters").value_or(0) > 1) continue;
        for (const auto& [key, value] : row.items()) {  // over one unit there is no interval
            if (key.ends_with("_95")) pair[key] = nullptr;
        }
    }
    std::vector<ReportTable> tables;
    if (pairs.empty()) return tables;
    for (const auto& [key, value] : pairs.front().items()) {
        if (!key.ends_with(difference_ending)) continue;
        tables.push_back(
            table_of_pairs(pairs, key.substr(0, key.size() - difference_ending.size()), names));
    }
    if (tables.empty()) return tables;
    tables.back().notes.push_back(
        fmt::format("pairs have {} in common; intervals and p are over the same units as those of "
                    "the means; ±: half the 95 % interval; p: Wilcoxon's signed ranks; p, Holm: "
                    "corrected for all rows",
                    in_common));
    return tables;
}

}  // namespace ukemi::analysis
