// shipped_scenarios.cpp — looks for them above the program and above the current folder.
#include "analysis/requests/shipped_scenarios.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/input_error.hpp"
#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"

namespace ukemi::analysis {

namespace {

namespace fs = std::filesystem;

// The nearest `scenarios` around it that has the catalogue of scenarios; empty if there is none.
fs::path scenarios_around(fs::path folder) {
    for (;; folder = folder.parent_path()) {
        for (const char* name : {"scenarios", "share/ukemi/scenarios"}) {  // the second: installed
            fs::path found = folder / name;
            std::error_code ignored;
            if (fs::is_regular_file(found / "README.md", ignored) &&
                fs::is_directory(found / "market", ignored)) {
                return found;
            }
        }
        if (folder == folder.parent_path()) return {};
    }
}

std::vector<fs::path> shipped_files(const fs::path& around) {
    std::vector<fs::path> files;
    const fs::path folder = shipped_folder(around);
    if (folder.empty()) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

std::string commands_for(const nlohmann::json& scenario) {
    const auto has = [&](std::string_view section, std::string_view key) {
        return scenario.contains(section) && scenario[std::string(section)].contains(key);
    };
    for (const char* key : {"machine", "zones", "astra_sim"}) {
        if (has("cluster", key)) return "simulate";
    }
    if (scenario.contains("schedulers")) return "schedule";
    if (scenario.contains("searchers")) return "search";
    std::string commands = "replay";
    if (scenario.contains("learning")) commands += ", compare";
    if (scenario.contains("training")) commands += ", train";
    return commands;
}

std::string first_sentence(const std::string& text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool ends = text[at] == '.' || text[at] == '?' || text[at] == ':';
        if (ends && (at + 1 == text.size() || text[at + 1] == ' ')) {
            return text.substr(0, text[at] == ':' ? at : at + 1);
        }
    }
    return text;
}

fs::path run_of_results(const fs::path& folder) {
    fs::path run = folder / "run.json";
    std::error_code ignored;
    if (fs::is_regular_file(run, ignored)) return run;
    throw InputError(folder.string(), "",
                     "is a folder without run.json: expected a scenario or a folder of results");
}

}  // namespace

fs::path shipped_folder(const fs::path& around) {
    std::error_code ignored;
    const fs::path program =
        around.empty() ? fs::read_symlink("/proc/self/exe", ignored).parent_path() : around;
    fs::path found = scenarios_around(program);
    return found.empty() ? scenarios_around(fs::current_path()) : found;
}

std::vector<ShippedScenario> shipped_scenarios(const fs::path& around) {
    std::vector<ShippedScenario> all;
    for (const fs::path& file : shipped_files(around)) {
        const nlohmann::json scenario = parse_json(read_file(file), file.string());
        const auto description = scenario.find("description");
        const bool described = description != scenario.end() && description->is_string();
        all.push_back({file, file.stem().string(),
                       described ? first_sentence(description->get<std::string>()) : "",
                       commands_for(scenario)});
    }
    return all;
}

fs::path scenario_file(const std::string& given, const fs::path& around) {
    const fs::path path = given;
    std::error_code ignored;
    const bool folder = fs::is_directory(path, ignored);  // perhaps the results of that scenario
    const bool there = fs::exists(path, ignored) && !folder;
    const bool is_name = !path.has_parent_path() && !path.has_extension();
    if (there || (!is_name && !folder)) return path;
    if (!is_name) return run_of_results(path);
    std::vector<fs::path> found;
    std::vector<std::string> names;
    for (const fs::path& file : shipped_files(around)) {
        names.push_back(file.stem().string());
        if (names.back() == given) found.push_back(file);
    }
    if (found.size() == 1) return found.front();
    if (found.size() > 1) {
        std::vector<std::string> files;
        for (const fs::path& file : found) files.push_back(file.string());
        throw InputError(given, "",
                         fmt::format("names several scenarios: {}", fmt::join(files, ", ")));
    }
    if (folder) return run_of_results(path);
    if (names.empty()) {
        throw InputError(given, "",
                         "there is no such file, and no folder scenarios/ with one of this name "
                         "above the program or the current folder");
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    throw InputError(given, "",
                     fmt::format("there is no such file, and no scenario of this name{} (see "
                                 "`ukemi list scenarios`)",
                                 did_you_mean(given, known)));
}

}  // namespace ukemi::analysis
