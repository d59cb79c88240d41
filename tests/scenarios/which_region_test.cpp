// which_region_test.cpp — the scenario with three regions: moving, spreading, and a net over all.
#include <catch2/catch.hpp>
#include <map>

#include "scenarios/experiment.hpp"
#include "tests/scenarios/scenario_text.hpp"

using namespace ukemi;

TEST_CASE("which_region: every list meets its deadline for less than on-demand costs",
          "[scenario]") {
    const Scenario scenario =
        read_scenario(std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios" / "which_region.json");
    ExperimentSetup setup;
    setup.policies = scenario.policies;
    setup.seeds = {1, 2, 3};
    setup.threads = 2;
    std::map<std::string, double> usd;
    for (const FinishedRun& run : run_experiment(scenario, setup)) {
        CAPTURE(run.result.policy, run.result.seed);
        CHECK(run.result.finished);
        CHECK(run.result.deadline_met);
        usd[run.result.policy] += to_dollars(run.result.cost);
    }
    REQUIRE(usd.size() == scenario.policies.size());
    for (const auto& [policy, cost] : usd) {
        CAPTURE(policy);
        if (policy != "on_demand") CHECK(cost < usd.at("on_demand"));
    }
}
