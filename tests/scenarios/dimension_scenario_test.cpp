// dimension_scenario_test.cpp — "collective": "dimension_search" in scenarios of steps and in
// replays' step times.
#include <catch2/catch.hpp>

#include "scenarios/reader/simulated_steps.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

const std::filesystem::path ddl_scenario = scenario_folder / "steps" / "powerai_ddl.json";

scenarios::StepScenario ddl_of(std::vector<ConfigOverride> overrides) {
    return scenarios::read_step_scenario(ddl_scenario, overrides);
}

double first_step_s(const scenarios::StepScenario& scenario) {
    const sim::StepJob& job = scenario.jobs.front().job;
    const auto result = sim::run_steps(scenario.topology, std::span(&job, 1), {}, {}).front();
    return to_seconds(result.steps.front().end - result.steps.front().begin);
}

}  // namespace

TEST_CASE("dimension scenario: the fastest grid is taken, and the next ones are named",
          "[scenario]") {
    const ConfigOverride small{"/job/buckets", R"({"rule": "filled", "size": "1 MiB"})", "--set"};
    const auto searched = ddl_of({{"/cluster/count", "8", "--set"}, small});
    const scenarios::StepJobEntry& entry = searched.jobs.front();
    CHECK(entry.searched);
    CHECK(kernels::ranks_of(entry.job.axes) == 32);
    CHECK_THAT(entry.why, Catch::Contains("GPUs (") &&
                              Catch::Contains(" ms alone, of 2.921 MB; ") &&
                              Catch::Contains("by name, ") && Catch::Contains("grids played"));
    const auto ring =
        ddl_of({{"/cluster/count", "8", "--set"}, {"/job/collective", "ring", "--set"}, small});
    CHECK(first_step_s(searched) < first_step_s(ring));
}

TEST_CASE("dimension scenario: where flat wins, it is said and taken", "[scenario]") {
    const auto scenario =
        ddl_of({{"/cluster/count", "4", "--set"}, {"/job/buckets", R"({"rule": "one"})", "--set"}});
    const scenarios::StepJobEntry& entry = scenario.jobs.front();
    CHECK(entry.job.axes.empty());
    CHECK(entry.job.collective == policies::Collective::ring);
    CHECK_THAT(entry.why, Catch::StartsWith("no dimensions are faster than ring "));
}

TEST_CASE("dimension scenario: a replay's step times search for each size of its group",
          "[simulated_steps]") {
    const std::vector<std::int64_t> batches = {32};
    const policies::StepTime time = scenarios::simulated_steps(ddl_scenario, batches, 2);
    REQUIRE(time.groups.size() == 2);
    const auto two = ddl_of({{"/job/workers", "8", "--set"}});
    CHECK(to_seconds(time.groups[1].steps.front().time) == Approx(first_step_s(two)));
}

TEST_CASE("dimension scenario: replicas that divide parameters go in rings", "[scenario]") {
    CHECK_THROWS_WITH(
        ddl_of({{"/cluster/count", "4", "--set"},
                {"/job/model", "gpt2", "--set"},
                {"/job/batch", "1", "--set"},
                {"/job/layout", R"({"shard": "gradients"})", "--set"}}),
        Catch::Contains("at /job/collective: replicas that divide what they hold (\"shard\") send "
                        "in rings: expected ring or nccl"));
}

}  // namespace ukemi
