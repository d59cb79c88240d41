// simulated_steps_test.cpp — a replay whose step times come out of a scenario of steps.
#include "scenarios/reader/simulated_steps.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/job/world.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

namespace {

const std::filesystem::path shipped_scenarios =
    std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios";
const std::filesystem::path steps_scenario = shipped_scenarios / "steps" / "resnet50_on_p3.json";

policies::Plan plan_of(std::int64_t batch, std::int32_t accumulation = 1) {
    policies::Plan plan;
    plan.global_batch = batch;
    plan.accumulation = accumulation;
    return plan;
}

// What `ukemi simulate` shows for these workers and this batch.
double simulated_s(std::int64_t workers, std::int64_t batch, const std::string& codec = "none") {
    const scenarios::StepScenario scenario = scenarios::read_step_scenario(
        steps_scenario, std::vector<ConfigOverride>{{"/job/workers", fmt::format("{}", workers)},
                                                    {"/job/batch", fmt::format("{}", batch)},
                                                    {"/job/codec", codec}});
    const std::vector<sim::StepJob> jobs = {scenario.jobs.front().job};
    sim::StepOptions options;
    options.seed = scenario.seed;
    const auto result = sim::run_steps(scenario.topology, jobs, scenario.cross_traffic, options);
    const auto& steps = result.front().steps;
    const auto first = static_cast<std::size_t>(scenario.warm_up);
    return to_seconds(steps.back().end - steps[first].begin) /
           static_cast<double>(steps.size() - first);
}

}  // namespace

TEST_CASE("simulated steps: a table holds what the scenario of steps shows", "[simulated_steps]") {
    const std::vector<std::int64_t> batches = {16, 64};
    const policies::StepTime time = scenarios::simulated_steps(steps_scenario, batches, 20);
    REQUIRE(time.groups.size() == 18);  // 1 to 16, 18 and 20 machines
    CHECK(time.groups.front().workers == 1);
    CHECK(time.groups.back().workers == 20);
    CHECK(time.worker_batch_max == 64);
    CHECK(policies::exchange_of(time, plan_of(64), 4).bytes ==
          4 * 25'557'032);  // ResNet-50 in fp32
    for (const std::int32_t workers : {1, 4, 18}) {
        for (const std::int64_t batch : batches) {
            const Duration step = policies::step_of(time, plan_of(workers * batch), workers);
            CHECK(to_seconds(step) == Approx(simulated_s(workers, batch)).epsilon(1e-6));
        }
    }
}

// A roofline, whose update is told apart: once a step, whatever the micro-steps.
TEST_CASE("simulated steps: several micro-steps are those that simulate shows",
          "[simulated_steps]") {
    const ScratchFolder folder;
    const auto file = folder / "steps.json";
    std::ofstream(file) << R"({"name": "update", "seed": 1,
        "cluster": {"machine": "p3.2xlarge", "count": 2},
        "job": {"model": "bert_large", "batch": 1, "compute": {"arithmetic_share": 0.5},
                "collective": "ring", "steps": 2}})";
    const std::vector<std::int64_t> batches = {1};
    const policies::StepTime time = scenarios::simulated_steps(file, batches, 2);
    CHECK(time.update > milliseconds(1));
    for (const std::int64_t micro_steps : {1, 4, 32}) {
        const scenarios::StepScenario scenario = scenarios::read_step_scenario(
            file,
            std::vector<ConfigOverride>{{"/job/accumulation", fmt::format("{}", micro_steps)}});
        const std::vector<sim::StepJob> jobs = {scenario.jobs.front().job};
        const sim::StepRecord step =
            sim::run_steps(scenario.topology, jobs, {}, {1, 0}).front().steps.back();
        const Duration replayed = policies::step_of(time, plan_of(2 * micro_steps), 2);
        CHECK(to_seconds(replayed) == Approx(to_seconds(step.end - step.begin)).epsilon(1e-6));
    }
}

