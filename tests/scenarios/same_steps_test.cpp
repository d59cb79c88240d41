// same_steps_test.cpp — what a scenario of steps says in two ways comes out once.
#include <catch2/catch.hpp>
#include <fstream>

#include "base/input_error.hpp"
#include "scenarios/reader/simulated_steps.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

double step_s(const scenarios::StepScenario& scenario) {
    const std::vector<sim::StepJob> jobs = {scenario.jobs.front().job};
    sim::StepOptions options;
    options.seed = scenario.seed;
    const auto result = sim::run_steps(scenario.topology, jobs, {}, options, scenario.events);
    return to_seconds(scenarios::mean_of_steps(result.front(), scenario.warm_up));
}

// A transformer whose kernels are timed one by one, on GPUs of one machine.
std::string transformer_text(int hidden, int workers, const char* more) {
    return fmt::format(
        R"({{"name": "same", "seed": 1, "cluster": {{"machine": "dgx_a100_80gb", "count": 1}},
             "job": {{"model": {{"kind": "transformer", "name": "t", "layers": 4, "hidden": {},
                 "heads": 16, "vocabulary": 32000, "sequence": 512}}, "workers": {},
                 "precision": "bf16", "optimiser_state": "adam", "collective": "ring",
                 "steps": 2, {}}}}})",
        hidden, workers, more);
}

policies::Plan plan_of_micro_steps(std::int64_t batch, std::int32_t accumulation) {
    policies::Plan plan;
    plan.global_batch = batch;
    plan.accumulation = accumulation;
    return plan;
}

}  // namespace

TEST_CASE("same steps: a layout that computes nothing again is the plain job", "[same_steps]") {
    const int accumulation = GENERATE(1, 2, 40);
    const auto step = [&](int hidden, int workers, int batch, const char* layout) {
        const std::string more =
            fmt::format(R"("batch": {}, "accumulation": {}{})", batch, accumulation, layout);
        const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(
            transformer_text(hidden, workers, more.c_str()), "same.json");
        const double taken_s = step_s(scenario);
        // Of which an efficiency is the share: one worker waits for nobody.
        if (workers == 1) CHECK(scenario.jobs.front().alone_s == Approx(taken_s).epsilon(1e-4));
        return taken_s;
    };
    // Bound by the host's launches, by both and by the device.
    for (const auto& [hidden, batch] : {std::pair(256, 1), {1024, 2}, {2048, 16}}) {
        for (const int workers : {1, 2, 8}) {
            CAPTURE(hidden, workers, accumulation);
            CHECK(step(hidden, workers, batch, "") ==
                  Approx(step(hidden, workers, batch,
                              R"(, "layout": {"recompute": true, "recompute_by_stage": [0]})"))
                      .epsilon(1e-4));
        }
    }
}

// All of it is hidden under computing, with or without parameters that are divided.
TEST_CASE("same steps: hidden sending lengthens a step by the share that is said", "[same_steps]") {
    for (const char* shard : {"none", "gradients", "parameters"}) {
        CAPTURE(shard);
        const auto step = [&](const std::string& more, int workers) {
            const std::string keys = fmt::format(
                R"("batch": 32, "accumulation": 2, "layout": {{"shard": "{}"{}}})", shard, more);
            return step_s(scenarios::step_scenario_from_text(
                transformer_text(2048, workers, keys.c_str()), "same.json"));
        };
        const double free_s = step("", 8);
        CHECK(step(R"(, "slowed_by_sending": 0)", 8) == free_s);
        const double half_s = step(R"(, "slowed_by_sending": 0.5)", 8);
        const double whole_s = step(R"(, "slowed_by_sending": 1)", 8);
        CHECK(half_s > free_s);
        // More is hidden of what begins under a longer block.
        CHECK(whole_s - half_s == Approx(half_s - free_s).epsilon(0.2));
        CHECK(step(R"(, "slowed_by_sending": 1)", 1) == Approx(step("", 1)).epsilon(1e-4));
    }
}

