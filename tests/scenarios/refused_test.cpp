// refused_test.cpp — each row of refused/refusals.tsv: a good scenario, spoilt, is refused with
// exactly this sentence. Folders are taken off.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "base/read_file.hpp"
#include "scenarios/reader/scenario.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/job/world.hpp"
#include "tests/scenarios/refusals.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

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

TEST_CASE("refused: all mistakes of a scenario are named at once, a line each", "[scenario]") {
    const std::string text = R"({
        // Mistakes of one key each, in sections that do not need each other.
        "name": "many", "sed": 1,
        "job": {"work": 10, "deadline": "2 days", "checkpoint": {"cost": "1 minuten"}, "x": 1},
        "cluster": {"count": 0},
        "market": {"on_demand_price": "3 EUR/h", "after_last_row": "ends", "launch_failure": 2},
        "oracle": "non", "replay": ["greddy"]})";
    CHECK(
        complaint_of([&] { scenarios::scenario_from_text(text, "many.json"); }) ==
        "many.json: at /: missing key \"seed\"; there is \"sed\"\n"
        "many.json: at /cluster/count: expected an integer from 1 to 100000, found 0\n"
        "many.json: at /job/work: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, "
        "d), found 10\n"
        "many.json: at /job/checkpoint/cost: expected a duration such as \"15 min\" (ns, us, ms, "
        "s, min, h, d), found \"1 minuten\"\n"
        "many.json: at /job: unknown key \"x\"\n"
        "many.json: at /market/on_demand_price: expected a price such as \"3.06 USD/h\", found "
        "\"3 EUR/h\"\n"
        "many.json: at /market/after_last_row: expected one of end, repeat, hold, found \"ends\" "
        "(did you mean \"end\"?)\n"
        "many.json: at /market/launch_failure: expected a number from 0 to 0.999, found 2\n"
        "many.json: at /oracle: expected one of none, future_availability, found \"non\" (did you "
        "mean \"none\"?)\n"
        "many.json: at /replay/0: no policy \"greddy\" (did you mean \"greedy\"?)");
}

TEST_CASE("refused: what follows from another mistake is not named", "[scenario]") {
    // Where the count cannot be read, nothing is said of the batch that workers share.
    const std::string text = R"({"name": "one", "seed": 1,
        "job": {"samples": 1000, "batch": 64, "throughput": {"1": "10 samples/s"}},
        "cluster": {"count_min": 5, "count_max": "many"},
        "market": {"on_demand_price": "3 USD/h"}, "replay": ["on_demand"]})";
    CHECK(complaint_of([&] { scenarios::scenario_from_text(text, "one.json"); }) ==
          "one.json: at /cluster/count_max: expected an integer from 1 to 100000, found \"many\"");
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
