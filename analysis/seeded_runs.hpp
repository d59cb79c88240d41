// seeded_runs.hpp — runs of `ukemi schedule` and `ukemi search`: they differ in variant, in who
// decided (a scheduler or a searcher) and in seed. What each reports, and means and pairs over the
// seeds, by the statistics of runs on markets (analysis/grouped_runs.hpp).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/grouped_runs.hpp"
#include "analysis/run_progress.hpp"
#include "base/csv_writer.hpp"
#include "records/run_columns.hpp"

namespace ukemi::analysis {

struct NamedColumn {
    std::string name;
    records::RunColumnKind kind;
};

// One number or word that such a run reports; its name is data.
template <class Run>
struct SummaryColumn {
    const char* name;
    records::RunColumnKind kind;
    records::RunValue (*of)(const Run& run);
};

template <class Run>
std::vector<NamedColumn> names_of(std::span<const SummaryColumn<Run>> columns) {
    std::vector<NamedColumn> names;
    for (const SummaryColumn<Run>& column : columns) names.push_back({column.name, column.kind});
    return names;
}

template <class Value>
records::RunValue value_or_nothing(const std::optional<Value>& value) {
    return value ? records::RunValue(*value) : records::RunValue();
}

// What means, pairs and databases look at of such a run.
struct SeededRun {
    std::vector<records::VariedValue> varied;
    std::string decided_by;
    std::uint64_t seed = 0;
    std::string outcome_hash;  // of all that became of it; equal under two seeds: the same again
    bool finished = true;
    std::optional<bool> deadline_met;
    std::vector<records::RunValue> values;  // of its columns
};

// `Run` has members of the names above, but for the values.
template <class Run>
SeededRun seeded_run(const Run& run, std::span<const SummaryColumn<Run>> columns) {
    SeededRun seeded{run.varied,     run.decided_by(),   run.seed, run.outcome_hash,
                     run.finished(), run.deadline_met(), {}};
    for (const SummaryColumn<Run>& column : columns) seeded.values.push_back(column.of(run));
    return seeded;
}

template <class Run>
std::vector<SeededRun> seeded_runs(std::span<const Run> runs,
                                   std::span<const SummaryColumn<Run>> columns) {
    std::vector<SeededRun> seeded;
    for (const Run& run : runs) seeded.push_back(seeded_run(run, columns));
    return seeded;
}

// The columns of databases before those of a run, and their values in it.
std::vector<NamedColumn> seeded_head();
std::vector<records::RunValue> head_values(const SeededRun& run);

// Means of every column that holds numbers, of each that decided in each variant; pairs with the
// baseline, unless that is empty. `compared` is what they are: "scheduler". InputError for a
// baseline that is none of them.
GroupedRuns grouped_over_seeds(std::string compared, std::span<const SeededRun> runs,
                               std::span<const NamedColumn> columns, const std::string& baseline);

// Of one of the columns.
const Summary& mean_of(const GroupedRuns& groups, const GroupMeans& group, std::string_view column);

// A mean of counts, as tables show it: whole where it is, else with a decimal.
std::string mean_count(double mean);

// What tables of several seeds say below: over what means are, and runs that are there twice.
std::string notes_on_seeds(const GroupedRuns& groups);

// An object a run: who decided (by the name `compared`), the seed, varied values by their pointers,
// and the columns.
nlohmann::ordered_json seeded_rows(const std::string& compared, std::span<const SeededRun> runs,
                                   std::span<const NamedColumn> columns);

// In these tables answers are "yes" and "no".
void add_summary_value(CsvWriter& csv, const records::RunValue& value);

}  // namespace ukemi::analysis