TEST_CASE("simulated steps: a codec's steps are those that simulate shows with it",
          "[simulated_steps][codec]") {
    const std::vector<std::int64_t> batches = {16, 64};
    policies::StepTime time = scenarios::simulated_steps(steps_scenario, batches, 6);
    for (const policies::CodecChoice& choice :
         {policies::CodecChoice{policies::Codec::power_sgd, 4},
          policies::CodecChoice{policies::Codec::top_k, 0.01}}) {
        const policies::CodecTime row =
            scenarios::simulated_codec(steps_scenario, batches, 6, choice);
        CHECK(row.codec == choice.codec);
        CHECK(row.encoding.front().time > milliseconds(20));
        CHECK(row.bytes < time.bytes / 40);
        time.codecs = {row};
        for (const std::int32_t workers : {2, 6}) {
            for (const std::int64_t batch : batches) {
                policies::Plan plan = plan_of(workers * batch);
                plan.codec = choice.codec;
                plan.codec_level = choice.level;
                const double step_s = to_seconds(policies::step_of(time, plan, workers));
                CHECK(step_s ==
                      Approx(simulated_s(workers, batch, policies::text_of(choice))).epsilon(1e-6));
                const policies::ExchangeView view = policies::exchange_of(time, plan, workers);
                CHECK(view.encoding == policies::time_for_size(row.encoding, workers));
                CHECK(view.bytes == row.bytes);
            }
        }
        // Alone nothing is sent.
        policies::Plan alone = plan_of(64);
        alone.codec = choice.codec;
        alone.codec_level = choice.level;
        CHECK(policies::step_of(time, alone, 1) == policies::step_of(time, plan_of(64), 1));
    }
}

TEST_CASE("simulated steps: communication hides behind compute, so a step is not a sum",
          "[simulated_steps]") {
    const std::vector<std::int64_t> batches = {16, 64};
    const policies::StepTime time = scenarios::simulated_steps(steps_scenario, batches, 4);
    const auto sent_s = [&](std::int64_t batch) {
        return to_seconds(policies::step_of(time, plan_of(4 * batch), 4) -
                          policies::step_of(time, plan_of(batch), 1));
    };
    CHECK(sent_s(64) < 0.7 * sent_s(16));
    // Of several micro-steps only the last one sends; all wait for the slowest worker.
    const Duration once = policies::step_of(time, plan_of(4 * 64), 4);
    const Duration twice = policies::step_of(time, plan_of(4 * 128, 2), 4);
    CHECK(twice - once > time.compute.back().time);
    CHECK(to_seconds(twice - once) < 1.1 * to_seconds(time.compute.back().time));
}

TEST_CASE("simulated steps: a step of a number of workers in between is in between",
          "[simulated_steps]") {
    policies::StepTime time;
    time.compute = {{1, milliseconds(1)}};
    time.groups = {{1, {{1, milliseconds(1)}, {3, milliseconds(3)}}},
                   {5, {{1, milliseconds(5)}, {3, milliseconds(9)}}}};
    CHECK(policies::step_of(time, plan_of(2), 1) == milliseconds(2));
    CHECK(policies::step_of(time, plan_of(6), 3) == nanoseconds(4'500'000));
    CHECK(policies::step_of(time, plan_of(10), 5) == milliseconds(7));
    CHECK(policies::step_of(time, plan_of(20), 10) == milliseconds(7));  // the nearest outside
}

TEST_CASE("simulated steps: what they cannot come from is refused", "[simulated_steps]") {
    const std::vector<std::int64_t> batches = {16};
    const auto complaint = [&](const std::filesystem::path& file, std::int32_t machines,
                               std::span<const std::int64_t> some) {
        return complaint_of([&] { scenarios::simulated_steps(file, some, machines); });
    };
    CHECK_THAT(complaint(steps_scenario, 33, batches),
               Catch::Contains("expected at least 33 machines") && Catch::Contains("found 32"));
    CHECK_THAT(complaint(shipped_scenarios / "steps" / "shared_switches.json", 4, batches),
               Catch::Contains("expected one job, found 2"));
    const std::vector<std::int64_t> large = {16, 4096};
    CHECK_THAT(complaint(steps_scenario, 4, large), Catch::Contains("bytes"));
    const ScratchFolder folder;
    const auto of_job = [&](std::string_view keys) {
        const auto file =
            write_text(folder / "steps.json", fmt::format(R"({{"name": "refused", "seed": 1,
                "cluster": {{"machine": "p3.2xlarge", "count": 3}},
                "jobs": [{{"name": "a", "model": "resnet50", "batch": 16, "steps": 2, {}}}]}})",
                                                          keys));
        return complaint(file, 2, batches);
    };
    CHECK_THAT(of_job(R"("machines": [0, 2])"),
               Catch::Contains("expected no \"machines\" of the job"));
    CHECK_THAT(of_job(R"("variable_update": "parameter_server",
                         "servers": {"count": 1, "separate": true})"),
               Catch::Contains("expected no \"servers\" that are \"separate\""));
    CHECK(of_job(R"("variable_update": "parameter_server", "servers": {"count": 1})") ==
          "(no complaint)");
}

