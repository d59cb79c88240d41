// database_options.hpp — which runs of a database are meant, and how they are grouped.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::cli {

struct DatabaseOptions {
    std::vector<std::string> by;
    std::vector<std::string> metrics;  // empty: what runs of the database's kind are asked for
    std::string baseline;
    std::string build;
    std::vector<std::string> where;
};

// --by, --metric, --baseline, --build and --where.
void add_database_options(CLI::App& command, DatabaseOptions& options);

// The name of one that was given, or nothing: for commands that may read no database.
std::string_view given_database_option(const CLI::App& command);

}  // namespace ukemi::cli
