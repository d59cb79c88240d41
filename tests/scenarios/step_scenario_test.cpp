// step_scenario_test.cpp — scenarios of steps: the shipped ones, what is refused and how.
#include "scenarios/reader/step_scenario.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "scenarios/reader/scenario.hpp"

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
        scenarios::step_scenario_from_text(small, "small.json", overrides);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

// Of `small` with one value changed.
struct Wrong {
    const char* pointer;
    const char* value;
    const char* complaint;
};
constexpr Wrong wrong[] = {
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
     ": at /job/collective: expected one of cheapest, ring, binary_tree, "
     "double_binary_tree, halving_doubling, star, clique, binary_tree_star, "
     "multi_binary_tree_star, hierarchical, parameter_server, nccl, dimension_search, found "
     "\"rign\" "
     "(did you mean \"ring\"?)"},
    {"/job/codec", "fp8",
     ": at /job/codec: expected one of none, fp16, qsgd, terngrad, sign, top_k, random_k, "
     "power_sgd, atomo, qsgd_shared, terngrad_shared, sign_reduced, scaled_sign, top_k_agreed, "
     "found \"fp8\""},
    {"/job/precision", "bf16", ": at /job/precision: v100_sxm2_16gb has no bf16 arithmetic"},
    {"/job/batch_norm", "global",
     ": at /job/batch_norm: expected one of local, synchronised, found \"global\" (did you "
     "mean \"local\"?)"},
    {"/job/layout", "{\"tensor\": 3}",
     ": at /job/layout/data: expected tensor x pipeline x data to be the 4 workers, found 3 x "
     "1 x 1"},
    {"/job/layout", "{\"tensr\": 2, \"data\": 2}",
     ": at /job/layout: unknown key \"tensr\" (did you mean \"tensor\"?)\nsmall.json: at "
     "/job/layout/data: expected tensor x pipeline x data to be the 4 workers, found 1 x 1 x 2"},
    {"/job/layout", "{\"pipeline\": 2}",
     ": at /job/layout: only transformers are cut or computed again, and resnet50 is none"},
    {"/job/layout", "{\"chunks\": 2}",
     ": at /job/layout: only an interleaved pipeline has chunks, found 2"},
    {"/job/layout", "{\"schedule\": \"1f1b\"}",
     ": at /job/layout/schedule: expected one of gpipe, one_forward_one_backward, "
     "interleaved, zero_bubble, dual_pipe, found \"1f1b\""},
    {"/job/compute", "{\"table\": {\"many\": \"1 s\"}}",
     ": at /job/compute/table/many: expected a batch as key, an integer of at least 1 "
     "without a 0 before it"},
    {"/job/compute", "{\"table\": {}}",
     ": at /job/compute: expected a table of at least one batch"},
    {"/job/compute", "{\"arithmetic_share\": 2}",
     ": at /job/compute/arithmetic_share: expected a number from 0.001 to 1, found 2"},
    {"/job/buckets/rule", "fixed",
     ": at /job/buckets/rule: expected one of one, tensors, filled, chunks, found \"fixed\" "
     "(did you mean \"filled\"?)"},
    {"/job/buckets/size", "10 B", ": at /job/buckets/size: expected at least 1024 bytes, found 10"},
    {"/job/launch/cycle", "1 ms", ": at /job/launch/cycle: goes with \"rule\": \"coordinated\""},
    {"/job/buckets", R"({"rule": "tensors", "size": "2 MB"})",
     ": at /job/buckets/size: goes with \"rule\": \"filled\" or \"chunks\""},
    {"/job/buckets", R"({"rule": "chunks", "first": "2 MB"})",
     ": at /job/buckets/first: goes with \"rule\": \"filled\""},
    {"/job/launch/overhead", "2 h", ": at /job/launch/overhead: expected at most 1 h"},
    {"/job/launch", R"({"rule": "coordinated", "request": "2 ms"})",
     ": at /job/launch/request: expected at most 1 ms"},
    {"/job/launch", R"({"rule": "coordinated", "request_bytes": "2 MiB"})",
     ": at /job/launch/request_bytes: expected at most 1 MiB"},
    {"/job", R"({"model": "resnet50", "batch": 8, "transport": {"jitter": "2 s"}})",
     ": at /job/transport/jitter: expected at most 1 s"},
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
    {"/fidelity", "rough",
     ": at /fidelity: expected one of automatic, exact, fluid, found \"rough\""},
    {"/window_chunks", "-1",
     ": at /window_chunks: expected an integer from 0 to 1000000, found -1"},
    {"/jobs", "[]", ": at /: expected either \"job\" or \"jobs\" (a list), found both"},
    {"/market", "{}", ": at /: unknown key \"market\""},
};

}  // namespace

