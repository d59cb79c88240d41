// json_table.hpp — rows of a results file as tables of a report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report_part.hpp"
#include "base/time_unit.hpp"

namespace ukemi::analysis {

// A column whose values stand at a pointer into each row: a number, a word, yes or no.
struct JsonColumn {
    std::string title;
    std::string pointer;    // "/cost_usd/mean"
    double scale = 1;       // of numbers
    int decimals = 2;       // at most
    std::string less = "";  // what is taken off before: "/cost_usd/mean", of an interval's end
    bool is_time =
        false;  // `scale` makes hours of it: it is shown in a unit that suits the longest
                // in this column, or in the one that it is less of, and the title says so
};

// With so many decimals, or fewer where the number is large, or more where it is small.
std::string shown_number(double value, int decimals);

// Columns in which no row has anything are left out.
ReportTable table_of_rows(std::string title, const nlohmann::ordered_json& rows,
                          std::span<const JsonColumn> columns);

// What is at the pointer, where that is a number.
std::optional<double> number_at(const nlohmann::ordered_json& row, const std::string& pointer);
std::string text_at(const nlohmann::ordered_json& row, const std::string& pointer);

// The unit for times of which these are some, in hours.
TimeUnit time_unit_of(const nlohmann::ordered_json& rows, const std::string& pointer);

// Each quantity of which the rows have differences from a baseline: a table. `in_common`: of the
// two of a pair.
std::vector<ReportTable> tables_of_pairs(const nlohmann::ordered_json& rows,
                                         std::span<const JsonColumn> names,
                                         std::string_view in_common = "trace, window and seed");

}  // namespace ukemi::analysis
