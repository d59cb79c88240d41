// schema_test.cpp — the schema takes whatever the reader takes, and sees what a schema can see.
#include "scenarios/reader/scenario_schema.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "base/read_file.hpp"
#include "scenarios/reader/first_scenarios.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "tests/scenarios/json_schema.hpp"
#include "tests/scenarios/refusals.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

JsonSchema& schema_for(bool of_steps) {
    static JsonSchema job(scenarios::scenario_schema());
    static JsonSchema steps(scenarios::step_scenario_schema());
    return of_steps ? steps : job;
}

// Whether the sentence is about one value or one key, and not about what several say together.
bool is_of_one_value(const std::string& message) {
    static constexpr std::array seen = {"unknown key",
                                        "expected an integer",
                                        "expected a number",
                                        "expected text",
                                        "expected true or false",
                                        "expected one of",
                                        "expected an object",
                                        "expected a list",
                                        "expected a duration such as",
                                        "expected a price such as",
                                        "expected a size such as",
                                        "expected a rate above",
                                        "no policy \"",
                                        "a policy without a name",
                                        "at /: missing key"};
    for (const char* one : seen) {
        if (message.find(one) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("schema: takes every shipped scenario, as written and with all defaults", "[schema]") {
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scenario_folder)) {
        if (entry.path().extension() != ".json") continue;
        CAPTURE(entry.path());
        const bool of_steps = scenarios::is_step_scenario(entry.path());
        JsonSchema& schema = schema_for(of_steps);
        CHECK(schema.fault(nlohmann::json::parse(read_file(entry.path()))) == "");
        const std::string resolved = of_steps ? scenarios::read_step_scenario(entry.path()).resolved
                                              : scenarios::read_scenario(entry.path()).resolved;
        CHECK(schema.fault(nlohmann::json::parse(resolved)) == "");
        ++files;
    }
    CHECK(files >= 40);
}

TEST_CASE("schema: refuses what the reader refuses of one value", "[schema]") {
    int seen = 0;
    for (const Refusal& row : refusals()) {
        if (row.is_file() || row.message.starts_with('@') || !is_of_one_value(row.message))
            continue;
        CAPTURE(row.name);
        JsonSchema& schema = schema_for(row.good.starts_with("steps"));
        CHECK(schema.fault(nlohmann::json::parse(row.text())) != "");
        ++seen;
    }
    CHECK(seen >= 50);
}

TEST_CASE("schema: takes the good scenarios that are spoilt for the reader", "[schema]") {
    for (const auto& entry : std::filesystem::directory_iterator(refused_folder / "good")) {
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        CHECK(schema_for(name.starts_with("steps"))
                  .fault(nlohmann::json::parse(read_file(entry.path()))) == "");
    }
}

TEST_CASE("schema: has bounds, units, names and defaults, and each policy's parameters",
          "[schema]") {
    const nlohmann::json& schema = schema_for(false).text();
    const auto at = [&](const char* path) { return schema.at(nlohmann::json::json_pointer(path)); };
    CHECK(at("/$schema") == "https://json-schema.org/draft/2020-12/schema");
    CHECK(at("/required") == nlohmann::json({"cluster", "job", "market", "name", "seed"}));
    const std::string job = "/properties/job/properties";
    CHECK(at((job + "/deadline/description").c_str()) == "from 1 s to 3660 d");
    CHECK(at((job + "/batch/maximum").c_str()) == 1'000'000'000);
    CHECK(at("/properties/market/properties/notice_arrives/default") == 1);
    CHECK(at("/properties/oracle/enum") == nlohmann::json({"none", "future_availability"}));
    const auto sliced = at("/properties/policy_parameters/properties/time_sliced/properties");
    CHECK(sliced.at("slice").at("default") == "8 h");
    CHECK(at("/properties/policy_parameters/properties").contains("daly"));
}

TEST_CASE("first scenarios: each is read as it is, and taken by the schema", "[schema]") {
    for (const scenarios::FirstScenario& first : scenarios::first_scenarios()) {
        CAPTURE(first.kind);
        const bool of_steps = first.kind == "simulate";
        const std::string text = scenarios::named_text(first, "mine");
        std::string resolved;
        if (of_steps) {
            resolved = scenarios::step_scenario_from_text(text, "mine.json").resolved;
        } else {
            resolved = scenarios::scenario_from_text(text, "mine.json").resolved;
        }
        CHECK(resolved.find("\"name\": \"mine\"") != std::string::npos);
        const auto document = nlohmann::json::parse(text, nullptr, true, true);
        CHECK(schema_for(of_steps).fault(document) == "");
    }
}

}  // namespace ukemi
