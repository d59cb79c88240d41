// chakra_model_test.cpp — a Chakra trace of one rank as a model: by hand, beside the same trace
// played as it is, and what is refused.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>

#include "base/rng.hpp"
#include "scenarios/reader/chakra_model.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/step/step_run.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

// A forward pass, two halves of a backward pass with a gradient each, and an update.
constexpr const char* trace = R"(
{"version": "0.0.4"}
{"id": 1, "name": "forward", "type": "COMP_NODE", "duration_micros": 100}
{"id": 2, "name": "back 2", "type": "COMP_NODE", "data_deps": [1], "duration_micros": 200}
{"id": 3, "name": "sum 2", "type": "COMM_COLL_NODE", "data_deps": [2],
 "attr": [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 400000}]}
{"id": 4, "name": "back 1", "type": "COMP_NODE", "data_deps": [2], "duration_micros": 100}
{"id": 5, "name": "sum 1", "type": "COMM_COLL_NODE", "data_deps": [4],
 "attr": [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 800000}]}
{"id": 6, "name": "update", "type": "COMP_NODE", "data_deps": [3, 5], "duration_micros": 50}
)";

scenarios::ProfiledStep step_of(const std::string& text, std::int64_t value_bytes = 4) {
    return scenarios::chakra_step(scenarios::parse_chakra(text, "t.json"), "t.json", {},
                                  value_bytes);
}

// Some nodes of a device and of its host, which often end together, and some of collectives.
std::string random_trace(RandomStream& random) {
    std::string text;
    const std::int64_t count = random.integer(4, 15);
    for (std::int64_t id = 1; id <= count; ++id) {
        std::string after;
        for (std::int64_t edges = id > 1 ? random.integer(0, 2) : 0; edges > 0; --edges) {
            after += fmt::format("{}{}", after.empty() ? "" : ", ", random.integer(1, id - 1));
        }
        const std::int64_t kind = random.integer(0, 3);
        text += fmt::format(R"({{"id": {}, "data_deps": [{}], )", id, after);
        if (kind < 3) {
            text += fmt::format(R"("type": 4, "duration_micros": {}, "attr": [{{"name":
                                   "is_cpu_op", "bool_val": {}}}]}})",
                                10 * random.integer(0, 3), kind == 2);
        } else {
            constexpr std::array<int, 3> types = {0, 2, 7};
            text += fmt::format(R"("type": 7, "attr": [{{"name": "comm_type", "int64_val": {}}},
                                   {{"name": "comm_size", "int64_val": 4096}}]}})",
                                types[static_cast<std::size_t>(random.integer(0, 2))]);
        }
        text += "\n";
    }
    return text;
}

double length_s(const std::string& job, const std::filesystem::path& folder, int machines = 4) {
    const std::string text = fmt::format(
        R"({{"name": "chakra", "seed": 1, "cluster": {{"machine": "p3.2xlarge", "count": {}}},
             "job": {{{}, "collective": "ring", "launch": {{"overhead": "0 s"}}, "steps": 1}}}})",
        machines, job);
    const auto scenario =
        scenarios::step_scenario_from_text(text, (folder / "scenario.json").string());
    const auto runs =
        sim::run_steps(scenario.topology, std::span(&scenario.jobs[0].job, 1), {}, {});
    const sim::StepRecord& step = runs.front().steps.front();
    CHECK(step.parts.total() == step.end - step.begin);
    return to_seconds(step.end - step.begin);
}

