// merge.cpp — `ukemi merge`: the runs of several databases in one.
#include <fmt/format.h>

#include <memory>

#include "analysis/database/run_database.hpp"
#include "analysis/database/stored_runs.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

struct MergeOptions {
    fs::path database;
    std::vector<fs::path> parts;
};

void merge(const MergeOptions& options) {
    const analysis::RunKind* kind = nullptr;
    for (const fs::path& part : options.parts) {
        const analysis::StoredRuns readable(part);  // else nothing is made or changed
        if (kind == nullptr) kind = &readable.kind();
        if (kind != &readable.kind()) {
            throw InputError(part.string(), "",
                             fmt::format("holds runs of ukemi {}, {} of ukemi {}: a database has "
                                         "one kind",
                                         readable.kind().command,
                                         one_line(options.parts[0].string()), kind->command));
        }
        std::error_code none;
        if (fs::equivalent(part, options.database, none)) {
            throw InputError(part.string(), "", "is what the runs are to be added to");
        }
    }
    analysis::RunDatabase database(options.database, *kind);
    for (const fs::path& part : options.parts) {
        const std::int64_t added = database.add_all_of(part);
        fmt::print("{}: {} runs added from {}\n", one_line(options.database.string()), added,
                   one_line(part.string()));
    }
}

}  // namespace

void add_merge(CLI::App& app) {
    auto options = std::make_shared<MergeOptions>();
    CLI::App* command =
        app.add_subcommand("merge", "add the runs of several databases to one (ukemi sweep)");
    command
        ->add_option("DATABASE", options->database,
                     "where to: made if it is not there; runs that it has stay as they are")
        ->required();
    command->add_option("PARTS", options->parts, "databases whose runs are added")->required();
    command->callback([options] { merge(*options); });
}

}  // namespace ukemi::cli
