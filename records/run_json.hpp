// run_json.hpp — the results of runs as JSON and as CSV, one object or row a run.
//
// Column names are data: units at the end, never changed, only retired. Keys of the scenario that
// runs differ in have columns of their own after the seed (varied_columns.hpp); JSON also has their
// values as they were given, by their pointers, in `varied`. What a run does not have (a deadline
// that it met, samples where its work is a time) is null, and empty in CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "records/run_columns.hpp"

namespace ukemi::records {

// {"runs":[{"scenario":…,"trace":…,"policy":…,"seed":…,"cost_usd":…,…}]}, in the order given.
std::string runs_json(std::span<const RunResult> runs, std::span<const std::string> warnings = {});
std::string runs_csv(std::span<const RunResult> runs);

// As a number of JSON, or as a word where JSON has no number for it.
nlohmann::ordered_json run_value_json(const RunValue& value);

}  // namespace ukemi::records