TEST_CASE("step scenario: fp8 changes kernels of transformers alone", "[scenario]") {
    constexpr std::string_view image = R"({
        "name": "image", "seed": 1, "cluster": {"machine": "dgx_h100", "count": 1},
        "job": {"model": "vgg16", "batch": 8, "workers": 1, "compute": {"kernels": {}},
                "precision": "fp8"}})";
    CHECK_THROWS_WITH(scenarios::step_scenario_from_text(image, "image.json"),
                      "image.json: at /job/precision: kernels in fp8 are known of transformers: "
                      "expected bf16");
}

TEST_CASE("step scenario: wrong steps are not complained of at warm_up, too", "[scenario]") {
    const auto complaint_of = [](const char* keys) {
        const std::string text = fmt::format(
            R"({{"name": "a", "seed": 1, "cluster": {{"machine": "p3.2xlarge", "count": 2}},
                 "job": {{"model": "resnet50", "batch": 8, {}}}, "warm_up": 2}})",
            keys);
        try {
            scenarios::step_scenario_from_text(text, "a.json");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(complaint_of(R"("steps": 0)") ==
          "a.json: at /job/steps: expected an integer from 1 to 100000, found 0");
    CHECK(complaint_of(R"("steps": 2)") ==
          "a.json: at /warm_up: expected an integer from 0 to 1, found 2");
    CHECK(complaint_of(R"("steps": 3)").empty());
}

// One GPU with kernels or a roofline, whose update is told apart from its passes.
TEST_CASE("step scenario: parameters are updated once a step, not with every micro-batch",
          "[scenario]") {
    const char* const compute = GENERATE(R"({"kernels": {}})", R"({"arithmetic_share": 0.5})");
    const auto scenario_of = [&](int accumulation, const char* rest) {
        const std::string text = fmt::format(
            R"({{"name": "update", "seed": 1, "cluster": {{"machine": "dgx_h100", "count": 1}},
                 "job": {{"model": {{"kind": "transformer", "name": "m", "layers": 4,
                     "hidden": 1024, "heads": 16, "vocabulary": 32000, "sequence": 512}},
                     "batch": 4, "accumulation": {}, "precision": "bf16", "steps": 1,
                     "optimiser_state": "adam", "compute": {}, {}}}}})",
            accumulation, compute, rest);
        return scenarios::step_scenario_from_text(text, "update.json");
    };
    const auto step = [&](int accumulation, const char* rest = R"("workers": 1)") {
        const scenarios::StepScenario scenario = scenario_of(accumulation, rest);
        const std::vector<sim::StepJob> jobs = {scenario.jobs.front().job};
        return sim::run_steps(scenario.topology, jobs, {}, {}).front().steps.front();
    };
    const auto job_of = [&](int accumulation) {
        return scenario_of(accumulation, R"("workers": 1)").jobs.front().job;
    };
    for (const int accumulation : {1, 2, 8}) {  // where several gradients are added up, each longer
        const Duration pass = job_of(accumulation).compute.front();
        const Duration update = job_of(accumulation).longest_update();
        REQUIRE(10 * update > pass);
        const sim::StepRecord record = step(accumulation);
        CAPTURE(compute, accumulation, pass.raw(), update.raw());
        CHECK((record.end - record.begin).raw() == (accumulation * pass + update).raw());
        CHECK(record.parts.compute == record.end - record.begin);
    }
    CHECK(job_of(2).compute == job_of(8).compute);
    const Duration pass = job_of(1).compute.front();
    // Two learners in turn, each with parameters of its own.
    const char* in_turn = R"("workers": 1, "learners": {"count": 2, "sharing": "in_turn"})";
    for (const int accumulation : {1, 8}) {
        const sim::StepRecord one = step(accumulation);
        const sim::StepRecord two = step(accumulation, in_turn);
        CHECK((two.end - two.begin).raw() ==
              Approx(static_cast<double>(2 * (one.end - one.begin).raw())).epsilon(1e-6));
    }
    // Nothing of it is forward: a validation takes the forward share of a pass.
    const char* validated = R"("workers": 1, "validation": {"every": 1, "samples": 4})";
    CHECK(to_seconds(step(1, validated).parts.validation) ==
          Approx(to_seconds(pass) * job_of(1).forward_share).epsilon(1e-6));
    // And it hides nothing of what is sent, as in a layout.
    const char* ring = R"("workers": 8, "collective": "ring")";
    const char* again = R"("workers": 8, "collective": "ring",
                           "layout": {"recompute_blocks": 1, "recompute": true})";
    const sim::StepRecord plain = step(1, ring);
    CHECK(plain.end - plain.begin >= pass + job_of(1).longest_update());
    CHECK(plain.end - plain.begin < step(1, again).end - step(1, again).begin);
}

