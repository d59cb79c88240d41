// placed_jobs_test.cpp — which machines jobs of a scenario of steps get: workers and servers.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <vector>

#include "scenarios/reader/step_scenario.hpp"
#include "sim/step/step_run.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

std::string server_job(std::string_view name, std::string_view keys) {
    return fmt::format(R"({{"name": "{}", "model": "resnet50", "batch": 32,
                            "compute": {{"fixed": "90 ms"}}, "steps": 3,
                            "variable_update": "parameter_server", {}}})",
                       name, keys);
}

scenarios::StepScenario jobs_on(std::string_view machine, std::int32_t count,
                                std::initializer_list<std::string> jobs) {
    std::string list;
    for (const std::string& job : jobs) list += (list.empty() ? "" : ", ") + job;
    return scenarios::step_scenario_from_text(fmt::format(R"({{"name": "placed", "seed": 1,
                         "cluster": {{"machine": "{}", "count": {}}}, "jobs": [{}]}})",
                                                          machine, count, list),
                                              "placed.json");
}

std::vector<std::uint32_t> machines_of(const scenarios::StepScenario& scenario,
                                       const std::vector<sim::DeviceId>& devices) {
    std::vector<std::uint32_t> machines;
    for (const sim::DeviceId device : devices) {
        machines.push_back(static_cast<std::uint32_t>(scenario.topology.device(device).machine));
    }
    return machines;
}

using Machines = std::vector<std::uint32_t>;
constexpr std::string_view one_server = R"("servers": {"count": 1, "separate": true})";

}  // namespace

TEST_CASE("separate servers: no other job has their machines", "[scenario]") {
    const std::string two = fmt::format(R"("workers": 2, {})", one_server);
    const auto both = jobs_on("p3.2xlarge", 6, {server_job("a", two), server_job("b", two)});
    CHECK(machines_of(both, both.jobs[0].job.workers) == Machines{0, 1});
    CHECK(machines_of(both, both.jobs[0].job.servers) == Machines{5});
    CHECK(machines_of(both, both.jobs[1].job.workers) == Machines{2, 3});
    CHECK(machines_of(both, both.jobs[1].job.servers) == Machines{4});
    const auto alone = jobs_on("p3.2xlarge", 6, {server_job("a", two)});
    const auto step_of = [](const scenarios::StepScenario& scenario) {
        std::vector<sim::StepJob> jobs;
        for (const scenarios::StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
        return sim::run_steps(scenario.topology, jobs, {}, {scenario.seed, 0})[0].steps.back().end;
    };
    CHECK(step_of(both) == step_of(alone));

    const std::string rest = R"({"model": "resnet50", "batch": 32})";
    const auto all = jobs_on("p3.2xlarge", 6, {server_job("a", two), rest});
    CHECK(machines_of(all, all.jobs[1].job.workers) == Machines{2, 3, 4});
}

TEST_CASE("separate servers: machines with workers of others are none", "[scenario]") {
    const std::string first = R"({"model": "resnet50", "batch": 32, "machines": [2]})";
    const std::string two = fmt::format(R"("workers": 2, {})", one_server);
    const auto later = jobs_on("dgx_h100", 3, {first, server_job("a", two)});
    CHECK(machines_of(later, later.jobs[1].job.servers) == Machines{1});
    const auto complaint = [&](std::string_view machines, std::string_view other) {
        const std::string named = fmt::format(R"("machines": {}, {})", machines, one_server);
        return complaint_of([&] {
            jobs_on("dgx_h100", 3, {std::string(other), server_job("a", named)});
        });
    };
    CHECK(complaint("[0, 2]", first) ==
          "placed.json: at /jobs/1/servers/separate: machine 2 has workers of another job");
    // With "machines" the last of them is the server's, and the rest of it is nobody's.
    const std::string named = fmt::format(R"("machines": [1, 0, 1, 2], {})", one_server);
    const std::string rest = R"({"model": "resnet50", "batch": 32, "collective": "ring"})";
    const auto listed = jobs_on("dgx_h100", 3, {server_job("a", named), rest});
    CHECK(machines_of(listed, listed.jobs[0].job.servers) == Machines{2});
    CHECK(listed.jobs[0].job.workers.size() == 3);
    CHECK(listed.jobs[1].job.workers.size() == 13);
}

TEST_CASE("placed jobs: a machine that is full, or not there, is named with its place",
          "[scenario]") {
    const std::string first = R"({"model": "resnet50", "batch": 32, "machines": [1, 1, 1]})";
    const auto complaint = [&](const char* machines) {
        const std::string second = fmt::format(
            R"({{"name": "b", "model": "resnet50", "batch": 32, "machines": {}}})", machines);
        return complaint_of([&] { jobs_on("dgx_h100", 2, {first, second}); });
    };
    CHECK(complaint("[0, 0, 0, 0, 0, 0, 0, 0]") == "(no complaint)");
    CHECK(complaint("[0, 0, 0, 0, 0, 0, 0, 0, 0]") ==
          "placed.json: at /jobs/1/machines/8: expected as many of machine 0 as it has workers "
          "that no other job has, 8, found 0 once more");
    CHECK(complaint("[1, 1, 0, 1, 1, 1, 1]") ==
          "placed.json: at /jobs/1/machines/6: expected as many of machine 1 as it has workers "
          "that no other job has, 5, found 1 once more");
    CHECK(complaint("[0, 2]") ==
          "placed.json: at /jobs/1/machines/1: expected the number of a machine, 0 to 1, found 2");
    CHECK(complaint("[0.5]") ==
          "placed.json: at /jobs/1/machines/0: expected the number of a machine, 0 to 1, found "
          "0.5");
}

TEST_CASE("workers stand by machine, unless the order of ranks has a meaning", "[scenario]") {
    const auto job = [](std::string_view machines, std::string_view keys) {
        return fmt::format(
            R"({{"model": "resnet50", "batch": 32, "machines": {}, "steps": 3{}{}}})", machines,
            keys.empty() ? "" : ", ", keys);
    };
    const auto step_of = [&](std::string_view machines, std::string_view keys) {
        const auto scenario = jobs_on("dgx_h100", 2, {job(machines, keys)});
        const sim::StepJob& one = scenario.jobs[0].job;
        return sim::run_steps(scenario.topology, std::span(&one, 1), {}, {1, 0})[0]
            .steps.back()
            .end;
    };
    constexpr std::string_view together = "[0, 0, 0, 0, 1, 1, 1, 1]";
    for (const std::string_view keys :
         {"", R"("collective": "nccl")", R"("collective": "cheapest")",
          R"("collective": "hierarchical")", R"("collective": "dimension_search")"}) {
        CAPTURE(keys);
        CHECK(step_of(together, keys) == step_of("[0, 1, 0, 1, 0, 1, 0, 1]", keys));
        CHECK(step_of(together, keys) == step_of("[0, 0, 1, 1, 1, 1, 0, 0]", keys));
    }
    const auto placed = [&](std::string_view keys) {
        const auto scenario = jobs_on("dgx_h100", 2, {job("[1, 0, 1, 0]", keys)});
        return machines_of(scenario, scenario.jobs[0].job.workers);
    };
    CHECK(placed("") == Machines{1, 1, 0, 0});
    CHECK(placed(R"("collective": "ring")") == Machines{1, 0, 1, 0});
    CHECK(placed(R"("collective": "double_binary_tree")") == Machines{1, 0, 1, 0});
    CHECK(placed(R"("layout": {"data": 4, "shard": "optimiser"})") == Machines{1, 0, 1, 0});
}

}  // namespace ukemi