TEST_CASE("simulated steps: a scenario says which file and which batches", "[simulated_steps]") {
    const auto complaint = [](std::string_view step_time) {
        return complaint_of([&] {
            scenarios::scenario_from_text(
                fmt::format(R"({{"name": "small", "seed": 1, "cluster": {{"count": 2}},
                    "job": {{"samples": 1000, "batch": 32, "step_time": {}}},
                    "market": {{"on_demand_price": "3 USD/h"}}, "replay": ["on_demand"]}})",
                            step_time),
                shipped_scenarios / "small.json");
        });
    };
    CHECK(complaint(R"({"simulated": {"steps": "steps/resnet50_on_p3.json", "batches": [16]}})") ==
          "(no complaint)");
    CHECK_THAT(complaint(R"({"simulated": {"steps": "steps/none.json", "batches": [16]}})"),
               Catch::Contains("none.json"));
    CHECK_THAT(complaint(R"({"simulated": {"steps": "steps/resnet50_on_p3.json",
                                           "batches": [32, 16]}})"),
               Catch::Contains("/job/step_time/simulated/batches: expected whole numbers of "
                               "samples, each above the one before"));
    CHECK(complaint(R"({"simulated": {"steps": "steps/resnet50_on_p3.json", "batches": [16]},
                        "codecs": [{"codec": "fp16", "relative_error": 0.001}]})") ==
          "(no complaint)");
    CHECK_THAT(complaint(R"({"simulated": {"steps": "steps/resnet50_on_p3.json", "batches": [16]},
                             "codecs": [{"codec": "fp16", "encoding": "5 ms"}]})"),
               Catch::Contains("/job/step_time/codecs/0/encoding: comes out of the simulated "
                               "steps: leave it out"));
    CHECK_THAT(complaint(R"({"simulated": {"steps": "steps/resnet50_on_p3.json", "batches": [16],
                                           "learners": 2}})"),
               Catch::Contains("/job/batch: expected \"batch_per_worker\" in its place"));
    CHECK(complaint(R"({"simulated": {"steps": "steps/resnet50_on_p3.json", "batches": [16, 32]},
                        "worker_batch_max": 32})") == "(no complaint)");
    CHECK_THAT(complaint(R"({"simulated": {"steps": "steps/resnet50_on_p3.json", "batches": [16]},
                             "worker_batch_max": 1024})"),
               Catch::Contains("/job/step_time/worker_batch_max: expected at most 16"));
    CHECK_THAT(complaint(R"({"simulated": {"steps": "steps/resnet50_on_p3.json", "batches": [16]}},
                        "communication": {"ring": "20 ms"})"),
               Catch::Contains("at /job/communication: stands beside \"simulated\""));
    CHECK_THAT(complaint(R"({"simulated": {}, "per_sample": "1 ms"})"),
               Catch::Contains("/job/step_time/per_sample: stands beside \"simulated\""));
}

TEST_CASE("simulated steps: learners fill the device, by number and batch", "[simulated_steps]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(shipped_scenarios / "learners/simulated_learners.json");
    REQUIRE(scenario.job.profile.step_time);
    const policies::StepTime& time = *scenario.job.profile.step_time;
    REQUIRE(time.learner_steps.size() == 11);
    const auto samples_per_s = [&](std::int32_t learners, std::int64_t batch) {
        policies::Plan plan = scenario.job.plan;
        plan.learners_per_gpu = learners;
        plan.batch_per_learner = batch;
        return static_cast<double>(learners * batch) / to_seconds(policies::step_of(time, plan, 1));
    };
    // Alone launching bounds a step, so two learn twice as much.
    CHECK(samples_per_s(2, 128) / samples_per_s(1, 128) == Approx(2).epsilon(0.05));
    const double small = samples_per_s(12, 128) / samples_per_s(11, 128);
    const double large = samples_per_s(12, 512) / samples_per_s(11, 512);
    CHECK(large < small + 1e-9);
    CHECK(large < 1.05);
    // What `ukemi simulate` shows for as many.
    const scenarios::StepScenario steps = scenarios::read_step_scenario(
        shipped_scenarios / "steps/titan_x_learners.json",
        std::vector<ConfigOverride>{{"/job/learners", "3"}, {"/job/steps", "1"}});
    const sim::StepJob& job = steps.jobs.front().job;
    CHECK(job.samples_per_step() == 3 * 8 * 64);
    policies::Plan plan = scenario.job.plan;
    plan.learners_per_gpu = 3;
    CHECK(policies::exchange_of(time, plan, 1).compute ==
          job.compute.front() + job.longest_update());
}

