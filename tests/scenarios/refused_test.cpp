// refused_test.cpp — each row of refused/refusals.tsv: a good scenario, spoilt, is refused with
// exactly this sentence. Folders are taken off.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/read_file.hpp"
#include "scenarios/reader/scenario.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/job/world.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

const std::filesystem::path refused_folder =
    std::filesystem::path(UKEMI_SOURCE_DIR) / "tests" / "scenarios" / "refused";

struct Refusal {
    std::string name;
    std::string good;
    std::string patch;
    std::string message;

    bool is_file() const { return good == "-"; }
    std::filesystem::path file() const { return refused_folder / (name + ".json"); }
    std::string text() const {
        if (is_file()) return read_file(file());
        auto scenario =
            nlohmann::json::parse(read_file(refused_folder / "good" / (good + ".json")));
        scenario.merge_patch(nlohmann::json::parse(patch));
        return scenario.dump(2);
    }
    std::string expected() const {
        return message.starts_with('@') ? message.substr(1) : file().filename().string() + message;
    }
};

std::vector<Refusal> refusals() {
    std::vector<Refusal> rows;
    std::istringstream table(read_file(refused_folder / "refusals.tsv"));
    for (std::string line; std::getline(table, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream cells(line);
        Refusal& row = rows.emplace_back();
        for (std::string* cell : {&row.name, &row.good, &row.patch, &row.message}) {
            REQUIRE(std::getline(cells, *cell, '\t'));
        }
    }
    return rows;
}

// What `ukemi check` does with a scenario.
void check(const std::string& text, const std::filesystem::path& file, bool of_steps) {
    if (of_steps) {
        scenarios::step_scenario_from_text(text, file);
        return;
    }
    const scenarios::Scenario scenario = scenarios::scenario_from_text(text, file);
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    for (const scenarios::PolicyList& list : scenario.policies) {
        scenarios::check_policies(list, scenario,
                                  sim::simulated_capabilities(market.data, scenario.job));
    }
}

}  // namespace

TEST_CASE("refused: each is refused in one line that says where, what and why", "[scenario]") {
    const std::string prefix = refused_folder.string() + "/";
    std::set<std::string> names;
    for (const Refusal& row : refusals()) {
        CAPTURE(row.name);
        CHECK(names.insert(row.name).second);
        std::string complaint =
            complaint_of([&] { check(row.text(), row.file(), row.good.starts_with("steps")); });
        for (std::size_t at; (at = complaint.find(prefix)) != std::string::npos;) {
            complaint.erase(at, prefix.size());
        }
        CHECK(complaint == row.expected());
        CHECK(complaint.find('\n') == std::string::npos);
    }
    CHECK(names.size() >= 134);
}

TEST_CASE("refused: what the patches spoil is taken as it is", "[scenario]") {
    int goods = 0;
    for (const auto& entry : std::filesystem::directory_iterator(refused_folder / "good")) {
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        CHECK_NOTHROW(check(read_file(entry.path()), entry.path(), name.starts_with("steps")));
        ++goods;
    }
    CHECK(goods >= 5);
}

TEST_CASE("refused: a file lies here only for what no patch can write", "[scenario]") {
    std::set<std::string> rows;
    for (const Refusal& row : refusals()) {
        if (row.is_file()) rows.insert(row.file().filename().string());
    }
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(refused_folder)) {
        if (entry.path().extension() == ".json") files.insert(entry.path().filename().string());
    }
    CHECK(files == rows);
}

}  // namespace ukemi