TEST_CASE("step scenario: the shipped ones are right, complete and read back alike", "[scenario]") {
    std::size_t count = 0;
    const auto folder = std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios" / "steps";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path());
        const scenarios::StepScenario scenario = scenarios::read_step_scenario(entry.path());
        CHECK(scenario.name == entry.path().stem().string());
        const scenarios::StepScenario again =
            scenarios::step_scenario_from_text(scenario.resolved, entry.path());
        CHECK(again.resolved == scenario.resolved);
        CHECK(again.jobs.size() == scenario.jobs.size());
        ++count;
    }
    CHECK(count >= 1);
}

TEST_CASE("step scenario: shared_switches slows both of its jobs", "[scenario]") {
    const scenarios::StepScenario scenario = scenarios::read_step_scenario(
        std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/steps/shared_switches.json");
    std::vector<sim::StepJob> jobs;
    for (const scenarios::StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
    REQUIRE(jobs.size() == 2);
    for (sim::StepJob& job : jobs) job.steps = 3;
    const auto both = sim::run_steps(scenario.topology, jobs, {}, {1, 0});
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const auto alone = sim::run_steps(scenario.topology, std::span(&jobs[j], 1), {}, {1, 0});
        CHECK(both[j].steps.front().parts.sending > alone[0].steps.front().parts.sending);
        CHECK(both[j].steps.front().parts.compute == alone[0].steps.front().parts.compute);
    }
}

TEST_CASE("step scenario: what it says is what runs", "[scenario]") {
    const scenarios::StepScenario scenario =
        scenarios::step_scenario_from_text(small, "small.json");
    REQUIRE(scenario.jobs.size() == 1);
    const scenarios::StepJobEntry& entry = scenario.jobs[0];
    CHECK(entry.job.name == "resnet50");
    CHECK(entry.job.workers.size() == 4);
    CHECK(entry.job.samples_per_step() == 128);
    CHECK(entry.job.collective == policies::Collective::ring);
    CHECK(entry.why.empty());
    CHECK(entry.gpus == "v100_sxm2_16gb");
    CHECK(entry.gradient == bytes(4 * 25'557'032));
    CHECK(entry.job.input.samples_per_second == 1000);
    // Gavel's fit: 42.4 ms and 2.81 ms an image.
    CHECK(entry.job.compute.front() == nanoseconds(42'400'000 + 32 * 2'810'000));
    CHECK(scenario.warm_up == 2);
    CHECK(scenario.cross_traffic.size() == 1);
    const std::vector<ConfigOverride> cheapest = {{"/job/collective", "cheapest", "--set"}};
    const scenarios::StepScenario chosen =
        scenarios::step_scenario_from_text(small, "small.json", cheapest);
    CHECK_THAT(chosen.jobs[0].why, Catch::Contains("ms alone; "));
}

TEST_CASE("step scenario: compute times of each form of a curve", "[scenario]") {
    const auto computing = [](const char* compute) {
        const std::vector<ConfigOverride> overrides = {{"/job/compute", compute, "--set"}};
        return scenarios::step_scenario_from_text(small, "small.json", overrides)
            .jobs[0]
            .job.compute[0];
    };
    CHECK(computing(R"({"fixed": "10 ms", "per_sample": "2 ms"})") == milliseconds(74));
    CHECK(computing(R"({"floor": "80 ms", "fixed": "10 ms", "per_sample": "2 ms"})") ==
          milliseconds(80));
    CHECK(computing(R"({"table": {"8": "30 ms", "16": "50 ms", "64": "146 ms"}})") ==
          milliseconds(82));
    CHECK(computing(R"({"arithmetic_share": 0.5})") > computing(R"({"arithmetic_share": 0.7})"));
}

TEST_CASE("step scenario: what is wrong is refused with its place", "[scenario]") {
    for (const Wrong& each : wrong) {
        CAPTURE(each.pointer, each.value);
        CHECK(complaint_about(each.pointer, each.value) ==
              fmt::format("small.json{}", each.complaint));
    }
}

TEST_CASE("step scenario: more machines than a topology holds are refused at their count",
          "[scenario]") {
    const std::vector<ConfigOverride> many = {{"/cluster/machine", "p4d.24xlarge", "--set"},
                                              {"/cluster/count", "65536", "--set"}};
    CHECK_THROWS_WITH(scenarios::step_scenario_from_text(small, "small.json", many),
                      Catch::StartsWith("small.json: at /cluster/count: expected fewer machines"));
}

TEST_CASE("step scenario: machines with unequal numbers of workers have no hierarchy",
          "[scenario]") {
    constexpr std::string_view text = R"({
      "name": "unequal", "seed": 1, "cluster": {"machine": "dgx1_v100", "count": 2},
      "job": {"model": "resnet50", "batch": 32, "workers": 12, "collective": "hierarchical"}
    })";
    CHECK_THROWS_WITH(scenarios::step_scenario_from_text(text, "unequal.json"),
                      "unequal.json: at /job/collective: hierarchical needs as many workers on "
                      "each machine");
    const std::vector<ConfigOverride> cheapest = {{"/job/collective", "cheapest", "--set"}};
    CHECK_NOTHROW(scenarios::step_scenario_from_text(text, "unequal.json", cheapest));
}

