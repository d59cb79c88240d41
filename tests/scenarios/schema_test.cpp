// schema_test.cpp — the schema takes whatever the reader takes, and sees what a schema can see.
#include "scenarios/reader/scenario_schema.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "scenarios/reader/search_scenario.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>

#include "base/read_file.hpp"
#include "scenarios/reader/first_scenarios.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "tests/scenarios/refusals.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

// Validates by the part of JSON Schema that ukemi's schemas use: type, enum, pattern, minimum,
// maximum, items, properties, required, additionalProperties, anyOf.
class JsonSchema {
public:
    explicit JsonSchema(const std::string& text) : schema_(nlohmann::json::parse(text)) {}

    // The first place in the document that the schema refuses, and why; empty if it takes it.
    std::string fault(const nlohmann::json& document) { return fault(schema_, document, ""); }
    const nlohmann::json& text() const { return schema_; }

private:
    using Json = nlohmann::json;

    static bool has_type(const std::string& type, const Json& value) {
        if (type == "object") return value.is_object();
        if (type == "array") return value.is_array();
        if (type == "string") return value.is_string();
        if (type == "boolean") return value.is_boolean();
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        throw std::runtime_error("a type that this validator does not know: " + type);
    }

    const std::regex& regex(const std::string& pattern) {
        const auto found = patterns_.find(pattern);
        if (found != patterns_.end()) return found->second;
        return patterns_.emplace(pattern, std::regex(pattern)).first->second;
    }

    std::string fault(const Json& schema, const Json& value, const std::string& path) {
        const auto at = [&](const std::string& why) { return (path.empty() ? "/" : path) + why; };
        if (schema.is_boolean()) return schema.get<bool>() ? "" : at(": unknown key");
        if (schema.contains("anyOf")) {
            std::string first;
            for (const Json& one : schema["anyOf"]) {
                const std::string why = fault(one, value, path);
                if (why.empty()) return "";
                if (first.empty()) first = why;
            }
            return first;
        }
        if (schema.contains("type") && !has_type(schema["type"].get<std::string>(), value)) {
            return at(": no " + schema["type"].get<std::string>());
        }
        if (schema.contains("enum")) {
            bool among = false;
            for (const Json& one : schema["enum"]) among = among || one == value;
            if (!among) return at(": not in the enum");
        }
        if (schema.contains("pattern") &&
            !std::regex_search(value.get<std::string>(),
                               regex(schema["pattern"].get<std::string>()))) {
            return at(": does not fit the pattern");
        }
        if (schema.contains("minimum") && value < schema["minimum"]) return at(": too small");
        if (schema.contains("maximum") && value > schema["maximum"]) return at(": too large");
        return inner_fault(schema, value, path);
    }

    std::string inner_fault(const Json& schema, const Json& value, const std::string& path) {
        std::string why;
        if (value.is_array() && schema.contains("items")) {
            for (std::size_t i = 0; i < value.size() && why.empty(); ++i) {
                why = fault(schema["items"], value[i], path + "/" + std::to_string(i));
            }
        }
        if (!value.is_object()) return why;
        for (const Json& key : schema.value("required", Json::array())) {
            const std::string name = key.get<std::string>();
            if (!value.contains(name)) return (path.empty() ? "/" : path) + ": missing key " + name;
        }
        const Json others = schema.value("additionalProperties", Json(true));
        for (const auto& [key, one] : value.items()) {
            if (!why.empty()) return why;
            const bool known = schema.contains("properties") && schema["properties"].contains(key);
            why = fault(known ? schema["properties"][key] : others, one, path + "/" + key);
        }
        return why;
    }

    Json schema_;
    std::map<std::string, std::regex> patterns_;
};

JsonSchema& schema_for(bool of_steps) {
    static JsonSchema job(scenarios::scenario_schema());
    static JsonSchema steps(scenarios::step_scenario_schema());
    return of_steps ? steps : job;
}

// Whether the sentence is about one value or one key, and not about what several say together.
bool is_of_one_value(const Refusal& row) {
    static const std::set<std::string> of_several = {
        "throughput_as_rate_with_work",  // a number there, a rate with samples
        "throughput_as_number_with_samples"};
    static constexpr std::array sentences = {"unknown key",
                                             "expected an integer",
                                             "expected a number",
                                             "expected text",
                                             "expected true or false",
                                             "expected one of ",
                                             "expected an object",
                                             "expected a list",
                                             "expected a duration such as",
                                             "expected a price such as",
                                             "expected a size such as",
                                             "expected a rate above",
                                             "no policy \"",
                                             "a policy without a name",
                                             "at /: missing key"};
    if (of_several.contains(row.name) || row.message.ends_with("one of them")) return false;
    return std::ranges::any_of(
        sentences, [&](const char* one) { return row.message.find(one) != std::string::npos; });
}

}  // namespace

TEST_CASE("schema: takes every shipped scenario, as written and with all defaults", "[schema]") {
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scenario_folder)) {
        if (entry.path().extension() != ".json") continue;
        CAPTURE(entry.path());
        if (scenarios::is_schedule_scenario(entry.path())) {
            static JsonSchema of_schedules(scenarios::schedule_scenario_schema());
            CHECK(of_schedules.fault(nlohmann::json::parse(read_file(entry.path()))) == "");
            const std::string all = scenarios::read_schedule_scenario(entry.path()).resolved;
            CHECK(of_schedules.fault(nlohmann::json::parse(all)) == "");
            continue;
        }
        if (scenarios::is_search_scenario(entry.path())) {
            static JsonSchema of_searches(scenarios::search_scenario_schema());
            CHECK(of_searches.fault(nlohmann::json::parse(read_file(entry.path()))) == "");
            const std::string all = scenarios::read_search_scenario(entry.path()).resolved;
            CHECK(of_searches.fault(nlohmann::json::parse(all)) == "");
            continue;
        }
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
        if (row.is_file() || row.message.starts_with('@') || !is_of_one_value(row)) continue;
        CAPTURE(row.name);
        JsonSchema& schema = schema_for(row.good.starts_with("steps"));
        CHECK(schema.fault(nlohmann::json::parse(refused_text(row))) != "");
        ++seen;
    }
    CHECK(seen >= 40);
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
