// schema.hpp — the tables of a database of runs, as README.md describes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/database/sqlite.hpp"
#include "records/run_columns.hpp"

namespace ukemi::analysis {

// The columns of a run that its own row has: all but the names that runs have in common.
std::vector<const records::RunColumn*> stored_columns();

void bind_value(SqliteStatement& statement, const records::RunValue& value);

// In quotation marks, as SQL writes names.
std::string sql_name(std::string_view name);
// Names in a row, each after `before`: `"seed", "oracle"`.
std::string sql_names(const std::vector<std::string>& names, std::string_view before = "");

// What tells one of ours from other files. InputError for what is no database of ours, or has other
// columns than this build writes; nothing is changed. False for one without any table.
bool is_run_database(SqliteDatabase& database);

// Makes the tables in a database that has none.
void make_tables(SqliteDatabase& database);

// The columns of a table or view, in their order.
std::vector<std::string> columns_in(SqliteDatabase& database, std::string_view table);

}  // namespace ukemi::analysis
