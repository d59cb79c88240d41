// run_kinds.hpp — what the runs of a database are of: a database has runs of one kind.
//
// All kinds have the same tables; they differ in the columns of a run, and in what its decider is
// called. `PRAGMA user_version` says which it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/seeded_runs.hpp"

namespace ukemi::analysis {

struct RunKind {
    std::string_view command;          // that makes such runs one by one: "schedule"
    std::int64_t schema = 0;           // PRAGMA user_version
    std::string_view compared;         // who decides: "policy", "scheduler"
    std::string_view hash;             // the column that is equal where runs went the same way
    std::vector<NamedColumn> columns;  // that a run has to itself: all but the names of others
    std::vector<std::string> metrics;  // that are asked for where nobody says
    bool has_traces = false;           // and their windows
};

const RunKind& market_runs();
const RunKind& schedule_runs();
const RunKind& search_runs();
std::span<const RunKind* const> run_kinds();

}  // namespace ukemi::analysis