// One machine of each kind; the host is slower than the device on the faster kind alone.
TEST_CASE("same steps: on GPUs of several kinds a layout's blocks are as long as on each",
          "[same_steps]") {
    const auto step = [](const char* zones, int hidden, int batch, const char* more) {
        const std::string text = fmt::format(
            R"({{"name": "same", "seed": 1, "cluster": {{"zones": [{}]}},
                 "job": {{"model": {{"kind": "transformer", "name": "t", "layers": 4,
                     "hidden": {}, "heads": 16, "vocabulary": 32000, "sequence": 512}},
                     "batch": {}, "precision": "fp32", "collective": "ring", "steps": 2{}}}}})",
            zones, hidden, batch, more);
        return step_s(scenarios::step_scenario_from_text(text, "same.json"));
    };
    const char* slow = R"({"machine": "dgx1_v100", "count": 1})";
    const char* fast = R"({"machine": "dgx_h100", "count": 1})";
    const std::string slow_first = fmt::format("{}, {}", slow, fast);
    const std::string fast_first = fmt::format("{}, {}", fast, slow);
    const char* layout = R"(, "layout": {"recompute": true, "recompute_by_stage": [0]})";
    for (const auto& [hidden, batch] : {std::pair(256, 1), {1024, 2}}) {
        CAPTURE(hidden, batch);
        for (const std::string& zones : {slow_first, fast_first}) {
            CHECK(step(zones.c_str(), hidden, batch, layout) ==
                  Approx(step(zones.c_str(), hidden, batch, "")).epsilon(1e-4));
        }
        // All ranks of a cell compute a block, then the next: as long as on the slowest.
        const char* cut = R"(, "layout": {"tensor": 8})";
        const double both_s = step(fast_first.c_str(), hidden, batch, cut);
        CHECK(both_s >= step(slow, hidden, batch, cut));
        CHECK(step(slow_first.c_str(), hidden, batch, cut) == Approx(both_s).epsilon(1e-4));
    }
}

// Forward or backward first is all that schedules differ in.
TEST_CASE("same steps: without stages all schedules are one", "[same_steps]") {
    const auto read = [](const char* layout) {
        const std::string more =
            fmt::format(R"("batch": 1, "accumulation": 8, "layout": {})", layout);
        return scenarios::step_scenario_from_text(transformer_text(1024, 4, more.c_str()),
                                                  "same.json");
    };
    for (const char* shard : {"none", "optimiser", "gradients"}) {
        const auto layout = [&](const char* schedule) {
            return read(
                fmt::format(R"({{"shard": "{}", "schedule": "{}"}})", shard, schedule).c_str());
        };
        const scenarios::StepScenario usual = layout("one_forward_one_backward");
        for (const char* schedule : {"gpipe", "zero_bubble"}) {
            CAPTURE(shard, schedule);
            const scenarios::StepScenario other = layout(schedule);
            CHECK(other.jobs.front().memory.need.total() == usual.jobs.front().memory.need.total());
            CHECK(step_s(other) == step_s(usual));
        }
    }
}

TEST_CASE("same steps: of a two-way pipeline all gradients that a worker sums are told",
          "[same_steps]") {
    const auto entry_of = [](const char* schedule) {
        const std::string more = fmt::format(
            R"("batch": 1, "accumulation": 8, "layout": {{"pipeline": 2, "schedule": "{}"}})",
            schedule);
        // Of few words: who has most gradients needs most memory, too, as no logits decide.
        std::string text = transformer_text(1024, 8, more.c_str());
        text.replace(text.find("32000"), 5, "1000");
        return scenarios::step_scenario_from_text(text, "same.json").jobs.front();
    };
    for (const char* schedule : {"dual_pipe", "one_forward_one_backward"}) {
        const scenarios::StepJobEntry entry = entry_of(schedule);
        CHECK(entry.gradient == entry.memory.need.gradients);
    }
}

