// step_scenario_test.cpp — scenarios of steps: the shipped ones, what is refused and how.
#include "scenarios/step_scenario.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>

namespace ukemi {

namespace {

constexpr std::string_view small = R"({
  "name": "small",
  "seed": 1,
  "cluster": {"machine": "p3.2xlarge", "count": 4},
  "job": {
    "model": "resnet50", "batch": 32, "collective": "ring", "steps": 3,
    "launch": {}, "buckets": {}, "stragglers": {}, "input": {"rate": "1000 samples/s"}
  },
  "cross_traffic": [{"from": 0, "to": 1}]
})";

std::string complaint_about(const std::string& pointer, const std::string& value) {
    const std::vector<ConfigOverride> overrides = {{pointer, value, "--set"}};
    try {
        step_scenario_from_text(small, "small.json", overrides);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("step scenario: the shipped ones are right, complete and read back alike", "[scenario]") {
    std::size_t count = 0;
    const auto folder = std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios" / "steps";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path());
        const StepScenario scenario = read_step_scenario(entry.path());
        CHECK(scenario.name == entry.path().stem().string());
        const StepScenario again = step_scenario_from_text(scenario.resolved, entry.path());
        CHECK(again.resolved == scenario.resolved);
        CHECK(again.jobs.size() == scenario.jobs.size());
        ++count;
    }
    CHECK(count >= 1);
}

TEST_CASE("step scenario: shared_switches slows both of its jobs", "[scenario]") {
    const StepScenario scenario = read_step_scenario(std::filesystem::path(UKEMI_SOURCE_DIR) /
                                                     "scenarios/steps/shared_switches.json");
    std::vector<StepJob> jobs;
    for (const StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
    REQUIRE(jobs.size() == 2);
    for (StepJob& job : jobs) job.steps = 3;
    const auto both = run_steps(scenario.topology, jobs, {}, {1, 0});
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const auto alone = run_steps(scenario.topology, std::span(&jobs[j], 1), {}, {1, 0});
        CHECK(both[j].steps.front().parts.sending > alone[0].steps.front().parts.sending);
        CHECK(both[j].steps.front().parts.compute == alone[0].steps.front().parts.compute);
    }
}

TEST_CASE("step scenario: what it says is what runs", "[scenario]") {
    const StepScenario scenario = step_scenario_from_text(small, "small.json");
    REQUIRE(scenario.jobs.size() == 1);
    const StepJobEntry& entry = scenario.jobs[0];
    CHECK(entry.job.name == "resnet50");
    CHECK(entry.job.workers.size() == 4);
    CHECK(entry.job.samples_per_step() == 128);
    CHECK(entry.job.collective == Collective::ring);
    CHECK(entry.why.empty());
    CHECK(entry.gpus == "v100_sxm2_16gb");
    CHECK(entry.gradient == bytes(4 * 25'557'032));
    CHECK(entry.job.input.samples_per_second == 1000);
    // Gavel's fit: 42.4 ms and 2.81 ms an image.
    CHECK(entry.job.compute.front() == nanoseconds(42'400'000 + 32 * 2'810'000));
    CHECK(scenario.warm_up == 2);
    CHECK(scenario.cross_traffic.size() == 1);
    const std::vector<ConfigOverride> automatic = {{"/job/collective", "automatic", "--set"}};
    const StepScenario chosen = step_scenario_from_text(small, "small.json", automatic);
    CHECK_THAT(chosen.jobs[0].why, Catch::Contains("ms alone; "));
}

TEST_CASE("step scenario: what is wrong is refused with its place", "[scenario]") {
    struct Wrong {
        const char* pointer;
        const char* value;
        const char* complaint;
    };
    const Wrong wrong[] = {
        {"/cluster/machine", "p3.2xlrge",
         ": at /cluster/machine: there is no machine \"p3.2xlrge\" (did you mean "
         "\"p3.2xlarge\"?)"},
        {"/cluster/machine", "cpu_16_core",
         ": at /job: expected machines with GPUs, found cpu_16_core without"},
        {"/job/model", "resnet5",
         ": at /job/model: there is no model \"resnet5\" (did you mean \"resnet56\"?)"},
        {"/job/workers", "5",
         ": at /job/workers: expected at most 4, the workers of the cluster that no other job "
         "has, found 5"},
        {"/job/workers", "0", ": at /job/workers: expected an integer from 1 to 1048576, found 0"},
        {"/job/collective", "rign",
         ": at /job/collective: expected one of automatic, ring, binary_tree, "
         "double_binary_tree, halving_doubling, star, clique, binary_tree_star, "
         "multi_binary_tree_star, hierarchical, parameter_server, found \"rign\" (did you mean "
         "\"ring\"?)"},
        {"/job/codec", "fp16", ": at /job/codec: expected one of none, found \"fp16\""},
        {"/job/precision", "bf16", ": at /job/precision: v100_sxm2_16gb has no bf16 arithmetic"},
        {"/job/buckets/rule", "fixed",
         ": at /job/buckets/rule: expected one of one, tensors, filled, chunks, found \"fixed\" "
         "(did you mean \"filled\"?)"},
        {"/job/buckets/size", "10 B",
         ": at /job/buckets/size: expected at least 1024 bytes, found 10"},
        {"/job/launch/cycle", "1 ms", ": at /job/launch: unknown key \"cycle\""},
        {"/job/launch/overhead", "2 h", ": at /job/launch/overhead: expected at most 1 h"},
        {"/job/stragglers/independent", "5",
         ": at /job/stragglers/independent: expected a number from 0 to 4, found 5"},
        {"/job/input/rate", "10 images/s",
         ": at /job/input/rate: expected a rate above 0 such as \"120 samples/s\", found \"10 "
         "images/s\""},
        {"/job/steps", "0", ": at /job/steps: expected an integer from 1 to 100000, found 0"},
        {"/job/compute", "{\"fixed\": \"0 s\"}", ": at /job/compute: no step would take any time"},
        {"/cross_traffic/0/to", "0",
         ": at /cross_traffic/0/to: expected another machine than \"from\""},
        {"/cross_traffic/0/to", "4",
         ": at /cross_traffic/0/to: expected an integer from 0 to 3, found 4"},
        {"/warm_up", "3", ": at /warm_up: expected an integer from 0 to 2, found 3"},
        {"/jobs", "[]", ": at /: expected either \"job\" or \"jobs\" (a list), found both"},
        {"/market", "{}", ": at /: unknown key \"market\""},
    };
    for (const Wrong& each : wrong) {
        CAPTURE(each.pointer, each.value);
        CHECK(complaint_about(each.pointer, each.value) ==
              fmt::format("small.json{}", each.complaint));
    }
}

TEST_CASE("step scenario: machines with unequal numbers of workers have no hierarchy",
          "[scenario]") {
    constexpr std::string_view text = R"({
      "name": "unequal", "seed": 1, "cluster": {"machine": "dgx1_v100", "count": 2},
      "job": {"model": "resnet50", "batch": 32, "workers": 12, "collective": "hierarchical"}
    })";
    CHECK_THROWS_WITH(step_scenario_from_text(text, "unequal.json"),
                      "unequal.json: at /job/collective: hierarchical needs as many workers on "
                      "each machine");
    const std::vector<ConfigOverride> automatic = {{"/job/collective", "automatic", "--set"}};
    CHECK_NOTHROW(step_scenario_from_text(text, "unequal.json", automatic));
}

TEST_CASE("step scenario: a batch that does not fit is refused with the bytes", "[scenario]") {
    const std::string complaint = complaint_about("/job/batch", "1000");
    CHECK_THAT(complaint, Catch::StartsWith("small.json: at /job/batch: ") &&
                              Catch::Contains("bytes") && Catch::Contains("v100_sxm2_16gb"));
}

}  // namespace ukemi
