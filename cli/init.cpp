// init.cpp — `ukemi init`: a short scenario with comments, or a policy of one's own, to begin with.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "analysis/output_folder.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "cli/command.hpp"
#include "cli/policy_template.hpp"
#include "policies/registry.hpp"
#include "scenarios/reader/first_scenarios.hpp"

namespace ukemi::cli {

namespace {

struct InitOptions {
    std::string kind;
    std::string file;
    bool force = false;
};

constexpr std::string_view policy_kind = "policy";

void expect_policy_name(const std::string& name) {
    const bool good =
        !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    if (!good) {
        throw InputError("NAME", "",
                         fmt::format("expected small letters, digits and underscores, found {}",
                                     ukemi::quoted(name)));
    }
    constexpr std::array<std::string_view, 5> of_cmake{"all", "clean", "help", "install", "test"};
    if (std::ranges::find(of_cmake, name) != of_cmake.end()) {
        throw InputError("NAME", "", fmt::format("{} is a word of CMake's", ukemi::quoted(name)));
    }
    if (policies::find_policy(name) != nullptr) {
        throw InputError("NAME", "", fmt::format("there is a policy \"{}\" already", name));
    }
}

// Sources are never replaced: somebody may have worked on them.
void init_policy(const InitOptions& options) {
    expect_policy_name(options.file);
    if (options.force) throw InputError("--force", "", "sources are not replaced");
    const std::filesystem::path folder = options.file;
    if (!std::filesystem::create_directory(folder)) {
        throw InputError(folder.string(), "", "is there already");
    }
    for (const auto& [name, text] : policy_template(options.file)) {
        write_file_atomically(folder / name, text);
    }
    fmt::print(
        "{0}/: written. Next: cd {0} && cmake -S . -B build && cmake --build build && "
        "ctest --test-dir build && ukemi --allow-plugins replay {0}.json\n",
        options.file);
}

void init(const InitOptions& options) {
    if (options.kind == policy_kind) {
        init_policy(options);
        return;
    }
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
    kinds.emplace_back(policy_kind);
    CLI::App* command =
        app.add_subcommand("init", "write a short scenario to begin with, or a policy of your own");
    command->add_option("KIND", options->kind, "the command that it is for; or policy")
        ->required()
        ->check(CLI::IsMember(kinds));
    command->add_option("FILE", options->file, "where to (default: KIND.json); a policy's name");
    command->add_flag("--force", options->force, "replace the file if it is there already");
    command->callback([options] { init(*options); });
}

}  // namespace ukemi::cli
