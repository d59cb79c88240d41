#include "analysis/database/run_database.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/build_info.hpp"
#include "analysis/database/schema.hpp"
#include "base/input_error.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;

namespace {

// A reader sees all of a commit or nothing, and waits for no writer. Without an fsync at each
// commit: killing the process loses nothing that was committed, a power failure the last second.
constexpr const char* settings =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 8192";  // 32 MiB each

// A folder, a pipe: what SQLite has no good word for.
const fs::path& checked_database_file(const fs::path& file) {
    if (fs::exists(file) && !fs::is_regular_file(file)) {
        throw InputError(file.string(), "", "expected a database of runs, found no regular file");
    }
    return file;
}

std::string digest_name(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

// The row with these texts, added if it is not there.
std::int64_t row_with(SqliteDatabase& database, const std::string& table, const std::string& id,
                      const std::vector<std::string>& columns,
                      const std::vector<std::string>& texts) {
    std::string found = fmt::format("SELECT {} FROM {} WHERE ", id, table);
    std::string marks;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        found += fmt::format("{}{} = ?", i == 0 ? "" : " AND ", columns[i]);
        marks += i == 0 ? "?" : ", ?";
    }
    SqliteStatement finds(database, found);
    for (const std::string& text : texts) finds.bind(std::string_view(text));
    if (finds.step()) return finds.integer(0);
    SqliteStatement adds(database, fmt::format("INSERT INTO {} ({}) VALUES ({})", table,
                                               fmt::join(columns, ", "), marks));
    for (const std::string& text : texts) adds.bind(std::string_view(text));
    adds.run();
    return database.last_row();
}

}  // namespace

RunDatabase::RunDatabase(const fs::path& file, const RunKind& kind)
    : kind_(kind),
      lock_(checked_database_file(file), file),
      database_(file, SqliteDatabase::Access::write) {
    const RunKind* const found = kind_in(database_);
    if (found != nullptr && found != &kind) {
        throw InputError(file.string(), "",
                         fmt::format("holds runs of ukemi {}, and these are of ukemi {}: a "
                                     "database has one kind",
                                     found->command, kind.command));
    }
    database_.execute(settings);
    if (found == nullptr) make_tables(database_, kind);
    varied_ = columns_in(database_, "varied");
    std::string marks = "?, ?, ?, ?, ?";
    for (std::size_t i = 0; i < kind.columns.size(); ++i) marks += ", ?";
    adds_run_.emplace(database_, fmt::format("INSERT INTO results VALUES ({}, ?)", marks));
}

std::vector<std::int64_t> RunDatabase::keys() {
    std::vector<std::int64_t> all;
    all.reserve(static_cast<std::size_t>(database_.integer("SELECT count(*) FROM results")));
    SqliteStatement statement(database_, "SELECT run_key FROM results ORDER BY run_key");
    while (statement.step()) all.push_back(statement.integer(0));
    return all;
}

std::int64_t RunDatabase::scenario_row(const SweptScenario& scenario) {
    const std::string name = digest_name(scenario.digest);
    SqliteStatement finds(database_, "SELECT scenario_id FROM scenarios WHERE scenario_digest = ?");
    finds.bind(std::string_view(name));
    if (finds.step()) return finds.integer(0);
    nlohmann::ordered_json varied = nlohmann::ordered_json::object();
    for (const records::VariedValue& one : scenario.varied) varied[one.pointer] = one.value;
    SqliteStatement adds(database_,
                         "INSERT INTO scenarios (scenario_digest, scenario, variant, varied, "
                         "resolved) VALUES (?, ?, ?, ?, ?)");
    adds.bind(std::string_view(name)).bind(std::string_view(scenario.name));
    adds.bind(std::string_view(records::variant_label(scenario.varied)));
    adds.bind(std::string_view(varied.dump())).bind(std::string_view(scenario.resolved)).run();
    const std::int64_t row = database_.last_row();
    add_varied(row, scenario.varied);
    return row;
}

void RunDatabase::expect_varied_column(const std::string& name, std::string_view type) {
    if (std::ranges::find(varied_, name) != varied_.end()) return;
    database_.execute(fmt::format("ALTER TABLE varied ADD COLUMN {} {}", sql_name(name), type));
    varied_.push_back(name);
}

// Numbers and amounts with the unit in the column's name; all else as it was given.
void RunDatabase::add_varied(std::int64_t scenario, std::span<const records::VariedValue> varied) {
    std::vector<std::string> names;
    for (const records::VariedValue& one : varied) {
        const auto amount = records::varied_amount(one.value);
        std::string name = records::varied_column_name(one.pointer, amount ? amount->unit : "");
        while (std::ranges::find(names, name) != names.end()) name += '_';
        expect_varied_column(name, amount ? "REAL" : "TEXT");
        names.push_back(name);
    }
    std::string marks;
    for (std::size_t i = 0; i < names.size(); ++i) marks += ", ?";
    const std::string listed = names.empty() ? "" : ", " + sql_names(names);
    SqliteStatement adds(
        database_, fmt::format("INSERT INTO varied (scenario_id{}) VALUES (?{})", listed, marks));
    adds.bind(scenario);
    for (const records::VariedValue& one : varied) {
        if (const auto amount = records::varied_amount(one.value)) {
            adds.bind(amount->value);
        } else {
            adds.bind(std::string_view(one.value));
        }
    }
    adds.run();
}

std::int64_t RunDatabase::trace_row(const std::string& trace, std::uint64_t digest) {
    const auto [place, is_new] = traces_.try_emplace({trace, digest});
    if (is_new) {
        place->second = row_with(database_, "traces", "trace_id", {"trace", "trace_digest"},
                                 {trace, digest_name(digest)});
    }
    return place->second;
}

std::int64_t RunDatabase::policy_row(const std::string& policy) {
    const auto [place, is_new] = policies_.try_emplace(policy);
    if (is_new) place->second = row_with(database_, "policies", "policy_id", {"policy"}, {policy});
    return place->second;
}

std::int64_t RunDatabase::build_row() {
    if (!build_) {
        build_ = row_with(database_, "builds", "build_id", {"build"}, {build_description()});
    }
    return *build_;
}

void RunDatabase::add_doubts(std::int64_t scenario, std::int64_t trace,
                             std::span<const std::string> doubts) {
    for (const std::string& doubt : doubts) {
        if (!doubts_.emplace(scenario, trace, doubt).second) continue;
        SqliteStatement adds(database_, "INSERT OR IGNORE INTO doubts VALUES (?, ?, ?)");
        adds.bind(scenario).bind(trace).bind(std::string_view(doubt)).run();
    }
}

void RunDatabase::add(const SweptRun& run) {
    const std::int64_t trace = trace_row(run.trace, run.trace_digest);
    SqliteStatement& adds = *adds_run_;
    adds.bind(run.key).bind(build_row()).bind(run.scenario).bind(trace);
    adds.bind(policy_row(run.policy));
    for (const records::RunValue& value : run.values) bind_value(adds, value);
    adds.bind(run.wall_s).run();
    add_doubts(run.scenario, trace, run.doubts);
}

}  // namespace ukemi::analysis
