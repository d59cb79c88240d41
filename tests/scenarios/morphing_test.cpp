// morphing_test.cpp — pipelines cut anew as machines come and go (size/morphing_bert.json).
//
// Parcae's artifact (NSDI'24; JF-D/Parcae, liveput_res) has, for each minute of the p3 trace, the
// pair of pipelines and stages that is the fastest by its measured steps, which are the scenario's.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "base/read_file.hpp"
#include "policies/registry.hpp"
#include "records/plan_json.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "sim/job/world.hpp"
#include "tests/policies/situation.hpp"
#include "tests/recorded.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

using nlohmann::json;

scenarios::Scenario morphing(const std::vector<ConfigOverride>& overrides = {}) {
    return scenarios::read_scenario(scenario_folder / "size/morphing_bert.json", overrides);
}

}  // namespace

TEST_CASE("morphing: the policy's pairs are Parcae's, at each of 683 moments",
          "[scenario][morph_pipelines]") {
    const scenarios::Scenario scenario = morphing();
    Situation job;
    job.profile = scenario.job.profile;
    job.plan = scenario.job.plan;
    const auto policy = policy_named("morph_pipelines");
    const json recorded =
        json::parse(read_file(std::filesystem::path(UKEMI_SOURCE_DIR) /
                              "tests/data/parcae/liveput_res/bert_p3_gbs1024_mbs8.json.gz"));
    REQUIRE(recorded.size() == 683);
    std::set<std::int32_t> depths;
    for (const json& minute : recorded) {
        const json& interval = minute.at("interval");  // held before, added, removed
        job.seen.spot_held = interval.at(0).get<std::int32_t>() +
                             interval.at(1).get<std::int32_t>() -
                             interval.at(2).get<std::int32_t>();
        policies::apply(job.ask(*policy, policies::EventKind::instances_ready), job.plan);
        CAPTURE(job.seen.spot_held);
        CHECK(json::array({job.plan.layout.data, job.plan.layout.pipeline}) ==
              minute.at("throughut-opt"));  // its own spelling
        depths.insert(job.plan.layout.pipeline);
    }
    CHECK(depths.size() >= 3);
}

TEST_CASE("morphing: a run changes its depth, and is done sooner than with four stages",
          "[scenario][morph_pipelines]") {
    const scenarios::Scenario scenario = morphing();
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    std::vector<records::RunResult> runs;
    for (const auto& list : scenario.policies) {
        runs.push_back(scenarios::run_one(scenario, market, list, scenario.seed, {}).result);
    }
    REQUIRE(runs.size() == 2);
    REQUIRE(runs[0].pipelines.has_value());
    REQUIRE(runs[1].pipelines.has_value());
    CHECK(runs[0].samples_done == runs[0].samples_total);
    CHECK(runs[1].duration < runs[0].duration);
    CHECK(runs[1].pipelines->meetings > 0);
}

TEST_CASE("morphing: only depths whose steps are known can be asked for",
          "[scenario][morph_pipelines]") {
    const scenarios::Scenario scenario = morphing();
    const auto& known = scenario.job.profile.pipelines;
    REQUIRE(known.size() == 11);
    CHECK(known.front().stages == 2);
    CHECK(known.back().stages == 16);
    policies::Plan plan = scenario.job.plan;
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    const policies::Capabilities can = sim::simulated_capabilities(market.data, scenario.job);
    CHECK(can.knobs.has(policies::Knob::layout));
    plan.layout.pipeline = 16;
    CHECK(policies::refusal(can, plan).empty());
    plan.layout.pipeline = 9;
    CHECK(policies::refusal(can, plan) ==
          "pipelines of 9 stages, whose steps the simulated market does not know");
    // A decision log has both, and refuses steps of no length.
    const json logged = records::to_json(scenario.job.profile);
    CHECK(records::to_json(records::profile_from(logged)) == logged);
    CHECK(records::to_json(records::capabilities_from(records::to_json(can))) ==
          records::to_json(can));
    json spoilt = logged;
    spoilt["pipelines"][0]["steps_ns"][0] = 0;
    CHECK_THROWS_WITH(records::profile_from(spoilt), Catch::Contains("a nanosecond to a year"));
    // The step of the Plan's depth, with as many whole pipelines as the machines make up.
    plan.layout = {3, 5, 1};
    CHECK(policies::time_for(policies::rate_of(scenario.job.profile, plan, 14), 1) ==
          nanoseconds(4'706'355'000));
    plan.layout = {8, 2, 1};
    CHECK(policies::time_for(policies::rate_of(scenario.job.profile, plan, 40), 1) ==
          nanoseconds(1'928'780'000));
}

}  // namespace ukemi
