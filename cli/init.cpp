// init.cpp — `ukemi init`: a short scenario with comments, or a policy or a form of traces of one's
// own, to begin with.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "analysis/output_folder.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "cli/command.hpp"
#include "cli/plugin_template.hpp"
#include "policies/registry.hpp"
#include "scenarios/reader/first_scenarios.hpp"
#include "traces/reader.hpp"

namespace ukemi::cli {

namespace {

struct InitOptions {
    std::string kind;
    std::string file;
    bool force = false;
};

bool is_policy(const std::string& name) { return policies::find_policy(name) != nullptr; }

bool is_trace_form(const std::string& name) {
    const auto forms = traces::all_trace_forms();
    return std::ranges::find(forms, name, &traces::TraceForm::name) != forms.end();
}

struct SourceKind {
    std::string_view kind;
    std::string_view thing;
    bool (*is_taken)(const std::string& name);
    FilledFiles (*files)(std::string_view name);
};
constexpr SourceKind source_kinds[] = {
    {"policy", "policy", is_policy, policy_template},
    {"trace-form", "trace form", is_trace_form, trace_form_template}};

void expect_source_name(const std::string& name, const SourceKind& kind) {
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
    if (kind.is_taken(name)) {
        throw InputError("NAME", "", fmt::format("there is a {} \"{}\" already", kind.thing, name));
    }
}

// A folder of one's own, which is gone again unless everything that belongs there was written.
class NewFolder {
public:
    explicit NewFolder(const std::filesystem::path& folder)
        : folder_(folder), around_(folder_around(folder)) {
        std::error_code error;
        const bool is_new = std::filesystem::create_directory(folder, error);
        if (error) {
            throw std::runtime_error(fmt::format("{}: {}", folder.string(), error.message()));
        }
        if (!is_new) throw InputError(folder.string(), "", "is there already");
    }
    ~NewFolder() {
        std::error_code ignored;
        if (!is_whole_) std::filesystem::remove_all(folder_, ignored);
    }
    NewFolder(const NewFolder&) = delete;
    NewFolder& operator=(const NewFolder&) = delete;

    void keep() { is_whole_ = true; }

private:
    static std::filesystem::path folder_around(const std::filesystem::path& folder) {
        if (std::filesystem::exists(std::filesystem::symlink_status(folder))) {
            throw InputError(folder.string(), "", "is there already");
        }
        return folder.has_parent_path() ? folder.parent_path() : ".";
    }

    std::filesystem::path folder_;  // which nobody else has made
    analysis::MadeFolders around_;
    bool is_whole_ = false;
};

// Sources are never replaced: somebody may have worked on them.
void init_sources(const InitOptions& options, const SourceKind& kind) {
    expect_source_name(options.file, kind);
    if (options.force) throw InputError("--force", "", "sources are not replaced");
    const std::filesystem::path folder = options.file;
    NewFolder made(folder);
    for (const auto& [name, text] : kind.files(options.file)) {
        write_file_atomically(folder / name, text);
    }
    made.keep();
    fmt::print(
        "{0}/: written. Next: cd {0} && cmake -S . -B build && cmake --build build && "
        "ctest --test-dir build && ukemi --allow-plugins replay {0}.json\n",
        options.file);
}

void init(const InitOptions& options) {
    const auto sources = std::ranges::find(source_kinds, options.kind, &SourceKind::kind);
    if (sources != std::ranges::end(source_kinds)) {
        init_sources(options, *sources);
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
    for (const SourceKind& source : source_kinds) kinds.emplace_back(source.kind);
    CLI::App* command = app.add_subcommand(
        "init", "write a short scenario to begin with, or a policy or trace form of your own");
    command->add_option("KIND", options->kind, "the command that it is for; or policy, trace-form")
        ->required()
        ->check(CLI::IsMember(kinds));
    command->add_option("FILE", options->file,
                        "where to (default: KIND.json); the name of a policy or form");
    command->add_flag("--force", options->force, "replace the file if it is there already");
    command->callback([options] { init(*options); });
}

}  // namespace ukemi::cli