TEST_CASE("same steps: a validation is a forward pass, with a layout and without", "[same_steps]") {
    const auto validation_s = [](const char* more) {
        const std::string text = transformer_text(
            256, 2,
            fmt::format(R"("batch": 1, "validation": {{"every": 1, "samples": 2}}{})", more)
                .c_str());
        const scenarios::StepScenario scenario =
            scenarios::step_scenario_from_text(text, "same.json");
        return to_seconds(scenario.jobs.front().job.validation_time());
    };
    const double plain_s = validation_s("");
    CHECK(plain_s > 1e-3);  // launching it
    CHECK(validation_s(R"(, "layout": {"shard": "optimiser"})") == Approx(plain_s).epsilon(1e-3));
    CHECK(validation_s(R"(, "accumulation": 4, "layout": {"shard": "optimiser"})") ==
          Approx(plain_s).epsilon(1e-3));
    CHECK(validation_s(R"(, "accumulation": 4)") == Approx(plain_s).epsilon(1e-3));
}

TEST_CASE("same steps: no two-way pipeline is faster than its workers who never wait",
          "[same_steps]") {
    const scenarios::StepScenario scenario = scenarios::step_scenario_from_text(
        transformer_text(512, 2, R"("batch": 2, "accumulation": 16,
                                    "layout": {"pipeline": 2, "schedule": "dual_pipe"})"),
        "same.json");
    CHECK(scenario.jobs.front().alone_s <= step_s(scenario));
}

TEST_CASE("same steps: the batch that a refusal names is the largest that fits", "[same_steps]") {
    const char* const layout =
        GENERATE(R"("layout": {"pipeline": 2})", R"("layout": {"pipeline": 2, "tensor": 2})",
                 R"("layout": {"pipeline": 4, "recompute": true})");
    const auto read = [&](std::int64_t batch) {
        const int workers = std::string_view(layout).find("tensor") == std::string_view::npos &&
                                    std::string_view(layout).find("4") == std::string_view::npos
                                ? 2
                                : 4;
        const std::string text = fmt::format(
            R"({{"name": "last", "seed": 1, "cluster": {{"machine": "dgx_a100_80gb", "count": 1}},
                 "job": {{"model": {{"kind": "transformer", "name": "t", "layers": 4,
                     "hidden": 4096, "heads": 32, "vocabulary": 256000, "sequence": 2048,
                     "flash_attention": true}}, "workers": {}, "batch": {}, "precision": "bf16",
                     "optimiser_state": "adam", "steps": 1, {}}}}})",
            workers, batch, layout);
        return scenarios::step_scenario_from_text(text, "last.json");
    };
    const std::string complaint = complaint_of([&] { read(10'000); });
    const std::string mark = "the largest batch that fits is ";
    const std::size_t at = complaint.find(mark);
    CAPTURE(layout, complaint);
    REQUIRE(at != std::string::npos);
    const std::int64_t most = std::stoll(complaint.substr(at + mark.size()));
    CHECK_NOTHROW(read(most));
    CHECK_THROWS_AS(read(most + 1), InputError);
}

TEST_CASE("same steps: a kind of GPU has to hold the stages that it has", "[same_steps]") {
    const auto read = [](const char* first, const char* second) {
        const std::string text = fmt::format(
            R"({{"name": "same", "seed": 1,
                 "cluster": {{"zones": [{{"machine": "{}", "count": 1}},
                                        {{"machine": "{}", "count": 1}}]}},
                 "job": {{"model": {{"kind": "transformer", "name": "t", "layers": 8,
                     "hidden": 1024, "heads": 16, "vocabulary": 1000, "sequence": 1024}},
                     "batch": 16, "accumulation": 8, "precision": "fp16",
                     "optimiser_state": "adam", "layout": {{"pipeline": 2}}, "steps": 1}}}})",
            first, second);
        return scenarios::step_scenario_from_text(text, "same.json");
    };
    // The first of two stages keeps two micro-batches, the last one.
    CHECK(read("dgx_h100", "p3.16xlarge").jobs.size() == 1);
    CHECK_THROWS_WITH(read("p3.16xlarge", "dgx_h100"),
                      Catch::Contains("on pipeline rank 0") && Catch::Contains("v100_sxm2_16gb"));
}

