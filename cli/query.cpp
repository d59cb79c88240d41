// query.cpp — `ukemi query`: what the runs in a database say, by any of their keys.
#include <fmt/format.h>

#include <memory>

#include "analysis/database/stored_runs.hpp"
#include "cli/command.hpp"
#include "cli/database_options.hpp"
#include "cli/run_options.hpp"

namespace ukemi::cli {

namespace {

struct QueryOptions : DatabaseOptions {
    std::filesystem::path database;
    OutputOptions output;
};

void query(const QueryOptions& options) {
    const OutputOptions& output = options.output;
    if (output.force && output.csv.empty()) {
        throw InputError("--force", "", "expected --csv beside it");
    }
    analysis::StoredRuns runs(options.database);
    const std::vector<std::string> builds = runs.builds();
    const std::string build = runs.build_called(options.build);
    CsvFile csv(output);
    std::vector<analysis::RunFilter> filters;
    for (const std::string& text : options.where) filters.push_back(runs.filter(text));
    const analysis::GroupedRuns groups =
        runs.grouped(runs.grouping(options.by, options.metrics, options.baseline), build, filters);
    const std::vector<std::string> doubts = runs.doubts(groups, !filters.empty());
    if (output.json) {
        fmt::print("{}", analysis::grouped_json(groups, doubts));
    } else {
        fmt::print("{}", analysis::grouped_table(groups));
        if (builds.size() > 1) {
            fmt::print("runs of {}; --build says which of {}\n", build, builds.size());
        }
    }
    if (csv.is_wanted()) csv.write(analysis::grouped_csv(groups));
    for (const std::string& doubt : doubts) fmt::print(stderr, "warning: {}\n", doubt);
}

}  // namespace

void add_query(CLI::App& app) {
    auto options = std::make_shared<QueryOptions>();
    CLI::App* command =
        app.add_subcommand("query", "means, intervals and pairs of the runs in a database");
    command->add_option("DATABASE", options->database, "what `ukemi sweep` has written")
        ->required();
    add_database_options(*command, *options);
    add_table_options(*command, options->output,
                      {"print JSON instead of the table", "write the table to this file, too", ""});
    command->callback([options] { query(*options); });
}

}  // namespace ukemi::cli
