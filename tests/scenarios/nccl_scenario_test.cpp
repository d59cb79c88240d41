// nccl_scenario_test.cpp — "collective": "nccl" in scenarios of steps and in replays' step times.
#include <catch2/catch.hpp>
#include <fstream>

#include "scenarios/reader/simulated_steps.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

constexpr std::string_view text = R"({
  "name": "nccl", "seed": 1, "cluster": {"machine": "dgx_h100", "count": 2},
  "job": {"model": "bert_large", "batch": 8, "precision": "bf16", "collective": "nccl", "steps": 3}
})";

// All gradients at once, after the whole backward pass, so that a step is a sum.
constexpr std::string_view in_one = R"({
  "name": "one", "seed": 1, "cluster": {"machine": "dgx_a100", "count": 2},
  "job": {"model": "resnet50", "batch": 8, "collective": "nccl", "steps": 3,
          "buckets": {"rule": "one"}, "launch": {"rule": "in_order", "overhead": "0 s"}}
})";

double step_s(const scenarios::StepScenario& scenario) {
    const std::vector<sim::StepJob> jobs = {scenario.jobs.front().job};
    const auto steps = sim::run_steps(scenario.topology, jobs, {}, {}).front().steps;
    return to_seconds(steps.back().end - steps.back().begin);
}

}  // namespace

TEST_CASE("nccl scenario: a step waits for what NCCL takes", "[scenario]") {
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(in_one, "one.json");
    const sim::StepJob& job = scenario.jobs.front().job;
    CHECK(job.nccl);
    sim::Routes routes(scenario.topology);
    const sim::NcclPlace place = sim::nccl_place(scenario.topology, routes, job.workers, 8, "test");
    const Bytes gradients = bytes(4 * std::int64_t{25'557'032});
    const double exchange = sim::nccl_seconds(place, sim::nccl_choice(place, gradients), gradients);
    CHECK(step_s(scenario) == Approx(to_seconds(job.compute.front()) + exchange).epsilon(1e-6));
}

TEST_CASE("nccl scenario: it says what is picked, and with which rates", "[scenario]") {
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(text, "n.json");
    const std::string& why = scenario.jobs.front().why;
    CHECK_THAT(why, Catch::Contains("NVLSTree/Simple for 21 messages"));
    CHECK_THAT(why, Catch::Contains("InfiniBand or RoCE at 0.96"));
    const std::vector<ConfigOverride> slow = {{"/efficiency", R"({"network": 0.1})", "--set"}};
    const scenarios::StepScenario slower = scenarios::step_scenario_from_text(text, "n.json", slow);
    CHECK_THAT(slower.jobs.front().why, Catch::Contains("at 0.1 (efficiency)"));
    CHECK(step_s(slower) > 1.5 * step_s(scenario));
}

TEST_CASE("nccl scenario: what NCCL cannot do is refused with its place", "[scenario]") {
    const std::vector<ConfigOverride> unequal = {{"/job/workers", "12", "--set"}};
    CHECK_THROWS_WITH(
        scenarios::step_scenario_from_text(text, "n.json", unequal),
        "n.json: at /job/collective: nccl needs two workers, as many on each machine");
    const std::vector<ConfigOverride> amd = {{"/cluster/machine", "mi300x_8", "--set"}};
    CHECK_THROWS_WITH(scenarios::step_scenario_from_text(text, "n.json", amd),
                      "n.json: at /job/collective: nccl does not run on mi300x");
}

TEST_CASE("nccl scenario: layouts take NCCL's times for their groups, too", "[scenario]") {
    const std::vector<ConfigOverride> layout = {
        {"/job/layout", R"({"tensor": 8, "data": 2})", "--set"}};
    const scenarios::StepScenario with = scenarios::step_scenario_from_text(text, "n.json", layout);
    const std::vector<ConfigOverride> ring = {
        {"/job/layout", R"({"tensor": 8, "data": 2})", "--set"},
        {"/job/collective", "ring", "--set"}};
    const scenarios::StepScenario without =
        scenarios::step_scenario_from_text(text, "n.json", ring);
    CHECK(step_s(with) > step_s(without));  // launches and latencies of small tensor sums
}

TEST_CASE("nccl scenario: a replay's step times come from it", "[simulated_steps]") {
    const ScratchFolder folder;
    const auto file = folder.path() / "steps.json";
    std::ofstream(file) << in_one;
    const std::vector<std::int64_t> batches = {8};
    const policies::StepTime time = scenarios::simulated_steps(file, batches, 2, "test");
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(in_one, "one.json");
    REQUIRE(time.groups.size() == 2);
    CHECK(to_seconds(time.groups.back().steps.front().time) ==
          Approx(step_s(scenario)).epsilon(1e-4));
}

}  // namespace ukemi
