// swept.hpp — what tests of databases of runs share: a sweep to be stopped, and the rows of one.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/database/sqlite.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

// 100 h, of which each window of 20 h has more spot than the one before.
inline const std::string rising_spot =
    "# duration_s=360000\nt_s,instances\n0,1\n3600,0\n72000,1\n79200,0\n144000,1\n154800,0\n"
    "216000,1\n230400,0\n288000,1\n306000,0\n";

// The demo's six policies under seeds from one on: a second has some thousands of such runs, so
// that a sweep of that many seeds does not end before it is stopped.
inline constexpr std::int64_t many_seeds = 20'000;

inline std::vector<std::string> endless_sweep(std::int64_t last_seed,
                                              std::vector<std::string> more) {
    more.insert(more.begin(), {"sweep", shipped("market/demo.json").string(), "--seeds",
                               fmt::format("1..{}", last_seed), "-j", "2"});
    return more;
}

// All columns of all runs but the times that they took and the numbers of their scenarios' rows.
inline std::vector<std::string> stored_rows(const std::filesystem::path& file) {
    analysis::SqliteDatabase database(file, analysis::SqliteDatabase::Access::read);
    std::string columns;
    {
        analysis::SqliteStatement names(
            database,
            "SELECT name FROM pragma_table_info('runs') "
            "WHERE name NOT IN ('wall_s', 'scenario_id') ORDER BY name");
        while (names.step()) columns += fmt::format(", \"{}\"", names.text(0));
    }
    analysis::SqliteStatement row(
        database,
        fmt::format("SELECT json_array({}) FROM runs ORDER BY run_key", columns.substr(2)));
    std::vector<std::string> rows;
    while (row.step()) rows.emplace_back(row.text(0));
    std::ranges::sort(rows);
    return rows;
}

inline std::int64_t stored_count(const std::filesystem::path& file) {
    analysis::SqliteDatabase database(file, analysis::SqliteDatabase::Access::read);
    return database.integer("SELECT count(*) FROM results");
}

}  // namespace ukemi
