// documented_keys_test.cpp — every key that a shipped scenario has, given or filled in by the
// reader, stands in a table of scenarios/README.md, and every key that there is in KEYS.md.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "base/read_file.hpp"
#include "scenarios/reader/scenario_schema.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "scenarios/reader/search_scenario.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

using nlohmann::json;

// The words in code of the tables: "`plan.bid`" says plan and bid.
std::set<std::string> documented_words() {
    std::ifstream readme(scenario_folder / "README.md");
    std::set<std::string> words;
    const std::regex code("`([^`]*)`");
    const std::regex word("[a-z_0-9]+");
    for (std::string line; std::getline(readme, line);) {
        if (!line.starts_with("|")) continue;
        for (std::sregex_iterator at(line.begin(), line.end(), code), end; at != end; ++at) {
            const std::string text = (*at)[1];
            for (std::sregex_iterator one(text.begin(), text.end(), word); one != end; ++one) {
                words.insert(one->str());
            }
        }
    }
    return words;
}

// Names that the scenario chooses (zones, policies, sizes) are no keys of the reader.
bool is_chosen(const std::string& place, const std::string& key) {
    static const std::set<std::string> maps = {"policy_parameters", "communication", "curves",
                                               "speed_on", "set"};
    return maps.contains(place) || std::isdigit(static_cast<unsigned char>(key.front())) != 0;
}

void collect(const json& value, const std::string& place, std::set<std::string>& keys) {
    if (value.is_array()) {
        // Their parameters: policies/README.md, schedulers/README.md, sim/search/README.md.
        if (place == "policies" || place == "schedulers" || place == "searchers") return;
        for (const json& one : value) collect(one, place, keys);
    }
    if (!value.is_object()) return;
    for (const auto& [key, inner] : value.items()) {
        if (!is_chosen(place, key)) keys.insert(key);
        if (place != "policy_parameters") collect(inner, key, keys);
    }
}

}  // namespace

TEST_CASE("scenario keys: each has its row in the README", "[scenario]") {
    const std::set<std::string> documented = documented_words();
    std::set<std::string> keys;
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scenario_folder)) {
        const auto folder = entry.path().parent_path().filename();
        if (entry.path().extension() != ".json" || folder == "steps") continue;
        // A job that they train or adapt is a scenario of a job like others.
        const bool shares = json::parse(std::ifstream(entry.path()), nullptr, true, true)
                                .value("jobs", json())
                                .is_structured();
        if (folder == "jobs" && shares) {
            collect(json::parse(scenarios::read_schedule_scenario(entry.path()).resolved), "",
                    keys);
            continue;
        }
        if (folder == "search") {
            collect(json::parse(scenarios::read_search_scenario(entry.path()).resolved), "", keys);
            continue;
        }
        collect(json::parse(scenarios::read_scenario(entry.path()).resolved), "", keys);
        ++files;
    }
    REQUIRE(files >= 30);
    REQUIRE(keys.size() >= 80);
    for (const std::string& key : keys) {
        CAPTURE(key);
        CHECK(documented.contains(key));
    }
}

TEST_CASE("scenario keys: KEYS.md has the tables that the program prints", "[scenario]") {
    const std::string page = read_file(scenario_folder / "KEYS.md");
    for (const auto& [command, table] :
         {std::pair("replay", scenarios::scenario_key_table()),
          std::pair("simulate", scenarios::step_scenario_key_table()),
          std::pair("schedule", scenarios::schedule_scenario_key_table()),
          std::pair("search", scenarios::search_scenario_key_table())}) {
        CAPTURE(command);
        const std::size_t title = page.find(fmt::format("\n## `ukemi {}`", command));
        REQUIRE(title != std::string::npos);
        const std::size_t begin = page.find("\n|", title) + 1;
        const std::size_t end = std::min(page.find("\n\n", begin), page.size() - 1) + 1;
        CHECK(page.substr(begin, end - begin) == table);
    }
}

}  // namespace ukemi