TEST_CASE("step scenario: Megatron-LM's 8.3 billion parameters on 512 V100 within 15 %",
          "[scenario][golden]") {
    // Shoeybi et al. 2019, table 2: 2.10 days an epoch of 68,507 iterations, 2.6485 s each. An
    // input is what one V100 reaches (39 TFLOP/s, their measurement on one GPU); all that the
    // network adds comes out of the layout. DGX-1 have a DGX-2H's network a GPU.
    const scenarios::StepScenario scenario = scenarios::read_step_scenario(
        std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/steps/megatron_8b.json");
    const std::vector<sim::StepJob> jobs = {scenario.jobs.at(0).job};
    CHECK(jobs[0].samples_per_step() == 512);
    const auto results = sim::run_steps(scenario.topology, jobs, {}, {1, 0});
    const sim::StepRecord& step = results[0].steps.back();
    const double published_s = 2.10 * 86'400 / 68'507;
    const double simulated_s = to_seconds(step.end - step.begin);
    CAPTURE(simulated_s, published_s);
    CHECK(std::abs(simulated_s / published_s - 1) < 0.15);
    CHECK(simulated_s == Approx(2.782).epsilon(0.01));  // where the model stands
    CHECK(step.parts.exchange > Duration{});
    CHECK(step.parts.sending > Duration{});
    CHECK(scenario.jobs[0].memory.need.total() < mebibytes(32 * 1024));
    CHECK(scenario.jobs[0].whole.total() > mebibytes(32 * 1024));
}

TEST_CASE("step scenario: what replays of collectives wait for is what steps wait for",
          "[scenario]") {
    const auto folder = std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios";
    struct Typed {
        const char* replay;
        const char* steps;
        std::vector<std::int32_t> machines;
    };
    for (const Typed& typed :
         {Typed{"exchange/collectives.json", "four_of_eight_gpus.json", {4}},
          Typed{"exchange/collectives_by_size.json", "resnet56_in_racks.json", {4, 8, 16}}}) {
        const scenarios::Scenario replayed = scenarios::read_scenario(folder / typed.replay);
        policies::Plan plan = replayed.job.plan;
        for (const policies::ExposedCommunication& one : replayed.job.profile.communication) {
            const std::string name(
                policies::collective_names()[static_cast<std::size_t>(one.collective)]);
            plan.collective = one.collective;
            for (const std::int32_t machines : typed.machines) {
                CAPTURE(typed.replay, name, machines);
                const scenarios::StepScenario scenario = scenarios::read_step_scenario(
                    folder / "steps" / typed.steps,
                    std::vector<ConfigOverride>{
                        {"/job/collective", name, "--set"},
                        {"/cluster/count", fmt::format("{}", machines), "--set"}});
                const std::vector<sim::StepJob> jobs = {scenario.jobs.at(0).job};
                const auto results = sim::run_steps(scenario.topology, jobs, {}, {1, 0});
                const sim::StepRecord& step = results[0].steps.back();
                const Duration typed_in =
                    policies::time_for(policies::rate_of(replayed.job.profile, plan, machines), 1);
                CHECK(to_seconds(step.end - step.begin) ==
                      Approx(to_seconds(typed_in)).epsilon(1e-4));
            }
        }
    }
}

TEST_CASE("step scenario: a layout is cut, checked and run as it says", "[scenario]") {
    const auto folder = std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios" / "steps";
    const scenarios::StepScenario pipeline =
        scenarios::read_step_scenario(folder / "pipeline_layout.json");
    const scenarios::StepJobEntry& entry = pipeline.jobs.at(0);
    REQUIRE(entry.job.layout);
    CHECK(entry.job.layout->stages.size() == 12);
    CHECK(entry.job.layout->degrees.data == 2);
    CHECK(entry.job.samples_per_step() == 32);
    const auto alternating = scenarios::read_step_scenario(
        folder / "pipeline_layout.json",
        std::vector<ConfigOverride>{{"/job/layout/chunks", "1", "--set"},
                                    {"/job/layout/schedule", "gpipe", "--set"}});
    const auto length = [](const scenarios::StepScenario& scenario) {
        const sim::StepJob& job = scenario.jobs[0].job;
        const auto steps =
            sim::run_steps(scenario.topology, std::span(&job, 1), {}, {1, 0})[0].steps;
        return steps.back().end - steps.back().begin;
    };
    CHECK(length(pipeline) < length(alternating));
    CHECK(entry.memory.need.kept < alternating.jobs[0].memory.need.kept);
    const scenarios::StepScenario dense =
        scenarios::read_step_scenario(folder / "split_dense.json");
    const auto whole = scenarios::read_step_scenario(
        folder / "split_dense.json",
        std::vector<ConfigOverride>{{"/job/layout/split_dense", "false", "--set"}});
    CHECK_FALSE(whole.jobs[0].job.layout);
    CHECK(length(dense) < length(whole));
    CHECK(dense.jobs[0].memory.need.total() < whole.jobs[0].memory.need.total());
}

TEST_CASE("step scenario: parameter_servers gain by not waiting, and pay in staleness",
          "[scenario]") {
    const auto file =
        std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios" / "steps" / "parameter_servers.json";
    const auto run = [&](std::vector<ConfigOverride> overrides) {
        const scenarios::StepScenario scenario = scenarios::read_step_scenario(file, overrides);
        const sim::StepJob& job = scenario.jobs.at(0).job;
        CHECK(job.servers.size() == 4);
        CHECK(job.workers.size() == 8);
        return sim::run_steps(scenario.topology, std::span(&job, 1), {}, {scenario.seed, 0})[0];
    };
    const sim::JobSteps asynchronous = run({});
    const sim::JobSteps waiting = run({{"/job/servers/asynchronous", "false", "--set"}});
    CHECK(asynchronous.steps.back().end < waiting.steps.back().end);
    CHECK(sim::staleness_of(asynchronous.steps).sum > 0);
    CHECK(sim::staleness_of(waiting.steps).updates == 0);
}

TEST_CASE("step scenario: error feedback and a partner's model take memory", "[scenario]") {
    const auto kept = [](const std::string& job) {
        const auto scenario =
            scenarios::step_scenario_from_text(fmt::format(R"({{"name": "small", "seed": 1,
                             "cluster": {{"machine": "p3.2xlarge", "count": 4}},
                             "job": {{"model": "resnet50", "batch": 32, {}}}}})",
                                                           job),
                                               "small.json");
        const sim::MemoryNeed& need = scenario.jobs.at(0).memory.need;
        CHECK(scenario.jobs.at(0).whole.exchange == need.exchange);
        return need.exchange / need.weights;
    };
    CHECK(kept(R"("codec": "none")") == 0);
    for (const char* forgets : {"fp16", "qsgd", "terngrad", "sign", "sign_reduced", "atomo"}) {
        CHECK(kept(fmt::format(R"("codec": "{}")", forgets)) == 0);
    }
    for (const char* keeps : {"scaled_sign", "top_k", "top_k_agreed", "random_k", "power_sgd"}) {
        CHECK(kept(fmt::format(R"("codec": "{}")", keeps)) == 1);
    }
    CHECK(kept(R"("variable_update": "pair_averaging")") == 1);
    CHECK(kept(R"("variable_update": "parameter_server")") == 0);
}

