// utilisation_scenario_test.cpp — rules that look at how busy workers are, where more of them do
// not help: Or et al.'s CIFAR-10 job (MLSys'20).
#include <catch2/catch.hpp>

#include "scenarios/experiment/experiment.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

struct SizedRun {
    records::RunResult result;
    std::int32_t first = 0;
    std::int32_t last = 0;
    std::int32_t most = 0;
};

SizedRun sized_run_of(const scenarios::Scenario& scenario, std::string_view policies) {
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    const scenarios::PolicyList list =
        scenarios::parse_policies(policies, scenario, "test").front();
    scenarios::RunOptions options;
    options.timeline = true;
    SizedRun run;
    run.result = scenarios::run_one(scenario, market, list, scenario.seed, options).result;
    for (const records::TimelineRow& row : run.result.timeline) {
        if (row.workers == 0) continue;
        if (run.first == 0) run.first = row.workers;
        run.last = row.workers;
        run.most = std::max(run.most, row.workers);
    }
    return run;
}

constexpr std::string_view by_throughput = "throughput_resize+on_demand";
constexpr std::string_view by_utilisation = "utilisation_resize:0.8+on_demand";
constexpr std::string_view idle_alone = "utilisation_resize:1+on_demand";

}  // namespace

TEST_CASE("utilisation scenario: busy devices call for all machines there are, and it does not pay",
          "[scenario]") {
    for (const std::int32_t start : {4, 8, 12, 16, 20, 24}) {
        const std::vector<ConfigOverride> overrides{
            {"/cluster/count_start", fmt::format("{}", start)}};
        const scenarios::Scenario scenario = scenarios::read_scenario(
            scenario_folder / "size/autoscaling_by_utilisation.json", overrides);
        CAPTURE(start);
        const SizedRun throughput = sized_run_of(scenario, by_throughput);
        const SizedRun utilisation = sized_run_of(scenario, by_utilisation);
        const SizedRun idle = sized_run_of(scenario, idle_alone);
        const SizedRun fixed = sized_run_of(scenario, "on_demand");
        CHECK(throughput.last == 4);  // as published
        CHECK(utilisation.last == 24);
        CHECK(utilisation.first == start);
        CHECK(idle.most == start);
        CHECK(idle.last == start);
        CHECK(idle.result.plans == 0);  // never acts
        CHECK(idle.result.cost == fixed.result.cost);
        CHECK(idle.result.duration == fixed.result.duration);
        for (const SizedRun* other : {&utilisation, &idle, &fixed}) {
            if (start == 4 && other != &utilisation) continue;  // those begin where it pays
            CHECK(other->result.cost > throughput.result.cost);
        }
        CHECK(utilisation.result.cost > Dollars::of(4 * throughput.result.cost.raw()));
        CHECK(utilisation.result.duration > throughput.result.duration);
    }
}

TEST_CASE("utilisation scenario: whole steps do not say which part of them is computing",
          "[scenario]") {
    const std::vector<ConfigOverride> overrides{
        {"/policy_parameters/utilisation_resize", R"({"spawn": 4})"}};
    const scenarios::Scenario scenario = scenarios::read_scenario(
        scenario_folder / "size/autoscaling_by_utilisation.json", overrides);
    const SizedRun blind = sized_run_of(scenario, "utilisation_resize:0.8+on_demand");
    CHECK(blind.most == 12);
    CHECK(blind.result.plans == 0);
}

TEST_CASE("utilisation scenario: where a step's parts are known, computing ends below the limit",
          "[scenario]") {
    // Of 128 samples a worker computes 100 ms; combining takes 2 ms for each: with 12 workers it
    // computes 80.6 % of its step, with 13 only 79.4 %. A device is occupied all along.
    const auto text = [](std::string_view utilisation) {
        return fmt::format(R"({{"name": "parts", "seed": 1,
            "job": {{"samples": 1000000, "batch_per_worker": 128,
                     "step_time": {{"fixed": "36 ms", "per_sample": "500 us",
                                    "exchange": {{"1": "2 ms", "24": "48 ms"}}}},
                     "resize": "1 s"}},
            "cluster": {{"count_min": 1, "count_max": 24, "count_start": 2}},
            "market": {{"on_demand_price": "3 USD/h", "spot_price": "1 USD/h"}},
            "plan": {{"market": "on_demand"}},
            "policy_parameters": {{"utilisation_resize": {{"utilisation": "{}"}}}},
            "replay": ["utilisation_resize"]}})",
                           utilisation);
    };
    CHECK(sized_run_of(scenarios::scenario_from_text(text("computing"), "parts.json"),
                       "utilisation_resize")
              .last == 13);
    CHECK(sized_run_of(scenarios::scenario_from_text(text("occupied"), "parts.json"),
                       "utilisation_resize")
              .last == 24);
    CHECK_THROWS_WITH(scenarios::scenario_from_text(text("memory"), "parts.json"),
                      Catch::Contains(R"(expected one of computing, occupied, found "memory")"));
}

}  // namespace ukemi
