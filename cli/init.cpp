// init.cpp — `ukemi init`: a short scenario with comments, to begin with.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analysis/output_folder.hpp"
#include "cli/command.hpp"
#include "scenarios/reader/first_scenarios.hpp"

namespace ukemi::cli {

namespace {

struct InitOptions {
    std::string kind;
    std::string file;
    bool force = false;
};

void init(const InitOptions& options) {
    const auto table = scenarios::first_scenarios();
    const auto first = std::ranges::find(table, options.kind, &scenarios::FirstScenario::kind);
    const std::filesystem::path file = options.file.empty() ? options.kind + ".json" : options.file;
    std::string name = file.stem().string();
    // What JSON would have to escape is no name for results either.
    std::ranges::replace_if(
        name, [](unsigned char c) { return c < ' ' || c == '"' || c == '\\'; }, '_');
    analysis::OutputFile output(file, options.force);
    output.write(scenarios::named_text(*first, name));
    std::string next(first->next);
    constexpr std::string_view hole = "FILE";
    next.replace(next.find(hole), hole.size(), file.string());
    fmt::print("{}: written. Next: {}\n", file.string(), next);
}

}  // namespace

void add_init(CLI::App& app) {
    auto options = std::make_shared<InitOptions>();
    std::vector<std::string> kinds;
    for (const scenarios::FirstScenario& first : scenarios::first_scenarios()) {
        kinds.emplace_back(first.kind);
    }
    CLI::App* command = app.add_subcommand("init", "write a short scenario to begin with");
    command->add_option("KIND", options->kind, "the command that it is for")
        ->required()
        ->check(CLI::IsMember(kinds));
    command->add_option("FILE", options->file, "where to (default: KIND.json)");
    command->add_flag("--force", options->force, "replace the file if it is there already");
    command->callback([options] { init(*options); });
}

}  // namespace ukemi::cli
