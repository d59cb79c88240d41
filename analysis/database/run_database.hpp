// run_database.hpp — a file of many runs: what opens it, and what adds to it.
//
// A database is known by its application id, so that no other program's is written to; one whose
// runs have other columns than this build's is refused. README.md describes the tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/database/run_maker.hpp"
#include "analysis/database/sqlite.hpp"
#include "analysis/output_folder.hpp"

namespace ukemi::analysis {

class RunDatabase {
public:
    // For writing; made where there is none. Until it is gone, no other process writes there.
    // InputError for one of runs of another kind.
    RunDatabase(const std::filesystem::path& file, const RunKind& kind);

    std::vector<std::int64_t> keys();  // of all runs, sorted

    // The row of what was read for a run, added if it is not there.
    std::int64_t scenario_row(const SweptScenario& scenario);
    void add(const SweptRun& run);  // a key that is there already is an error

    // What is added is kept once it is committed, even if the process is killed then.
    void begin() { database_.execute("BEGIN IMMEDIATE"); }
    void commit() { database_.execute("COMMIT"); }

    // Adds all runs of another that are not there yet; how many. InputError where a run of the same
    // key came out otherwise there, and then nothing was added.
    std::int64_t add_all_of(const std::filesystem::path& other);

private:
    void add_varied(std::int64_t scenario, std::span<const records::VariedValue> varied);
    void expect_varied_column(const std::string& name, std::string_view type);
    std::int64_t trace_row(const std::string& trace, std::uint64_t digest);
    std::int64_t policy_row(const std::string& policy);
    std::int64_t build_row();
    void add_doubts(std::int64_t scenario, std::int64_t trace, std::span<const std::string> doubts);

    const RunKind& kind_;
    OutputLock lock_;
    SqliteDatabase database_;
    std::vector<std::string> varied_;  // the columns of varied keys
    std::optional<SqliteStatement> adds_run_;
    std::optional<std::int64_t> build_;
    // Rows that are known to be there.
    std::map<std::pair<std::string, std::uint64_t>, std::int64_t> traces_;
    std::map<std::string, std::int64_t> policies_;
    std::set<std::tuple<std::int64_t, std::int64_t, std::string>> doubts_;
};

}  // namespace ukemi::analysis
