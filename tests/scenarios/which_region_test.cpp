// which_region_test.cpp — several regions: moving, spreading, and a net over all of them.
#include <catch2/catch.hpp>
#include <map>

#include "scenarios/experiment/experiment.hpp"
#include "tests/recorded.hpp"
#include "tests/scenarios/scenario_text.hpp"

using namespace ukemi;
using namespace ukemi::scenarios;

namespace {

// Mean dollars of each policy list; all runs must meet their deadline.
std::map<std::string, double> mean_usd(const Scenario& scenario, std::vector<std::uint64_t> seeds) {
    ExperimentSetup setup;
    setup.policies = scenario.policies;
    setup.seeds = std::move(seeds);
    setup.threads = 2;
    std::map<std::string, double> usd;
    for (const FinishedRun& run : run_experiment(scenario, setup)) {
        CAPTURE(run.result.policy, run.result.seed);
        CHECK(run.result.deadline_met);
        usd[run.result.policy] +=
            to_dollars(run.result.cost) / static_cast<double>(setup.seeds.size());
    }
    REQUIRE(usd.size() == scenario.policies.size());
    return usd;
}

}  // namespace

TEST_CASE("which_region: every list meets its deadline for less than on-demand costs",
          "[scenario]") {
    const Scenario scenario = read_scenario(std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios" /
                                            "market/which_region.json");
    const auto usd = mean_usd(scenario, {1, 2, 3});
    for (const auto& [policy, cost] : usd) {
        CAPTURE(policy);
        if (policy != "on_demand") CHECK(cost < usd.at("on_demand"));
    }
}

TEST_CASE("regions: on six recorded V100 zones one policy for market and zone beats two",
          "[scenario][recorded]") {
    // SkyNomad's AWS zones from 2023-02-15 on, availability and prices as recorded; egress is not
    // counted. Two policies buy on-demand in a place without spot before the zone is changed.
    const auto data = recorded_data();
    std::string zones;
    for (const char* zone :
         {"us-east-1a", "us-east-1c", "us-east-1f", "us-east-2a", "us-west-2a", "us-west-2b"}) {
        zones += fmt::format(
            R"({}{{"name": "{}", "availability": "avail/aws-v100x1-2023feb-{}.csv",
                "price": "price/aws-v100x1-2023feb-{}.csv"}})",
            zones.empty() ? "" : ", ", zone, zone, zone);
    }
    const Scenario scenario = scenario_from_text(
        fmt::format(R"({{"name": "six_zones", "description": "recorded", "seed": 1,
        "job": {{"work": "48 h", "deadline": "56 h", "restart": "6 min",
                 "checkpoint": {{"cost": "60 s", "restore": "2 min"}}}},
        "cluster": {{"count": 1}},
        "market": {{"zones": [{}], "on_demand_price": "3.06 USD/h", "notice": "2 min",
                    "provisioning": "90 s", "billing": {{"granularity": "1 s"}}}},
        "replay": ["on_demand", "uniform_progress+daly_checkpoint",
                   "cheapest_zone+uniform_progress+daly_checkpoint",
                   "cheapest_region_net+daly_checkpoint"]}})",
                    zones),
        *data / "normalized" / "six_zones.json");
    const auto usd = mean_usd(scenario, {1});
    // Measured: 147.19, 150.65, 91.50 and 60.67 USD.
    CHECK(usd.at("cheapest_region_net+daly") <
          0.75 * usd.at("cheapest_zone+uniform_progress+daly"));
    CHECK(usd.at("cheapest_zone+uniform_progress+daly") < 0.75 * usd.at("uniform_progress+daly"));
    CHECK(usd.at("cheapest_region_net+daly") < 0.5 * usd.at("on_demand"));
}
