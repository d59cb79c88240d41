// codec_scenario_test.cpp — what codecs cost a simulated step, and which a scenario may name.
#include <catch2/catch.hpp>

#include "policies/codec_text.hpp"
#include "policies/policy.hpp"
#include "records/decision_log.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/step_scenario.hpp"
#include "sim/job/world.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

using Catch::Contains;

// Steps of 100 ms and a gradient of 100 MB over 1 GB/s between four workers.
scenarios::Scenario with(std::string_view more, std::string_view training = "") {
    return scenarios::scenario_from_text(fmt::format(R"({{"name": "small", "seed": 1,
            "job": {{"samples": 4000, "samples_per_epoch": 4000, "batch": 4,
                     "step_time": {{"table": {{"1": "100 ms"}}, {}}}}},
            {} "cluster": {{"count": 4}}, "plan": {{"market": "on_demand"}},
            "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
            "replay": ["on_demand", "on_demand+adaptive_codec", "on_demand+accordion"]}})",
                                                     more, training),
                                         "small.json");
}

const std::string link = R"("gradient": "100 MB",
    "link": {"bandwidth": "1 GB/s", "latency": "1 ms"})";
const std::string rows = link + R"(, "codecs": [
    {"codec": "fp16", "bytes": "50 MB", "encoding": "5 ms", "relative_error": 0.001},
    {"codec": "power_sgd:2", "bytes": "1 MB", "encoding": "20 ms",
     "relative_error": 0.6},
    {"codec": "power_sgd:1", "bytes": "0.5 MB", "encoding": "15 ms",
     "relative_error": 0.8},
    {"codec": "power_sgd:4", "bytes": "2 MB", "encoding": "30 ms",
     "relative_error": 0.4},
    {"codec": "top_k:0.01", "bytes": "2 MB", "encoding": "90 ms",
     "exchange": {"1": "0 s", "4": "12 ms"}}])";

Duration step_with(const scenarios::Scenario& scenario, policies::Codec codec, double level,
                   std::int32_t workers = 4) {
    policies::Plan plan = scenario.job.plan;
    plan.codec = codec;
    plan.codec_level = level;
    return policies::step_of(*scenario.job.profile.step_time, plan, workers);
}

std::vector<scenarios::FinishedRun> runs_of(const scenarios::Scenario& scenario,
                                            std::string_view policies) {
    scenarios::ExperimentSetup setup;
    setup.policies = scenarios::parse_policies(policies, scenario, "test");
    setup.seeds = {1};
    setup.details = scenarios::Details::all;
    setup.options.decisions = true;
    setup.options.all_questions = true;
    return scenarios::run_experiment(scenario, setup);
}

}  // namespace

TEST_CASE("codec scenario: bytes and a link make the time of a step", "[scenario][codec]") {
    const scenarios::Scenario scenario = with(rows);
    // 2 · 3 · 1 ms + 2 · 3/4 of the bytes at 1 GB/s, and encoding.
    CHECK(step_with(scenario, policies::Codec::none, 0) == milliseconds(100 + 6 + 150));
    CHECK(step_with(scenario, policies::Codec::fp16, 0) == milliseconds(100 + 6 + 75 + 5));
    CHECK(step_with(scenario, policies::Codec::power_sgd, 2) == nanoseconds(127'500'000));
    CHECK(step_with(scenario, policies::Codec::top_k, 0.01) == milliseconds(100 + 12 + 90));
    CHECK(step_with(scenario, policies::Codec::power_sgd, 3) ==
          step_with(scenario, policies::Codec::none, 0));
    // Alone nothing is sent or encoded.
    CHECK(step_with(scenario, policies::Codec::fp16, 0, 1) == milliseconds(400));
    policies::Plan plan = scenario.job.plan;
    plan.codec = policies::Codec::fp16;
    const policies::ExchangeView view =
        policies::exchange_of(*scenario.job.profile.step_time, plan, 4);
    CHECK(view.compute == milliseconds(100));
    CHECK(view.communication == milliseconds(81));
    CHECK(view.exposed == milliseconds(86));
    CHECK(view.bytes == 50'000'000);
    CHECK(view.relative_error == 0.001);
}

