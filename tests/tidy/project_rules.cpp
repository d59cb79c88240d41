// project_rules.cpp — rules about what belongs together: layers, scenarios, the policy table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "tests/tidy/rules.hpp"

namespace ukemi::tidy {
namespace {

// What a folder may include; itself is understood. Data moves from left to right, so an include
// points to the left or up.
struct Layer {
    std::string_view folder;
    std::string_view sees;
};
constexpr std::array layers = {
    Layer{"base", " "},
    Layer{"policies", " base "},
    Layer{"schedulers", " base "},
    Layer{"traces", " base "},
    Layer{"records", " base policies traces "},
    Layer{"kernels", " base policies traces records "},
    Layer{"sim", " base policies schedulers traces records kernels "},
    Layer{"scenarios", " base policies schedulers traces records kernels sim "},
    Layer{"runtime", " base policies schedulers traces records kernels sim scenarios "},
    Layer{"plots", " base "},
    Layer{"analysis", " base policies schedulers traces records kernels sim scenarios plots "},
    Layer{"studies", " base policies schedulers traces records kernels sim "},
    Layer{"python",
          " base policies schedulers traces records kernels sim scenarios plots analysis "},
    Layer{"cli",
          " base policies schedulers traces records kernels sim scenarios runtime plots analysis "},
    Layer{"examples", " base policies traces records kernels "},
    Layer{"bench",
          " base policies schedulers traces records kernels sim scenarios runtime plots analysis "
          "studies tests "},
    Layer{"tests",
          " base policies schedulers traces records kernels sim scenarios runtime plots analysis "
          "cli studies bench "},
};

const Layer* layer_of(std::string_view folder) {
    const auto* found = std::find_if(layers.begin(), layers.end(),
                                     [&](const Layer& layer) { return layer.folder == folder; });
    return found == layers.end() ? nullptr : found;
}

std::string problem_of_include(const Layer& layer, std::string_view target) {
    const std::string_view folder = top_folder(target);
    if (layer_of(folder) == nullptr) {
        return fmt::format("\"{}\": include by path from the top folder", target);
    }
    const bool seen = folder == layer.folder ||
                      layer.sees.find(fmt::format(" {} ", folder)) != std::string_view::npos;
    return seen ? std::string() : fmt::format("{} may not see {}", layer.folder, folder);
}

bool may_mention_scenarios(std::string_view path) {
    return path.starts_with("tests/") || path.starts_with(".ci/") || path == "README.md" ||
           path == "dev";
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Findings check_includes(const SourceFile& file) {
    Findings findings;
    const Layer* layer = layer_of(top_folder(file.path));
    if (!is_code(file.path) || layer == nullptr) return findings;
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        constexpr std::string_view database_folder = "analysis/database/";
        if (lines[i].starts_with("#include <sqlite3.h>") &&
            !file.path.starts_with(database_folder)) {
            findings.push_back(
                {file.path, i + 1, fmt::format("only {} sees SQLite", database_folder)});
        }
        constexpr std::string_view include = "#include \"";
        if (!lines[i].starts_with(include)) continue;
        std::string_view target = lines[i].substr(include.size());
        target = target.substr(0, target.find('"'));
        const std::string problem = problem_of_include(*layer, target);
        if (!problem.empty()) findings.push_back({file.path, i + 1, problem});
    }
    return findings;
}

Findings check_scenarios(std::span<const SourceFile> files) {
    Findings findings;
    for (const SourceFile& scenario : files) {
        if (top_folder(scenario.path) != "scenarios" || !scenario.path.ends_with(".json")) continue;
        const bool used = std::any_of(files.begin(), files.end(), [&](const SourceFile& file) {
            return may_mention_scenarios(file.path) &&
                   file.text.find(name_of(scenario.path)) != std::string::npos;
        });
        if (!used) findings.push_back({scenario.path, 1, "no test, README.md or dev mentions it"});
    }
    return findings;
}

Findings check_policies(std::span<const SourceFile> files) {
    Findings findings;
    const auto table = std::ranges::find(files, "policies/policy_table.def", &SourceFile::path);
    const std::string known = table == files.end() ? std::string() : code_only(table->text);
    static const std::regex maker(
        R"(^std::unique_ptr<Policy>\s+make_([a-z0-9_]+)\(ConfigReader&( \w+)?\))");
    for (const SourceFile& file : files) {
        if (top_folder(file.path) != "policies" || !file.path.ends_with(".cpp")) continue;
        const auto lines = lines_of(file.text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            std::cmatch match;
            const char* begin = lines[i].data();
            if (!std::regex_search(begin, begin + lines[i].size(), match, maker)) continue;
            if (known.find(fmt::format("POLICY({},", match.str(1))) != std::string::npos) continue;
            findings.push_back(
                {file.path, i + 1,
                 fmt::format("{} has no line in policies/policy_table.def", match.str(1))});
        }
    }
    return findings;
}

Findings check_data(std::span<const SourceFile> files) {
    constexpr std::string_view place = "tests/data/";
    constexpr std::size_t bytes_max = 2'000'000;
    const std::string readme = std::string(place) + "README.md";
    const auto described = std::ranges::find(files, readme, &SourceFile::path);
    Findings findings;
    std::size_t bytes = 0;
    std::string_view last;
    for (const SourceFile& file : files) {
        if (!file.path.starts_with(place)) continue;
        bytes += file.text.size();
        const std::string_view below = std::string_view(file.path).substr(place.size());
        const std::string_view folder = below.substr(0, below.find('/') + 1);
        if (folder.empty() || folder == last) continue;
        last = folder;
        if (described != files.end() &&
            described->text.find(fmt::format("`{}", folder)) != std::string::npos) {
            continue;
        }
        findings.push_back({file.path, 1, fmt::format("{} does not say whence it is", readme)});
    }
    if (bytes > bytes_max) {
        findings.push_back({readme, 1, fmt::format("{} bytes in all, expected 2 MB", bytes)});
    }
    return findings;
}

Findings check_all(std::span<const SourceFile> files) {
    Findings findings;
    const auto add = [&](const Findings& more) {
        findings.insert(findings.end(), more.begin(), more.end());
    };
    for (const SourceFile& file : files) {
        for (const auto rule :
             {check_sizes, check_functions, check_headers, check_includes, check_words,
              check_test_names, check_skips, check_titles, check_paths, check_prose}) {
            add(rule(file));
        }
    }
    add(check_scenarios(files));
    add(check_policies(files));
    add(check_types(files));
    add(check_namespaces(files));
    add(check_use(files));
    add(check_data(files));
    return findings;
}

}  // namespace ukemi::tidy
