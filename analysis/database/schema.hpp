// schema.hpp — the tables of a database of runs, as README.md describes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/database/run_kinds.hpp"
#include "analysis/database/sqlite.hpp"

namespace ukemi::analysis {

void bind_value(SqliteStatement& statement, const records::RunValue& value);

// In quotation marks, as SQL writes names.
std::string sql_name(std::string_view name);
// Names in a row, each after `before`: `"seed", "oracle"`.
std::string sql_names(const std::vector<std::string>& names, std::string_view before = "");

// What the runs of a database are of; nothing for one without any table. InputError for what is no
// database of ours, or has other columns than this build writes; nothing is changed.
const RunKind* kind_in(SqliteDatabase& database);

// Makes the tables in a database that has none.
void make_tables(SqliteDatabase& database, const RunKind& kind);

// The columns of a table or view, in their order.
std::vector<std::string> columns_in(SqliteDatabase& database, std::string_view table);

}  // namespace ukemi::analysis