TEST_CASE("same steps: replays wait in every micro-step for what steps wait for in each",
          "[same_steps][simulated_steps]") {
    const ScratchFolder folder;
    const auto file = folder / "steps.json";
    const char* const waits =
        GENERATE(R"("stragglers": {"independent": 0.3})", R"("input": {"rate": "1000 samples/s"})",
                 R"("input": {"rate": "3000 samples/s"})", R"("stragglers": {"persistent": 0.3})",
                 R"("layout": {"shard": "gradients"})", R"("compute": {"kernels": {}})",
                 R"("stragglers": {"independent": 0.3},
                    "launch": {"rule": "coordinated", "cycle": "1 ms"})",
                 R"("batch_norm": "synchronised")");
    std::ofstream(file) << fmt::format(
        R"({{"name": "waits", "seed": 1, "cluster": {{"machine": "p3.2xlarge", "count": 4}},
             "job": {{"model": "resnet50", "batch": 8, "collective": "ring", "steps": 6, {}}}}})",
        waits);
    const std::vector<std::int64_t> batches = {8};
    const policies::StepTime time = scenarios::simulated_steps(file, batches, 4);
    for (const std::int32_t micro_steps : {1, 2, 3, 8, 20}) {
        const double simulated = step_s(scenarios::read_step_scenario(
            file,
            std::vector<ConfigOverride>{{"/job/accumulation", fmt::format("{}", micro_steps)}}));
        const Duration replayed = policies::step_of(
            time, plan_of_micro_steps(std::int64_t{32} * micro_steps, micro_steps), 4);
        CAPTURE(waits, micro_steps);
        CHECK(to_seconds(replayed) == Approx(simulated).epsilon(5e-3));
    }
}

// One V100 and three K80s, each way round.
TEST_CASE("same steps: replays on GPUs of several kinds compute at the pace of the slowest",
          "[same_steps][simulated_steps]") {
    const ScratchFolder folder;
    const auto file = folder / "steps.json";
    const auto [first, last] = GENERATE(std::pair(R"("p3.2xlarge", "count": 1)",  //
                                                  R"("NC6", "count": 3)"),
                                        std::pair(R"("NC6", "count": 3)",  //
                                                  R"("p3.2xlarge", "count": 1)"));
    std::ofstream(file) << fmt::format(
        R"({{"name": "kinds", "seed": 1, "cluster": {{"zones": [{{"machine": {}}},
                                                                {{"machine": {}}}]}},
             "jobs": [{{"name": "one", "model": "resnet50", "batch": 8, "collective": "ring",
                        "steps": 3}}]}})",
        first, last);
    const std::vector<std::int64_t> batches = {8};
    policies::StepTime time = scenarios::simulated_steps(file, batches, 4);
    time.learner_steps = {scenarios::simulated_learners(file, batches, 4, 2)};
    const policies::CodecChoice choice{policies::Codec::fp16, 0};
    time.codecs = {scenarios::simulated_codec(file, batches, 4, choice)};
    for (const std::int32_t machines : {1, 2, 4}) {
        for (const std::int32_t micro_steps : {1, 2, 5}) {
            const auto simulated = [&](const char* key, const char* value) {
                const scenarios::StepScenario scenario = scenarios::read_step_scenario(
                    file, std::vector<ConfigOverride>{
                              {"/jobs/0/workers", fmt::format("{}", machines)},
                              {"/jobs/0/accumulation", fmt::format("{}", micro_steps)},
                              {key, value}});
                return step_s(scenario);
            };
            policies::Plan plan;
            plan.batch_per_learner = 8;
            plan.accumulation = micro_steps;
            CAPTURE(machines, micro_steps, first);
            CHECK(to_seconds(policies::step_of(time, plan, machines)) ==
                  Approx(simulated("/jobs/0/codec", "none")).epsilon(1e-3));
            const policies::ExchangeView view = policies::exchange_of(time, plan, machines);
            CHECK(view.communication.raw() < view.compute.raw() / 2);
            plan.codec = choice.codec;
            if (machines > 1) {
                CHECK(to_seconds(policies::step_of(time, plan, machines)) ==
                      Approx(simulated("/jobs/0/codec", "fp16")).epsilon(1e-3));
            }
            plan.codec = policies::Codec::none;
            plan.learners_per_gpu = 2;
            CHECK(to_seconds(policies::step_of(time, plan, machines)) ==
                  Approx(simulated("/jobs/0/learners", "2")).epsilon(1e-3));
        }
    }
}