TEST_CASE("codec scenario: gathers have as many rings as all-reduces", "[scenario][codec]") {
    const auto sending_s = [](std::string_view codec) {
        const scenarios::StepScenario scenario =
            scenarios::step_scenario_from_text(fmt::format(R"({{"name": "rings", "seed": 1,
                "cluster": {{"machine": "mi300x_8", "count": 1}},
                "job": {{"model": "vgg16", "batch": 8, "compute": {{"fixed": "1 ns"}}, "steps": 1,
                         "buckets": {{"rule": "one"}}, {}"collective": "ring"}}}})",
                                                           codec),
                                               "rings.json");
        const std::vector<sim::StepJob> jobs = {scenario.jobs.front().job};
        return to_seconds(
            sim::run_steps(scenario.topology, jobs, {}, {1, 0})[0].steps[0].parts.sending);
    };
    // Each rank's 1/32 to seven others; of the sums 2 x 7/8 of all.
    const double all_reduce_s = sending_s("");
    const double gather_s = sending_s(
        R"("codec": "sign", "codec_rates": {"encode": "1e18 operations/s",
                                            "decode": "1e18 operations/s"}, )");
    CHECK(gather_s == Approx(all_reduce_s * (7.0 / 32) / (2 * 7.0 / 8)).epsilon(0.1));
}

TEST_CASE("codec scenario: the usual level is the same level, said or not", "[scenario][codec]") {
    for (const char* said : {"", ":2"}) {  // PowerSGD's usual rank
        CAPTURE(said);
        const scenarios::Scenario scenario =
            with(link + R"(, "codecs": [{"codec": "power_sgd)" + said + R"(", "bytes": "1 MB"}])");
        CHECK(step_with(scenario, policies::Codec::power_sgd, 0) == nanoseconds(107'500'000));
        CHECK(step_with(scenario, policies::Codec::power_sgd, 2) == nanoseconds(107'500'000));
        CHECK(step_with(scenario, policies::Codec::power_sgd, 4) ==
              step_with(scenario, policies::Codec::none, 0));
    }
    CHECK_THAT(complaint_of([] {
                   with(link + R"(, "codecs": [{"codec": "power_sgd", "bytes": "1 MB"},
                       {"codec": "power_sgd:2", "bytes": "1 MB"}])");
               }),
               Contains("stands in the list twice"));
}

TEST_CASE("codec scenario: what only a gather carries grows with the workers",
          "[scenario][codec]") {
    const scenarios::Scenario scenario =
        with(link + R"(, "codecs": [{"codec": "top_k:0.01", "bytes": "2 MB"}])");
    CHECK(step_with(scenario, policies::Codec::top_k, 0.01) == milliseconds(100 + 3 * (1 + 2)));
}

TEST_CASE("codec scenario: a replay turns the codec and gains the time", "[scenario][codec]") {
    const auto runs = runs_of(with(rows), "on_demand,on_demand+adaptive_codec,on_demand+accordion");
    REQUIRE(runs.size() == 3);
    const auto hours = [&](std::size_t i) { return to_hours(runs[i].result.duration); };
    CHECK(hours(1) < 0.8 * hours(0));
    CHECK(hours(2) < 0.6 * hours(0));
    CHECK_THAT(runs[1].decisions, Contains("compression pays"));
    CHECK_THAT(runs[1].decisions, Contains(R"("codec":"power_sgd","codec_level":4.0)"));
    CHECK_THAT(runs[1].decisions, Contains(R"("exchange":{)"));
    for (const std::size_t with_codec : {1U, 2U}) {
        const records::LogReplay again =
            records::replay_decisions(runs[with_codec].decisions, "decisions.jsonl");
        CHECK(again.decisions > 0);
        CHECK(again.difference_count == 0);
    }
}

TEST_CASE("codec scenario: that compression hurts is an answer", "[scenario][codec]") {
    const scenarios::Scenario scenario = with(R"("gradient": "1 MB",
        "link": {"bandwidth": "10 GB/s", "latency": "1 us"},
        "codecs": [{"codec": "fp16", "bytes": "0.5 MB", "encoding": "5 ms"}])");
    const auto runs = runs_of(scenario, "on_demand+adaptive_codec");
    CHECK_THAT(runs.front().decisions, Contains("compression hurts here"));
}

TEST_CASE("codec scenario: without costs a replay refuses to turn the codec", "[scenario][codec]") {
    const scenarios::Scenario scenario = with(link);
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
    const scenarios::PolicyList list =
        scenarios::parse_policies("accordion", scenario, "test").front();
    const std::string complaint = complaint_of([&] {
        scenarios::check_policies(list, scenario,
                                  sim::simulated_capabilities(market.data, scenario.job));
    });
    CHECK_THAT(complaint, Contains("turns the knob \"codec\", which the simulated market cannot"));
}