std::string refusal(const std::string& text) {
    try {
        step_of(text);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("chakra model: gradients, and when each is ready", "[chakra_model]") {
    const scenarios::ProfiledStep step = step_of(trace);
    CHECK(step.seconds == Approx(450e-6));
    CHECK(step.backward_share == Approx(400.0 / 450));
    REQUIRE(step.gradients.size() == 2);
    CHECK(step.gradients[0].elements == 100'000);
    CHECK(step.gradients[0].ready == Approx(0.75));
    CHECK(step.gradients[1].elements == 200'000);
    CHECK(step.gradients[1].ready == Approx(1));
    CHECK(step_of(trace, 2).gradients[0].elements == 200'000);
}

TEST_CASE("chakra model: a step is that of the trace itself, sums and all", "[chakra_model]") {
    const ScratchFolder scratch;
    std::ofstream(scratch.path() / "t.json") << trace;
    const double model_s = length_s(
        R"("model": {"kind": "chakra", "traces": {"8": "t.json"}}, "batch": 8,
           "buckets": {"rule": "tensors"})",
        scratch.path());
    const double played_s = length_s(R"("workload": "t.json")", scratch.path());
    CHECK(model_s == Approx(played_s).margin(2e-9));
    CHECK(model_s > 1.5e-3);  // 1.2 MB through 10 Gbit/s, one and a half times
    // Divided among replicas: as many bytes as a reduce-scatter and a gather of the update.
    const double divided_s = length_s(
        R"("model": {"kind": "chakra", "traces": {"8": "t.json"}}, "batch": 8,
           "layout": {"shard": "optimiser"}, "buckets": {"rule": "tensors"})",
        scratch.path());
    CHECK(divided_s > 1.2e-3);
    CHECK(divided_s < 1.2 * model_s);
}

TEST_CASE("chakra model: nodes that wait for what is sent first", "[chakra_model]") {
    const char* sharded = R"(
{"id": 1, "type": "COMM_COLL_NODE",
 "attr": [{"name": "comm_type", "int64_val": 2}, {"name": "comm_size", "int64_val": 4096}]}
{"id": 2, "type": "COMP_NODE", "data_deps": [1], "duration_micros": 500}
{"id": 3, "type": "COMM_COLL_NODE", "data_deps": [2],
 "attr": [{"name": "comm_type", "int64_val": 7}, {"name": "comm_size", "int64_val": 4096}]}
)";
    CHECK(step_of(sharded).seconds == Approx(500e-6));
    CHECK(step_of(sharded).backward_share == Approx(1));
    const std::string with_host = std::string(sharded) + R"(
{"id": 4, "type": "COMP_NODE", "duration_micros": 400,
 "attr": [{"name": "is_cpu_op", "bool_val": true}]})";
    CHECK(step_of(with_host).seconds == Approx(500e-6));
    // A gradient that waits for nothing that takes time.
    const scenarios::ProfiledStep early = step_of(R"(
{"id": 1, "type": "COMM_COLL_NODE", "attr": [{"name": "comm_type", "int64_val": 0},
          {"name": "comm_size", "int64_val": 8}]}
{"id": 2, "type": "COMP_NODE", "duration_micros": 20}
{"id": 3, "type": "COMM_COLL_NODE", "data_deps": [1],
 "attr": [{"name": "comm_type", "int64_val": 0},
          {"name": "comm_size", "int64_val": 8}]}
{"id": 4, "type": "COMP_NODE", "data_deps": [3], "duration_micros": 10,
 "attr": [{"name": "is_cpu_op", "bool_val": true}]})");
    CHECK(early.seconds == Approx(20e-6));
    CHECK(early.backward_share == 0);
}

TEST_CASE("chakra model: any graph takes as long as the workload does on one rank",
          "[chakra_model]") {
    const ScratchFolder scratch;
    RandomStream random(7, "chakra_model");
    int compared = 0;
    for (int round = 0; round < 200; ++round) {
        CAPTURE(round);
        std::ofstream(scratch.path() / "t.json") << random_trace(random);
        const auto length = [&](const char* job) { return length_s(job, scratch.path(), 1); };
        double model_s = 0;
        try {
            model_s = length(R"("model": {"kind": "chakra", "traces": {"8": "t.json"}}, "batch": 8,
                                "buckets": {"rule": "tensors"})");
        } catch (const InputError&) {
            continue;  // no gradient, or no time
        }
        CHECK(model_s == Approx(length(R"("workload": "t.json")")).margin(2e-9));
        ++compared;
    }
    CHECK(compared > 100);
}

TEST_CASE("chakra model: what data parallelism does not have is refused", "[chakra_model]") {
    CHECK(refusal(R"({"id": 1, "type": "COMP_NODE", "duration_micros": 5})") ==
          "t.json: expected all-reduces or reduce-scatters of gradients, found none");
    CHECK(refusal(R"({"id": 1, "type": "COMM_COLL_NODE",
                      "attr": [{"name": "comm_type", "int64_val": 0},
          {"name": "comm_size", "int64_val": 8}]})") ==
          "t.json: expected nodes that take time, found none");
    CHECK(refusal(R"({"id": 7, "name": "to 1", "type": "COMM_SEND_NODE",
                      "attr": [{"name": "comm_size", "int64_val": 8}]})") ==
          "t.json: node 7 (\"to 1\") sends a message: expected a trace of data parallelism "
          "(others are played as \"workload\")");
    CHECK(refusal(R"({"id": 1, "type": "COMP_NODE", "data_deps": [9], "duration_micros": 5})") ==
          "t.json: node 1 (\"\") waits for node 9, which is not there");
}

}  // namespace ukemi