TEST_CASE("step scenario: what modes of updating variables cannot have is refused", "[scenario]") {
    const auto complaint = [](const std::string& job) {
        const std::string text = fmt::format(R"({{"name": "small", "seed": 1,
                            "cluster": {{"machine": "p3.2xlarge", "count": 4}},
                            "job": {{"model": "resnet50", "batch": 32, {}}}}})",
                                             job);
        try {
            scenarios::step_scenario_from_text(text, "small.json");
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(complaint(R"("variable_update": "replicated")") ==
          "small.json: at /job/variable_update: replicated is for the workers of one machine");
    CHECK(complaint(R"("variable_update": "horovod", "servers": {})") ==
          "small.json: at /job/servers: horovod has no servers: they go with parameter_server and "
          "distributed_replicated");
    CHECK(complaint(R"("variable_update": "parameter_server",
                       "servers": {"count": 4, "separate": true})") ==
          "small.json: at /job/servers/count: expected at most 3 of the 4 machines that are left, "
          "so that one is for workers, found 4");
    CHECK(complaint(R"("variable_update": "parameter_server", "servers": {"count": 5})") ==
          "small.json: at /job/servers: expected at most one server on each of the 4 machines of "
          "the workers, found 5");
    CHECK(complaint(R"("variable_update": "distributed_replicated",
                       "servers": {"asynchronous": true})") ==
          "small.json: at /job/servers/asynchronous: distributed_replicated is synchronous: its "
          "workers sum first");
    CHECK(complaint(R"("variable_update": "parameter_server", "servers": {"asynchronous": true},
                       "input": {"rate": "100 samples/s"})") ==
          "small.json: at /job/input: workers that do not wait for each other have no common "
          "input");
    CHECK(complaint(R"("variable_update": "parameter_server", "collective": "ring")") ==
          "small.json: at /job/collective: does not go with parameter_server, which sums on "
          "servers");
    CHECK(complaint(R"("codec_rates": {"encode": "1e9 operations/s",
                                       "decode": "1e9 operations/s"})") ==
          "small.json: at /job/codec_rates: has no effect where \"codec\" is none: leave it out");
    CHECK(complaint(R"("variable_update": "parameter_server", "codec": "fp16")") ==
          "small.json: at /job/codec: fp16 rides all-reduces and all-gathers, and "
          "parameter_server has neither");
    CHECK(complaint(R"("batch_norm": "synchronised", "codec": "fp16")") ==
          "small.json: at /job/codec: fp16 is for jobs whose \"batch_norm\" is local");
    CHECK(complaint(R"("variable_update": "independent", "codec": "fp16")") ==
          "small.json: at /job/codec: there is nothing to encode: nothing is sent");
    CHECK(complaint(R"("codec": "power_sgd:1.5")") ==
          "small.json: at /job/codec: expected a whole number (rank) from 1 to 4096, found 1.5");
    CHECK(complaint(R"("codec": "power_sgd", "buckets": {"rule": "chunks"})") ==
          "small.json: at /job/codec: power_sgd takes whole tensors, and \"chunks\" cuts them");
}