TEST_CASE("codec scenario: the first Plan's codec is read, and what cannot be is refused",
          "[scenario][codec]") {
    const auto training = [](std::string_view codec, std::string_view more = "") {
        return with(link, fmt::format(R"("training": {{"codec": {}{}}}, )", codec, more));
    };
    const scenarios::Scenario scenario = training(R"("power_sgd:4")");
    CHECK(scenario.job.plan.codec == policies::Codec::power_sgd);
    CHECK(scenario.job.plan.codec_level == 4);
    CHECK(scenario.training->step.error_feedback);
    CHECK_FALSE(
        training(R"("top_k")", R"(, "error_feedback": false)").training->step.error_feedback);
    CHECK_NOTHROW(training(R"("qsgd")"));
    const auto complaint = [&](std::string_view codec, std::string_view more = "") {
        return complaint_of([&] { training(codec, more); });
    };
    CHECK_THAT(complaint(R"("power_sdg")"), Contains("at /training/codec: expected one of none"));
    CHECK_THAT(complaint(R"("power_sgd:1.5")"),
               Contains("expected a whole number (rank) from 1 to 4096, found 1.5"));
    CHECK_THAT(complaint(R"("qsgd")", R"(, "error_feedback": true)"),
               Contains("its errors would grow, not fade"));
    CHECK_THAT(complaint(R"("fp16")", R"(, "synchronisation": "pair_averaging")"),
               Contains("averaging exchanges models and no gradients"));
    const auto time = [](std::string_view text) { return complaint_of([&] { with(text); }); };
    CHECK_THAT(time(R"("codecs": [{"codec": "fp16"}])"), Contains("\"bytes\" and a \"link\""));
    CHECK_THAT(time(R"("codecs": [{"codec": "none"}])"), Contains("other than none"));
    CHECK_THAT(time(R"("link": {"bandwidth": "1 GB/s"})"), Contains("goes with \"gradient\""));
    CHECK_THAT(time(link + R"(, "exchange": {"1": "0 s"})"), Contains("stands beside"));
    CHECK_THAT(time(link + R"(, "codecs": [{"codec": "fp16", "bytes": "1 MB"},
                                           {"codec": "fp16", "bytes": "2 MB"}])"),
               Contains("twice"));
}

TEST_CASE("codec scenario: codecs_on_slow_links states what simulate says", "[scenario][codec]") {
    const std::filesystem::path shipped = std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios";
    const scenarios::Scenario scenario =
        scenarios::read_scenario(shipped / "exchange/codecs_on_slow_links.json");
    REQUIRE(scenario.job.profile.step_time);
    REQUIRE(scenario.job.profile.step_time->codecs.size() == 4);
    for (const policies::CodecTime& row : scenario.job.profile.step_time->codecs) {
        const std::string codec = policies::text_of({row.codec, row.level});
        CAPTURE(codec);
        const scenarios::StepScenario steps = scenarios::read_step_scenario(
            shipped / "steps/resnet50_on_p3.json",
            std::vector<ConfigOverride>{{"/job/workers", "16"}, {"/job/codec", codec}});
        const sim::CodedBytes& coded = steps.jobs.front().coded;
        CHECK(static_cast<double>(row.bytes) ==
              Approx(static_cast<double>(coded.message.raw())).epsilon(0.01));
        CHECK(to_seconds(row.encoding.front().time) ==
              Approx(to_seconds(coded.encode + coded.decode)).epsilon(0.05));
    }
}

TEST_CASE("codec scenario: codecs_on_slow_links shows that compression pays there",
          "[scenario][codec]") {
    const scenarios::Scenario scenario = scenarios::read_scenario(
        std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/exchange/codecs_on_slow_links.json");
    REQUIRE(scenario.policies.size() == 3);
    std::vector<records::RunResult> results;
    for (const scenarios::PolicyList& list : scenario.policies) {
        for (scenarios::FinishedRun& run : runs_of(scenario, list.label()))
            results.push_back(run.result);
    }
    REQUIRE(results.size() == 3);
    for (const records::RunResult& result : results) CHECK(result.finished);
    // As many samples, in less time.
    CHECK(results[1].samples_done == results[0].samples_done);
    CHECK(to_hours(results[1].duration) < 0.6 * to_hours(results[0].duration));
    CHECK(to_hours(results[2].duration) < 0.6 * to_hours(results[0].duration));
}

}  // namespace ukemi