TEST_CASE("simulated steps: a Plan has no more learners than were run, and no codec beside them",
          "[simulated_steps]") {
    const auto complaint = [](std::string_view step_time, std::string_view training) {
        return complaint_of([&] {
            const scenarios::Scenario scenario =
                scenarios::scenario_from_text(fmt::format(R"({{"name": "several", "seed": 1,
                    "job": {{"samples": 4096, "batch_per_worker": 16, "step_time": {{
                        "simulated": {{"steps": "steps/resnet50_on_p3.json", "batches": [16]{}}},
                        "codecs": [{{"codec": "fp16"}}]}}}},
                    "training": {{{}}}, "cluster": {{"count": 2}},
                    "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
                    "replay": ["on_demand"]}})",
                                                          step_time, training),
                                              shipped_scenarios / "several.json");
            const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
            scenarios::expect_first_plan(scenario,
                                         sim::simulated_capabilities(market.data, scenario.job));
        });
    };
    const std::string_view two = R"(, "learners": 2)";
    CHECK(complaint(two, R"("learners": 2)") == "(no complaint)");
    CHECK(complaint("", R"("codec": "fp16")") == "(no complaint)");
    CHECK_THAT(complaint(two, R"("learners": 3)"),
               Catch::Contains("at /training/learners: the first Plan is not possible: 3 learners "
                               "per GPU where the simulated market knows the steps of 2 at most"));
    CHECK_THAT(complaint("", R"("learners": 2)"), Catch::Contains("the steps of 1 at most"));
    CHECK_THAT(complaint(two, R"("learners": 2, "codec": "fp16")"),
               Catch::Contains("at /training/codec: the first Plan is not possible: a codec "
                               "beside several learners a worker"));
}

TEST_CASE("simulated steps: batches that do not fit beside each other are left out",
          "[simulated_steps]") {
    const std::vector<std::int64_t> batches = {16, 64, 128};
    const policies::LearnerSteps two = scenarios::simulated_learners(steps_scenario, batches, 1, 2);
    CHECK(two.worker_batch_max == 64);  // of ResNet-50 on 16 GiB
    CHECK(two.compute.size() == 2);
    CHECK_THROWS_WITH(
        scenarios::simulated_learners(steps_scenario, std::vector<std::int64_t>{128}, 1, 2),
        Catch::Contains("of each of 2 learners"));
}

TEST_CASE("simulated steps: a codec whose rest leaves no room is refused by its row",
          "[simulated_steps]") {
    // ResNet-50 on 16 GiB.
    const auto complaint = [](std::int64_t batch, std::string_view codec) {
        return complaint_of([&] {
            scenarios::scenario_from_text(fmt::format(R"({{"name": "room", "seed": 1,
                "job": {{"samples": 4096, "batch_per_worker": 16, "step_time": {{
                    "simulated": {{"steps": "steps/resnet50_on_p3.json", "batches": [{}]}},
                    "codecs": [{{"codec": "{}"}}]}}}},
                "cluster": {{"count": 2}},
                "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
                "replay": ["on_demand"]}})",
                                                      batch, codec),
                                          shipped_scenarios / "room.json");
        });
    };
    const std::string none = complaint(100'000, "fp16");
    const std::string_view largest = "the largest batch that fits is ";
    REQUIRE(none.find(largest) != std::string::npos);
    const std::int64_t most = std::stoll(none.substr(none.find(largest) + largest.size()));
    CHECK(complaint(most, "fp16") == "(no complaint)");
    CHECK_THAT(complaint(most, "top_k:0.01"),
               Catch::Contains("at /job/step_time/codecs/0/codec: ") &&
                   Catch::Contains("kept of the exchange ") && Catch::Contains(largest.data()));
}

TEST_CASE("simulated steps: the shipped scenario replays a market with them", "[simulated_steps]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(shipped_scenarios / "size/elastic_network.json");
    REQUIRE(scenario.job.profile.step_time);
    const auto rate = [&](std::int32_t workers) {
        return 1 / to_seconds(policies::step_of(*scenario.job.profile.step_time, scenario.job.plan,
                                                workers));
    };
    CHECK(rate(32) > rate(8));
    CHECK(rate(32) < 4 * rate(8));  // a fixed batch scales worse than its machines
    scenarios::ExperimentSetup setup;
    setup.policies = scenarios::parse_policies("on_demand", scenario, "test");
    setup.seeds = {1};
    const auto runs = scenarios::run_experiment(scenario, setup);
    REQUIRE(runs.size() == 1);
    CHECK(runs.front().result.finished);
    // 112,603 steps, two minutes to start and 90 s until the machines are there.
    const double trained_s = to_seconds(runs.front().result.duration) - 210;
    CHECK(trained_s == Approx(112'603 / rate(4)).epsilon(0.001));
}

}  // namespace ukemi