TEST_CASE("step scenario: monitors cost their operations, a variance its second all-reduce, too",
          "[scenario]") {
    const auto run = [](const std::string& job) {
        const scenarios::StepScenario scenario =
            scenarios::step_scenario_from_text(fmt::format(R"({{"name": "small", "seed": 1,
                             "cluster": {{"machine": "p3.2xlarge", "count": 4}},
                             "job": {{"model": "resnet50", "batch": 32, "steps": 3, {}}}}})",
                                                           job),
                                               "small.json");
        const sim::StepJob& one = scenario.jobs.at(0).job;
        return sim::run_steps(scenario.topology, std::span(&one, 1), {}, {scenario.seed, 0})[0];
    };
    const auto ring = [](const char* monitor, const char* rule) {
        return fmt::format(R"("collective": "ring", "buckets": {{"rule": "{}"}}, "monitor": "{}")",
                           rule, monitor);
    };
    const auto end = [&](const char* monitor, const char* rule) {
        return run(ring(monitor, rule)).steps.back().end;
    };
    // A V100: 2 x 161 + 19 operations of 11.2 us keep its host longer busy than the device.
    const Duration norms = end("noise_scale", "filled") - end("none", "filled");
    CHECK(norms == 3 * seconds(341 * 11.2e-6));
    CHECK(end("noise_scale", "one") - end("none", "one") == norms);
    const std::string slow_host = R"(, "monitor_operation": "40.8 us")";
    // Of operations that take no time the device's are left, fewer than those of a codec.
    const std::string no_host = R"(, "monitor_operation": "0 s")";
    const Duration device =
        run(ring("noise_scale", "filled") + no_host).steps.back().end - end("none", "filled");
    CHECK(device > Duration{});
    CHECK(device < norms);
    CHECK(run(ring("noise_scale", "filled") + slow_host).steps.back().end - end("none", "filled") ==
          3 * seconds(341 * 40.8e-6));
    // A device that is busy for longer than that is waited for.
    const std::string fast_host = R"(, "monitor_operation": "1 ns")";
    CHECK(run(ring("noise_scale", "filled") + fast_host).steps.back().end > end("none", "filled"));
    CHECK_THROWS_WITH(run(R"("monitor_operation": "2 s")"),
                      Catch::Contains("/job/monitor_operation: expected at most 1 s"));
    // Where nothing hides behind computing, the exchange takes twice as long but for what is not
    // sent: here 71 ms by its bytes, with a part of a percent of latencies.
    const Duration plain = end("none", "one") - Instant{};
    const Duration monitored = end("gradient_variance", "one") - Instant{};
    const double sent_s = 3 * 2 * 3.0 / 4 * 25'557'032 * 4 / 1.25e9;
    const double operations_s = 3 * (8 * 161 + 1) * 11.2e-6;
    CHECK(to_seconds(monitored - plain) == Approx(sent_s + operations_s).epsilon(0.02));
    CHECK_THROWS_WITH(run(R"("monitor": "gradient_variance", "codec": "fp16")"),
                      Catch::Contains("/job/monitor: gradient_variance is for whole gradients"));
    CHECK_THROWS_WITH(run(R"("monitor": "noise_scale", "variable_update": "parameter_server")"),
                      Catch::Contains("/job/monitor: noise_scale is for gradients"));
    CHECK_THROWS_WITH(run(R"("monitor": "variance")"), Catch::Contains("/job/monitor"));
}

