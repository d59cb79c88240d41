// registry_test.cpp — the table of policies: complete, unambiguous, and strict about parameters.
#include "policies/registry.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>

#include "policies/parameter_notes.hpp"

using namespace ukemi;
using namespace ukemi::policies;

TEST_CASE("registry: names and aliases are unique", "[registry]") {
    std::set<std::string_view> names;
    for (const PolicyEntry& entry : all_policies()) {
        CAPTURE(entry.name);
        CHECK(names.insert(entry.name).second);
        if (!entry.alias.empty()) CHECK(names.insert(entry.alias).second);
        CHECK_FALSE(entry.summary.empty());
        CHECK_FALSE(entry.source.empty());
        CHECK(find_policy(entry.name) == &entry);
    }
    CHECK(find_policy("daly") == find_policy("daly_checkpoint"));
    CHECK(find_policy("") == nullptr);
}

TEST_CASE("registry: every policy can be made from no parameters at all", "[registry]") {
    for (const PolicyEntry& entry : all_policies()) {
        CAPTURE(entry.name);
        ConfigReader none = ConfigReader::from_text("{}", "test.json");
        const auto policy = make_policy(entry, none);
        CHECK(policy->name() == entry.name);
        CHECK_FALSE(policy->knobs().empty());
        // Links are measured now and then, and are many.
        CHECK(policy->every_steps() == (policy->looks_at_links() ? 10 : 1));
        CHECK((policy->hooks().has(Hook::before_train) || policy->hooks().has(Hook::on_event) ||
               policy->hooks().has(Hook::after_epoch)));
    }
}

TEST_CASE("registry: a parameter that a policy does not know is refused by name", "[registry]") {
    for (const PolicyEntry& entry : all_policies()) {
        CAPTURE(entry.name);
        ConfigReader reader = ConfigReader::from_text(R"({"no_such_thing": 1})", "test.json");
        CHECK_THROWS_WITH(make_policy(entry, reader),
                          Catch::StartsWith("test.json: at /: unknown key \"no_such_thing\""));
    }
    ConfigReader misspelt = ConfigReader::from_text(R"({"safty_net": "simple"})", "test.json");
    CHECK_THROWS_WITH(make_policy(*find_policy("greedy"), misspelt),
                      Catch::Contains("did you mean \"safety_net\"?"));
}

TEST_CASE("registry: every duration says its bounds", "[registry]") {
    for (const PolicyEntry& entry : all_policies()) {
        for (const KeyNote& note : parameters_of(entry)) {
            CAPTURE(entry.name, note.path);
            // The points of a line say theirs by what stands before them.
            if (note.kind != KeyKind::duration || note.path == "/utility_points/*/until") continue;
            CHECK_THAT(note.limits, Catch::StartsWith("from "));
        }
    }
}

TEST_CASE("registry: bad values are refused with their path", "[registry]") {
    const auto complaint = [](std::string_view name, std::string_view parameters) -> std::string {
        ConfigReader reader = ConfigReader::from_text(parameters, "test.json");
        try {
            make_policy(*find_policy(name), reader);
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    };
    CHECK_THAT(complaint("greedy", R"({"safety_net": "stronk"})"),
               Catch::StartsWith("test.json: at /safety_net: ") &&
                   Catch::Contains("did you mean \"strong\"?"));
    CHECK(complaint("time_sliced", R"({"slice": "999 ms"})") ==
          "test.json: at /slice: expected from 1 s to 36500 d, found 999 ms");
    CHECK_THAT(complaint("time_sliced", R"({"overlap_one_tick": 1})"),
               Catch::StartsWith("test.json: at /overlap_one_tick: "));
}

TEST_CASE("registry: an unknown name is answered with the nearest, or with all", "[registry]") {
    CHECK(find_policy("gredy") == nullptr);
    CHECK(no_such_policy("gredy") == "no policy \"gredy\" (did you mean \"greedy\"?)");
    const std::string all = no_such_policy("zzz");
    CHECK_THAT(all, Catch::StartsWith("no policy \"zzz\"; there is on_demand, spot_only, "));
    for (const PolicyEntry& entry : all_policies()) {
        CHECK_THAT(all, Catch::Contains(std::string(entry.name)));
    }
}

// Who asks an oracle without saying so has none, and stops the program in its own test.
TEST_CASE("registry: what a policy needs stands in its line", "[registry]") {
    const auto needs = [](std::string_view name) {
        const PolicyEntry& entry = *find_policy(name);
        return std::pair(entry.needs_deadline, entry.needs_oracle);
    };
    CHECK(needs("ideal_no_overhead") == std::pair(true, true));
    for (const char* name : {"greedy", "time_sliced", "uniform_progress", "rc_threshold",
                             "fleet_progress", "cheapest_region_net"}) {
        CAPTURE(name);
        CHECK(needs(name) == std::pair(true, false));
    }
    for (const char* name : {"on_demand", "spot_only", "cheapest_zone", "gain_resize"}) {
        CAPTURE(name);
        CHECK(needs(name) == std::pair(false, false));
    }
}
