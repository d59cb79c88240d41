// stored_runs.hpp — a database of runs, read: while others may write it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/database/run_kinds.hpp"
#include "analysis/database/sqlite.hpp"
#include "analysis/grouped_runs.hpp"
#include "records/run_columns.hpp"

namespace ukemi::analysis {

// Runs whose column has one of these values.
struct RunFilter {
    std::string column;
    std::vector<records::RunValue> values;
};

class StoredRuns {
public:
    // InputError for what is no database of runs of this schema.
    explicit StoredRuns(const std::filesystem::path& file);

    const RunKind& kind() const { return *kind_; }

    // What its runs were made by, the last that was added last.
    std::vector<std::string> builds();
    // The one that `part` names, a part of its name; empty: the last. InputError where none is.
    std::string build_called(const std::string& part);

    // The columns that are meant: of `by`, who decided ("policy"), columns of the view `runs`, or
    // varied keys by their pointers ("/job/deadline"). Empty: each policy in each variant of each
    // scenario, and the metrics of the kind. InputError for what is none, or no number where it
    // must be one.
    RunGrouping grouping(const std::vector<std::string>& by,
                         const std::vector<std::string>& metrics, const std::string& baseline);

    // "COLUMN=VALUE,VALUE", the column as in `grouping`; amounts may have units: "72 h".
    RunFilter filter(const std::string& text);

    // Of the runs of one build that pass all filters. InputError where there are none.
    GroupedRuns grouped(const RunGrouping& grouping, const std::string& build,
                        std::span<const RunFilter> filters);

    // What makes its markets doubtful, and means and pairs over them, a line each. `filtered`:
    // whether these groups are of some of the runs only.
    std::vector<std::string> doubts(const GroupedRuns& groups, bool filtered);

private:
    struct Column {
        std::string name;
        std::string type;
    };
    std::string column_meant(const std::string& name, bool number, const char* option);
    std::string varied_column_of(const std::string& pointer);
    std::vector<std::string> policies();
    bool has_scenarios_of_one_name();

    std::string decider_called(const std::string& name, std::string_view option);

    std::filesystem::path file_;
    SqliteDatabase database_;
    const RunKind* kind_;
    std::vector<Column> columns_;  // of the view
};

}  // namespace ukemi::analysis