TEST_CASE("step scenario: losses slows, tears and goes on with fewer", "[scenario]") {
    const scenarios::StepScenario scenario = scenarios::read_step_scenario(
        std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/steps/losses.json");
    const sim::StepJob& job = scenario.jobs.at(0).job;
    const auto steps = sim::run_steps(scenario.topology, std::span(&job, 1), {}, {scenario.seed, 0},
                                      scenario.events)[0]
                           .steps;
    REQUIRE(steps.size() == 60);
    Duration torn;
    std::int64_t validations = 0;
    Duration longest_before;  // a step that ended before six seconds, or began after ten
    Duration longest_slow;
    for (const sim::StepRecord& step : steps) {
        CHECK(step.parts.total() == step.end - step.begin);
        torn += step.parts.torn;
        validations += step.parts.validation > Duration{} ? 1 : 0;
        const bool slow = step.end - Instant{} > seconds(6) && step.begin - Instant{} < seconds(10);
        Duration& longest = slow ? longest_slow : longest_before;
        if (step.workers == 32) longest = std::max(longest, step.parts.sending);
    }
    CHECK(validations == 3);
    CHECK(torn > whole_seconds(3));
    CHECK(torn < whole_seconds(5));
    CHECK(longest_slow > longest_before);
    CHECK(steps.front().workers == 32);
    CHECK(steps.back().workers == 28);
    CHECK(steps.back().samples == 28 * 64);
}

TEST_CASE("step scenario: a batch that does not fit is refused with the bytes", "[scenario]") {
    const std::string complaint = complaint_about("/job/batch", "1000");
    CHECK_THAT(complaint, Catch::StartsWith("small.json: at /job/batch: ") &&
                              Catch::Contains("bytes") && Catch::Contains("v100_sxm2_16gb"));
}

TEST_CASE("step scenario: a pass of kernels that cannot be counted is refused, too", "[scenario]") {
    const char* text = R"({"name": "long", "seed": 1, "cluster": {"machine": "dgx1_v100"},
        "job": {"model": {"kind": "transformer", "layers": 100, "hidden": 8192, "heads": 8,
                          "vocabulary": 100, "sequence": 4194304, "flash_attention": true},
                "batch": 1000, "compute": {"kernels": {"product_share": 0.001}}}})";
    CHECK_THROWS_WITH(
        scenarios::step_scenario_from_text(text, "long.json", {}, scenarios::MemoryCheck::skip),
        "long.json: at /job/batch: transformer with a batch of 1000 computes for 6.555e+12 s: "
        "expected at most a year");
}

TEST_CASE("step scenario: so many experts as may be are read block by block", "[scenario]") {
    // 250 blocks of 999 experts: a million tensors, of which each block looks at its own.
    const char* text = R"({"name": "wide", "seed": 1, "cluster": {"machine": "dgx1_v100"},
        "job": {"model": {"kind": "transformer", "layers": 250, "hidden": 16, "heads": 2,
                          "vocabulary": 100, "sequence": 16, "experts": 996}, "batch": 1,
                "compute": {"fixed": "1 ms"}, "layout": {"shard": "parameters"}, "steps": 1}})";
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(text, "wide.json");
    const scenarios::StepJobEntry& entry = scenario.jobs.front();
    CHECK(entry.profile.tensors.size() > 990'000);
    CHECK(entry.buckets == 252);
}

}  // namespace ukemi
