#include "analysis/database/stored_contents.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "analysis/database/schema.hpp"
#include "analysis/database/sqlite.hpp"

namespace ukemi::analysis {

namespace {

SqliteStatement of_build(SqliteDatabase& database, const std::string& build, std::string_view what,
                         std::string_view rest) {
    SqliteStatement rows(
        database, fmt::format("SELECT {} WHERE build_id = (SELECT build_id FROM builds WHERE "
                              "build = ?) {}",
                              what, rest));
    rows.bind(std::string_view(build));
    return rows;
}

std::vector<std::string> names_of_build(SqliteDatabase& database, const std::string& build,
                                        std::string_view table, std::string_view name) {
    SqliteStatement rows = of_build(
        database, build,
        fmt::format("{0} FROM {1} WHERE {0}_id IN (SELECT {0}_id FROM results", name, table), ")");
    std::vector<std::string> names;
    while (rows.step()) names.emplace_back(rows.text(0));
    return names;
}

nlohmann::ordered_json varied_in(const SqliteStatement& row, int field) {
    auto varied = nlohmann::ordered_json::parse(row.text(field), nullptr, false);
    return varied.is_object() ? varied : nlohmann::ordered_json::object();
}

nlohmann::json field_json(const SqliteStatement& row, int field, records::RunColumnKind kind) {
    if (row.is_nothing(field)) return nullptr;
    switch (kind) {
        case records::RunColumnKind::text: return row.text(field);
        case records::RunColumnKind::real: return row.real(field);
        case records::RunColumnKind::integer:
        case records::RunColumnKind::identifier: return row.integer(field);
        case records::RunColumnKind::flag: return row.integer(field) != 0;
    }
    return nullptr;
}

}  // namespace

StoredContents stored_contents(const std::filesystem::path& file, const std::string& build) {
    SqliteDatabase database(file, SqliteDatabase::Access::read);
    StoredContents contents;
    SqliteStatement sums = of_build(database, build,
                                    "count(*), count(DISTINCT seed), min(seed), max(seed) "
                                    "FROM results",
                                    "");
    if (sums.step()) {
        contents.runs = sums.integer(0);
        contents.seeds = sums.integer(1);
        contents.first_seed = sums.integer(2);
        contents.last_seed = sums.integer(3);
    }
    contents.deciders = names_of_build(database, build, "policies", "policy");
    contents.traces = names_of_build(database, build, "traces", "trace");
    SqliteStatement rows =
        of_build(database, build,
                 "scenario, variant, resolved, varied FROM scenarios WHERE scenario_id "
                 "IN (SELECT scenario_id FROM results",
                 ") ORDER BY scenario_id");
    while (rows.step()) {
        StoredScenario& one = contents.scenarios.emplace_back();
        one.name = rows.text(0);
        one.variant = rows.text(1);
        one.resolved = rows.text(2);
        const nlohmann::ordered_json varied = varied_in(rows, 3);
        for (const auto& [pointer, value] : varied.items()) {
            one.pointers.push_back(pointer);
        }
    }
    return contents;
}

nlohmann::json stored_runs_json(const std::filesystem::path& file, const std::string& build) {
    SqliteDatabase database(file, SqliteDatabase::Access::read);
    std::map<std::int64_t, nlohmann::json> varied;  // by scenario_id
    SqliteStatement scenarios(database, "SELECT scenario_id, varied FROM scenarios");
    while (scenarios.step()) varied[scenarios.integer(0)] = varied_in(scenarios, 1);
    std::vector<std::string> names;
    for (const records::RunColumn& column : records::run_columns()) names.push_back(column.name);
    SqliteStatement row(database,
                        fmt::format("SELECT scenario_id, {} FROM runs WHERE build = ? ORDER BY "
                                    "scenario_id, trace, start_s, policy, seed",
                                    sql_names(names)));
    row.bind(std::string_view(build));
    nlohmann::json runs = nlohmann::json::array();
    while (row.step()) {
        nlohmann::json& run = runs.emplace_back();
        int field = 0;
        run["varied"] = varied[row.integer(field++)];
        for (const records::RunColumn& column : records::run_columns()) {
            run[column.name] = field_json(row, field++, column.kind);
        }
    }
    return runs;
}

}  // namespace ukemi::analysis
