// run_columns.hpp — the one list of what a run reports, but for its varied keys: the columns of
// summary.csv, the keys of runs.json, the columns of a database of runs.
//
// Names are data: units at the end, never changed, only retired. What a run does not have (a
// deadline that it met, samples where its work is a time) is nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>

#include "records/run_result.hpp"

namespace ukemi::records {

using RunValue = std::variant<std::monostate, std::string, double, std::int64_t, bool>;

// An identifier is a number that names something: which trial won. It has no mean and no
// difference.
enum class RunColumnKind : std::uint8_t { text, real, integer, flag, identifier };

struct RunColumn {
    std::string name;
    RunColumnKind kind;  // of every value that is not nothing; reals may be NaN
    std::function<RunValue(const RunResult& run)> of;
};

// In the order of the CSV's columns.
std::span<const RunColumn> run_columns();

// The columns before which those of varied keys stand.
inline constexpr std::size_t columns_that_name = 4;

}  // namespace ukemi::records
