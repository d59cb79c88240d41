#include "analysis/database/schema.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/build_info.hpp"
#include "base/input_error.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::int64_t application = 0x756b656d;  // "ukem"

constexpr std::string_view tables_of_names = R"(
CREATE TABLE builds (build_id INTEGER PRIMARY KEY, build TEXT NOT NULL UNIQUE);
CREATE TABLE scenarios (scenario_id INTEGER PRIMARY KEY, scenario_digest TEXT NOT NULL UNIQUE,
    scenario TEXT NOT NULL, variant TEXT NOT NULL, varied TEXT NOT NULL, resolved TEXT NOT NULL);
CREATE TABLE varied (scenario_id INTEGER PRIMARY KEY REFERENCES scenarios);
CREATE TABLE traces (trace_id INTEGER PRIMARY KEY, trace TEXT NOT NULL,
    trace_digest TEXT NOT NULL, UNIQUE (trace, trace_digest));
CREATE TABLE policies (policy_id INTEGER PRIMARY KEY, policy TEXT NOT NULL UNIQUE);
CREATE TABLE doubts (scenario_id INTEGER NOT NULL REFERENCES scenarios,
    trace_id INTEGER NOT NULL REFERENCES traces, doubt TEXT NOT NULL,
    UNIQUE (scenario_id, trace_id, doubt));
)";

std::string_view type_of(records::RunColumnKind kind) {
    switch (kind) {
        case records::RunColumnKind::text: return "TEXT";
        case records::RunColumnKind::real: return "REAL";
        default: return "INTEGER";
    }
}

std::string table_of_results(const RunKind& kind) {
    std::string sql =
        "CREATE TABLE results (run_key INTEGER NOT NULL UNIQUE,"
        " build_id INTEGER NOT NULL REFERENCES builds,"
        " scenario_id INTEGER NOT NULL REFERENCES scenarios,"
        " trace_id INTEGER NOT NULL REFERENCES traces,"
        " policy_id INTEGER NOT NULL REFERENCES policies";
    for (const NamedColumn& column : kind.columns) {
        sql += fmt::format(", {} {}", sql_name(column.name), type_of(column.kind));
    }
    return sql + ", wall_s REAL NOT NULL)";
}

// Who decided is called as in files of such runs; only runs on markets have traces.
std::string view_of_runs(const RunKind& kind) {
    std::vector<std::string> own;
    for (const NamedColumn& column : kind.columns) own.push_back(column.name);
    return fmt::format(
        "CREATE VIEW runs AS SELECT printf('%016x', run_key) AS run_key, build, scenario, variant,"
        "{} policy{}, {}, wall_s, varied.* FROM results JOIN builds USING (build_id)"
        " JOIN scenarios USING (scenario_id) JOIN traces USING (trace_id)"
        " JOIN policies USING (policy_id) LEFT JOIN varied USING (scenario_id)",
        kind.has_traces ? " trace," : "",
        kind.compared == "policy" ? "" : fmt::format(" AS {}", kind.compared),
        sql_names(own, "results."));
}

[[noreturn]] void refuse_database(const SqliteDatabase& database, const std::string& why) {
    throw InputError(database.file().string(), "", why);
}

// The first column that one list has and the other has not.
std::string lacking(const std::vector<std::string>& from, const std::vector<std::string>& in) {
    const auto lacks = std::ranges::find_if(
        from, [&](const std::string& one) { return std::ranges::find(in, one) == in.end(); });
    return lacks == from.end() ? std::string() : *lacks;
}

void check_columns(SqliteDatabase& database, const RunKind& kind) {
    const std::vector<std::string> found = columns_in(database, "results");
    std::vector<std::string> expected{"run_key", "build_id", "scenario_id", "trace_id",
                                      "policy_id"};
    for (const NamedColumn& column : kind.columns) expected.push_back(column.name);
    expected.emplace_back("wall_s");
    const std::string missing = lacking(expected, found);
    const std::string unknown = lacking(found, expected);
    if (missing.empty() && unknown.empty()) return;
    refuse_database(database,
                    fmt::format("was written by another version of ukemi, whose runs have {} \"{}\""
                                " (this is {})",
                                missing.empty() ? "a column" : "no column",
                                missing.empty() ? unknown : missing, build_description()));
}

}  // namespace

void bind_value(SqliteStatement& statement, const records::RunValue& value) {
    std::visit(
        [&](const auto& held) {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, std::monostate>) {
                statement.bind_nothing();
            } else if constexpr (std::is_same_v<Held, bool>) {
                statement.bind(std::int64_t{held});
            } else if constexpr (std::is_same_v<Held, std::string>) {
                statement.bind(std::string_view(held));
            } else {
                statement.bind(held);
            }
        },
        value);
}

std::string sql_name(std::string_view name) {
    std::string quoted_name = "\"";
    for (const char c : name) quoted_name += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted_name + '"';
}

std::string sql_names(const std::vector<std::string>& names, std::string_view before) {
    std::string list;
    for (const std::string& name : names) {
        list += fmt::format("{}{}{}", list.empty() ? "" : ", ", before, sql_name(name));
    }
    return list;
}

const RunKind* kind_in(SqliteDatabase& database) {
    const std::int64_t found = database.integer("PRAGMA application_id");
    if (found != application) {
        if (found == 0 && database.integer("SELECT count(*) FROM sqlite_schema") == 0) {
            return nullptr;
        }
        refuse_database(database, "is a database of another program");
    }
    const std::int64_t version = database.integer("PRAGMA user_version");
    const auto kind = std::ranges::find(run_kinds(), version, &RunKind::schema);
    if (kind == run_kinds().end()) {
        refuse_database(database, fmt::format("has schema {}, and {} writes schemas 1 to {}",
                                              version, build_description(), run_kinds().size()));
    }
    check_columns(database, **kind);
    return *kind;
}

void make_tables(SqliteDatabase& database, const RunKind& kind) {
    database.execute("BEGIN IMMEDIATE");
    database.execute(std::string(tables_of_names) + table_of_results(kind));
    database.execute(view_of_runs(kind));
    database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                                 application, kind.schema));
}

std::vector<std::string> columns_in(SqliteDatabase& database, std::string_view table) {
    SqliteStatement statement(database, "SELECT name FROM pragma_table_info(?)");
    statement.bind(table);
    std::vector<std::string> columns;
    while (statement.step()) columns.emplace_back(statement.text(0));
    return columns;
}

}  // namespace ukemi::analysis