TEST_CASE("same steps: a machine with several GPUs encodes alone, too",
          "[same_steps][simulated_steps][codec]") {
    const ScratchFolder folder;
    const auto file = folder / "steps.json";
    // A layout that says of how many replicas it is; here of others.
    std::ofstream(file) << R"({"name": "coded", "seed": 1,
        "cluster": {"machine": "p3.8xlarge", "count": 2},
        "job": {"model": "resnet50", "batch": 16, "collective": "ring", "steps": 2,
                "layout": {"data": 8}}})";
    const std::vector<std::int64_t> batches = {16};
    policies::StepTime time = scenarios::simulated_steps(file, batches, 2);
    const policies::CodecChoice choice{policies::Codec::top_k, 0.01};
    time.codecs = {scenarios::simulated_codec(file, batches, 2, choice)};
    REQUIRE(time.codecs.front().groups.front().workers == 1);
    for (const std::int32_t machines : {1, 2}) {
        const double simulated = step_s(scenarios::read_step_scenario(
            file, std::vector<ConfigOverride>{{"/job/layout/data", fmt::format("{}", 4 * machines)},
                                              {"/job/workers", fmt::format("{}", 4 * machines)},
                                              {"/job/codec", "top_k:0.01"}}));
        policies::Plan plan = plan_of_micro_steps(std::int64_t{64} * machines, 1);
        plan.codec = choice.codec;
        plan.codec_level = choice.level;
        CAPTURE(machines);
        CHECK(to_seconds(policies::step_of(time, plan, machines)) ==
              Approx(simulated).epsilon(1e-6));
        const policies::ExchangeView view = policies::exchange_of(time, plan, machines);
        CHECK(view.encoding > milliseconds(100));
        CHECK(view.bytes == time.codecs.front().bytes);
    }
}

TEST_CASE("same steps: who leaves experts that cannot be divided any more is refused",
          "[same_steps][experts]") {
    const auto text = [](int first, int last) {
        std::string leave;
        for (int i = first; i <= last; ++i) {
            leave +=
                fmt::format(R"({}{{"kind": "leave", "at": "1 ms", "worker": {}, "delay": "1 ms"}})",
                            leave.empty() ? "" : ", ", i);
        }
        return fmt::format(
            R"({{"name": "leaves", "seed": 1, "cluster": {{"machine": "p3.16xlarge", "count": 1}},
                 "job": {{"model": {{"kind": "transformer", "name": "m", "layers": 2,
                     "hidden": 256, "heads": 4, "vocabulary": 1000, "sequence": 64,
                     "experts": 2}}, "batch": 2, "workers": 8, "layout": {{"expert": 2}},
                     "collective": "ring", "steps": 4}},
                 "events": [{}]}})",
            leave);
    };
    const auto run = [&](int first, int last) {
        return step_s(scenarios::step_scenario_from_text(text(first, last), "leaves.json"));
    };
    CHECK_THAT(complaint_of([&] { run(7, 7); }),
               Catch::Contains("7 ranks hold experts that are divided among 2"));
}

}  // namespace ukemi
