// policy_looks_test.cpp — that shipped policies can be told apart in every figure, in grey too.
#include "plots/policy_looks.hpp"

#include <catch2/catch.hpp>

#include "policies/registry.hpp"
#include "schedulers/registry.hpp"
#include "sim/search/searcher.hpp"

namespace ukemi {

TEST_CASE("policy looks: every shipped policy has one of its own", "[figures]") {
    std::vector<std::string> names;
    for (const policies::PolicyEntry& one : policies::all_policies()) {
        names.emplace_back(one.name);
        if (one.alias.empty()) continue;
        CAPTURE(one.name);
        CHECK(plots::look_of(one.alias) == plots::look_of(one.name));
    }
    const std::vector<plots::PolicyLook> looks = plots::looks_of(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
        CAPTURE(names[i]);
        CHECK(looks[i] == plots::look_of(names[i]));  // nobody had to give way
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            CAPTURE(names[i], names[j]);
            CHECK_FALSE(looks[i] == looks[j]);
        }
    }
}

TEST_CASE("policy looks: rules of the published comparison have colours of their own",
          "[figures]") {
    const std::vector<std::string> names = {"on_demand",        "spot_only",    "greedy",
                                            "time_sliced",      "rc_threshold", "uniform_progress",
                                            "ideal_no_overhead"};
    for (const std::string& one : names) {
        for (const std::string& other : names) {
            if (one == other) continue;
            CAPTURE(one, other);
            CHECK(plots::look_of(one).colour != plots::look_of(other).colour);
            CHECK(plots::look_of(one).dash != plots::look_of(other).dash);
            CHECK(plots::look_of(one).point != plots::look_of(other).point);
        }
    }
}

TEST_CASE("policy looks: a scheduler has one look beside any other", "[figures]") {
    std::vector<std::string> names;
    for (const auto& one : schedulers::all_schedulers()) names.emplace_back(one.name);
    for (const auto& one : sim::all_searchers()) names.emplace_back(one.name);
    const std::vector<plots::PolicyLook> looks = plots::looks_of(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
        CAPTURE(names[i]);
        CHECK(looks[i] == plots::look_of(names[i]));
        for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(looks[i] == looks[j]);
        const std::vector<std::string> two{names[i], "somebodys_own"};
        CHECK(plots::looks_of(two).front() == looks[i]);
    }
}

}  // namespace ukemi
