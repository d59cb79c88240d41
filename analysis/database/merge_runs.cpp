// merge_runs.cpp — the runs of one database into another: what they have in common meets by name.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/database/run_database.hpp"
#include "analysis/database/schema.hpp"
#include "base/input_error.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;

namespace {

// A database beside the one that is open, as long as it lives.
class Attached {
public:
    Attached(SqliteDatabase& database, const fs::path& file) : database_(database) {
        SqliteStatement attaches(database, "ATTACH ? AS other");
        attaches.bind(std::string_view(fs::absolute(file).native())).run();
    }
    ~Attached() {
        try {
            if (database_.is_in_transaction()) database_.execute("ROLLBACK");
            database_.execute("DETACH other");
        } catch (const std::exception&) {  // it goes with the connection
        }
    }
    Attached(const Attached&) = delete;
    Attached& operator=(const Attached&) = delete;

private:
    SqliteDatabase& database_;
};

// Runs of one key that came out in two ways would be one of them by chance.
void expect_same_outcomes(SqliteDatabase& database, const RunKind& kind, const fs::path& other) {
    SqliteStatement differ(
        database, fmt::format("SELECT printf('%016x', run_key) FROM other.results AS theirs "
                              "JOIN main.results AS ours USING (run_key) "
                              "WHERE theirs.{0} <> ours.{0} ORDER BY run_key LIMIT 1",
                              kind.hash));
    if (!differ.step()) return;
    throw InputError(other.string(), "",
                     fmt::format("the run {} came out otherwise than in {}: were both made from "
                                 "sources that were committed?",
                                 differ.text(0), database.file().string()));
}

constexpr std::string_view new_names = R"(
INSERT OR IGNORE INTO main.builds (build) SELECT build FROM other.builds ORDER BY build_id;
INSERT OR IGNORE INTO main.policies (policy) SELECT policy FROM other.policies ORDER BY policy_id;
INSERT OR IGNORE INTO main.traces (trace, trace_digest)
    SELECT trace, trace_digest FROM other.traces ORDER BY trace_id;
INSERT OR IGNORE INTO main.scenarios (scenario_digest, scenario, variant, varied, resolved)
    SELECT scenario_digest, scenario, variant, varied, resolved FROM other.scenarios
    ORDER BY scenario_id;
CREATE TEMP TABLE scenario_rows AS SELECT theirs.scenario_id AS their_id, ours.scenario_id AS id
    FROM other.scenarios AS theirs JOIN main.scenarios AS ours USING (scenario_digest);
CREATE TEMP TABLE trace_rows AS SELECT theirs.trace_id AS their_id, ours.trace_id AS id
    FROM other.traces AS theirs JOIN main.traces AS ours USING (trace, trace_digest);
CREATE TEMP TABLE policy_rows AS SELECT theirs.policy_id AS their_id, ours.policy_id AS id
    FROM other.policies AS theirs JOIN main.policies AS ours USING (policy);
CREATE TEMP TABLE build_rows AS SELECT theirs.build_id AS their_id, ours.build_id AS id
    FROM other.builds AS theirs JOIN main.builds AS ours USING (build);
)";

constexpr std::string_view new_doubts = R"(
INSERT OR IGNORE INTO main.doubts SELECT scenario_rows.id, trace_rows.id, doubt
    FROM other.doubts AS theirs
    JOIN scenario_rows ON scenario_rows.their_id = theirs.scenario_id
    JOIN trace_rows ON trace_rows.their_id = theirs.trace_id;
)";

constexpr std::string_view no_rows =
    "DROP TABLE scenario_rows; DROP TABLE trace_rows; DROP TABLE policy_rows; "
    "DROP TABLE build_rows";

std::string new_results(const RunKind& kind) {
    std::vector<std::string> own;
    for (const NamedColumn& column : kind.columns) own.push_back(column.name);
    own.emplace_back("wall_s");
    return fmt::format(
        "INSERT INTO main.results (run_key, build_id, scenario_id, trace_id, policy_id, {}) "
        "SELECT run_key, build_rows.id, scenario_rows.id, trace_rows.id, policy_rows.id, {} "
        "FROM other.results AS theirs "
        "JOIN build_rows ON build_rows.their_id = theirs.build_id "
        "JOIN scenario_rows ON scenario_rows.their_id = theirs.scenario_id "
        "JOIN trace_rows ON trace_rows.their_id = theirs.trace_id "
        "JOIN policy_rows ON policy_rows.their_id = theirs.policy_id "
        "WHERE run_key NOT IN (SELECT run_key FROM main.results)",
        sql_names(own), sql_names(own, "theirs."));
}

}  // namespace

std::int64_t RunDatabase::add_all_of(const fs::path& other) {
    const Attached attached(database_, other);
    begin();
    expect_same_outcomes(database_, kind_, other);
    database_.execute(std::string(new_names));
    std::vector<std::pair<std::string, std::string>> varied;  // name and type
    {
        SqliteStatement columns(database_,
                                "SELECT name, type FROM pragma_table_info('varied', 'other') "
                                "WHERE name <> 'scenario_id'");
        while (columns.step()) varied.emplace_back(columns.text(0), columns.text(1));
    }
    std::vector<std::string> names;
    for (const auto& [name, type] : varied) {
        expect_varied_column(name, type);
        names.push_back(name);
    }
    const std::string listed = names.empty() ? "" : ", " + sql_names(names);
    const std::string theirs = names.empty() ? "" : ", " + sql_names(names, "theirs.");
    database_.execute(
        fmt::format("INSERT OR IGNORE INTO main.varied (scenario_id{}) "
                    "SELECT scenario_rows.id{} FROM other.varied AS theirs "
                    "JOIN scenario_rows ON their_id = theirs.scenario_id",
                    listed, theirs));
    SqliteStatement(database_, new_results(kind_)).run();
    const std::int64_t added = database_.changed_rows();
    database_.execute(std::string(new_doubts) + std::string(no_rows));
    commit();
    return added;
}

}  // namespace ukemi::analysis
