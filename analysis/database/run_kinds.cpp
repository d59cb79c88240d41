#include "analysis/database/run_kinds.hpp"

#include <algorithm>
#include <array>

#include "analysis/scheduled_runs.hpp"
#include "analysis/search_results.hpp"

namespace ukemi::analysis {

namespace {

// Names that many runs have in common, in tables of their own.
constexpr std::array<std::string_view, 4> shared_names{"scenario", "trace", "policy", "variant"};

std::vector<NamedColumn> columns_of_market_runs() {
    std::vector<NamedColumn> columns;
    for (const records::RunColumn& column : records::run_columns()) {
        if (std::ranges::find(shared_names, column.name) != shared_names.end()) continue;
        columns.push_back({column.name, column.kind});
    }
    return columns;
}

template <class Run>
std::vector<NamedColumn> columns_of_seeded(std::span<const SummaryColumn<Run>> own) {
    std::vector<NamedColumn> columns = seeded_head();
    for (NamedColumn& column : names_of(own)) columns.push_back(std::move(column));
    return columns;
}

}  // namespace

const RunKind& market_runs() {
    static const RunKind kind{
        "replay", 1, "policy", "event_hash", columns_of_market_runs(), {"cost_usd", "duration_s"},
        true};
    return kind;
}

const RunKind& schedule_runs() {
    static const RunKind kind{"schedule",
                              2,
                              "scheduler",
                              "outcome_hash",
                              columns_of_seeded(schedule_columns()),
                              {"completion_s_mean", "makespan_s"}};
    return kind;
}

const RunKind& search_runs() {
    static const RunKind kind{
        "search",           3, "searcher", "outcome_hash", columns_of_seeded(search_columns()),
        {"metric", "gpu_h"}};
    return kind;
}

std::span<const RunKind* const> run_kinds() {
    static const std::array<const RunKind*, 3> kinds{&market_runs(), &schedule_runs(),
                                                     &search_runs()};
    return kinds;
}

}  // namespace ukemi::analysis
