// live_test.cpp — whole live runs of scenarios: real worker processes under the simulator's World.
//
// Markets are small series in scenario time that passes faster than the wall's. What is asserted
// never depends on how fast this machine is: only on what was decided, committed and counted.
#include "runtime/live_run.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "runtime/calibration.hpp"
#include "tests/runtime/live_rig.hpp"
#include "tests/support/committed_plans.hpp"

namespace ukemi {

TEST_CASE("live run: a calm one finishes, and its decisions can be replayed", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(1600, 2, "", "follow_capacity+spot_only");
    scenario.job.workers_min = 2;  // no step is made before both are there
    const runtime::LiveRun live =
        run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 10));
    require_finished(live, scenario);
    CHECK(live.record.steps.size() == 100);
    CHECK(live.run.result.revocations == 0);
    CHECK(live.run.result.launches == 2);
    CHECK(live.record.steps.back().report.loss < live.record.steps.front().report.loss);
    CHECK(live.record.incidents.empty());
    CHECK(live.run.result.predictor == "calibrated");
    CHECK(live.run.decisions.find(R"("kind":"calibrated")") < live.run.decisions.find('\n'));
}

TEST_CASE("live run: a forecast that is off on purpose is refused", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(1600, 2, "", "follow_capacity+spot_only");
    scenario.job.predictor.kind = policies::PredictorKind::disturbed;
    CHECK(complaint_of([&] {
              run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 10));
          }) ==
          "live.json: at /predictor: a live run corrects its forecast by what it measures: "
          "expected \"calibrated\", found \"disturbed\"");
}

TEST_CASE("live run: codecs are tried, changed on all workers at once, and judged", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(1600, 2, "", "spot_only+adaptive_codec");
    scenario.job.workers_min = 2;
    const runtime::LiveRun live =
        run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 10));
    require_finished(live, scenario);
    std::set<std::int64_t> bytes;
    for (const runtime::LiveRecord::Step& step : live.record.steps) {
        REQUIRE(step.report.words.size() == 2);
        CHECK(step.report.words[0].sent_bytes == step.report.words[1].sent_bytes);
        bytes.insert(step.report.words[0].sent_bytes);
    }
    // 16 · 16 + 16 + 16 · 4 + 4 numbers; at rank 4 only the first weight gets smaller.
    const std::set<std::int64_t> each{4 * 340, 2 * 340, 4 * (128 + 16 + 64 + 4),
                                      4 * (64 + 16 + 40 + 4)};
    CHECK(bytes == each);
    const std::string& log = live.run.decisions;
    const bool judged = log.find("compression pays") != std::string::npos ||
                        log.find("compression hurts here") != std::string::npos ||
                        log.find("loses too much") != std::string::npos ||
                        log.find("hides behind computing") != std::string::npos;
    CHECK(judged);
    CHECK(log.find("\"exchange\":{") != std::string::npos);
}

TEST_CASE("live run: models are averaged first, and gradients later", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(1600, 2, "", "spot_only+ada_sgd");
    scenario.job.workers_min = 2;
    scenario.policies.front().items.back().parameters = R"({"change_step": 50})";
    const runtime::LiveRun live =
        run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 10));
    require_finished(live, scenario);
    REQUIRE(live.record.steps.size() == 100);
    // Only gradients that are everybody's tell of their noise.
    CHECK_FALSE(live.record.steps[49].report.noise_measured);
    CHECK(live.record.steps[50].report.noise_measured);
    CHECK(live.record.steps.back().report.loss < live.record.steps.front().report.loss);
}

TEST_CASE("live run: several learners a worker, counted, saved, and alike in every run", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(2400, 2, "", "spot_only");
    scenario.job.workers_min = 2;
    scenario.job.plan.synchronisation = policies::Synchronisation::synchronous_averaging;
    scenario.job.plan.learners_per_gpu = 3;
    const runtime::LiveRun live =
        run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 1000));
    require_finished(live, scenario);
    REQUIRE(live.record.steps.size() == 50);
    CHECK(live.record.steps.back().learners == 3);
    CHECK(live.record.steps.back().report.loss < live.record.steps.front().report.loss);
    CHECK(runtime::steps_csv(live.record).find(",learners\n") != std::string::npos);
    const runtime::LiveRun again =
        run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 50));
    CHECK(again.record.steps.back().report.loss == live.record.steps.back().report.loss);

    // What it has learned is saved, and a longer run goes on from there.
    CHECK(live.record.last_saved_step == 50);
    runtime::LiveOptions resumed = options_in(folder, 1000);
    resumed.resume_from = live.record.last_checkpoint;
    scenario.job.samples_total += 480;
    const runtime::LiveRun rest = run_it(scenario, scenarios::calm_market(scenario), resumed);
    CHECK(rest.run.result.finished);
    REQUIRE(rest.record.steps.size() == 10);
    CHECK(rest.record.steps.front().samples == 2400 + 48);
    CHECK(rest.record.steps.back().learners == 3);
}

TEST_CASE("live run: learners are added and taken back by what is measured", "[live]") {
    const ScratchFolder folder;
    const std::string_view chosen = GENERATE("s_sgd", "synchronous_averaging");
    CAPTURE(chosen);
    scenarios::Scenario scenario = live_scenario(endless, 2, "", "spot_only+tune_learners");
    scenario.job.workers_min = 2;
    if (chosen == "synchronous_averaging") {
        scenario.job.plan.synchronisation = policies::Synchronisation::synchronous_averaging;
    }
    scenario.policies.front().items.back().parameters = R"({"window": "1 s", "learners_max": 3})";
    runtime::LiveOptions options = options_in(folder, 100);
    // What two learners bring is this machine's affair; that they are tried is not.
    RunUntil end(options, [](const runtime::LiveRecord& record) {
        return !record.steps.empty() && record.steps.back().learners == 2;
    });
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(live.interrupted);
    require_sound(live);
    CHECK(live.record.steps.front().learners == 1);
    CHECK(live.run.decisions.find("one learner more") != std::string::npos);
}

TEST_CASE("live run: the tuner of learners runs in both worlds from one scenario", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = scenarios::read_scenario(
        std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/learners/averaging_learners.json");
    scenario.job.samples_total = 100'000;
    const scenarios::NamedMarket market = scenarios::calm_market(scenario);
    const scenarios::FinishedRun simulated = scenarios::run_one(
        scenario, market, scenario.policies.front(), scenario.seed, {true, true, true, false});
    // Its table: the second brings 70 %, the third 3 %.
    CHECK(test::committed_plans(simulated.decisions).size() == 3);  // 2, 3, and 2 for good
    scenario.job.samples_total = endless;
    runtime::LiveOptions options = options_in(folder, 100);
    RunUntil end(options, [](const runtime::LiveRecord& record) {
        return !record.steps.empty() && record.steps.back().learners == 2;
    });
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(live.interrupted);
    CHECK(live.run.decisions.find("one learner more") != std::string::npos);
}

TEST_CASE("live run: what several learners cannot do is said before anybody starts", "[live]") {
    const ScratchFolder folder;
    const auto complaint = [&](std::string_view policies, auto change) {
        scenarios::Scenario scenario = live_scenario(800, 2, "", policies);
        change(scenario.job.plan);
        try {
            run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 10));
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const auto averages = [](policies::Plan& plan) {
        plan.synchronisation = policies::Synchronisation::synchronous_averaging;
    };
    CHECK_THAT(complaint("spot_only+tune_learners+adaptive_codec", averages),
               Catch::Contains("turns codec: several learners a worker leave it as it is"));
    CHECK_THAT(complaint("spot_only+tune_learners+ada_sgd", [](policies::Plan&) {}),
               Catch::Contains("turns synchronisation"));
    CHECK_THAT(complaint("spot_only+tune_learners",
                         [&](policies::Plan& plan) {
                             averages(plan);
                             plan.accumulation = 2;
                         }),
               Catch::Contains("expected accumulation 1"));
    CHECK_THAT(complaint("spot_only+tune_learners",
                         [](policies::Plan& plan) {
                             plan.synchronisation = policies::Synchronisation::pair_averaging;
                         }),
               Catch::Contains("learners_per_gpu"));
    scenarios::Scenario measured = live_scenario(800, 2, "", "spot_only");
    averages(measured.job.plan);
    measured.job.plan.learners_per_gpu = 3;
    CHECK_THROWS_WITH(runtime::measure_costs(measured, {}),
                      Catch::Contains("one replica a worker"));
}

TEST_CASE("live run: equal seeds and equal groups give equal weights", "[live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = live_scenario(800, 2, "", "spot_only");
    scenarios::Scenario gang = scenario;
    gang.job.workers_min = 2;  // no step is made before both are there
    const runtime::LiveRun first =
        run_it(gang, scenarios::calm_market(gang), options_in(folder, 10));
    const runtime::LiveRun second =
        run_it(gang, scenarios::calm_market(gang), options_in(folder, 10));
    require_finished(first, gang);
    REQUIRE(first.record.steps.size() == second.record.steps.size());
    for (std::size_t step = 0; step < first.record.steps.size(); ++step) {
        REQUIRE(first.record.steps[step].report.loss == second.record.steps[step].report.loss);
    }
}

TEST_CASE(
    "live run: the market takes and gives as the trace says, and decisions are those of the "
    "simulated run",
    "[live]") {
    // More work than there is time for: the run gives up at a moment of the scenario's clock, which
    // waits before every change of the market for what is to come before it.
    const ScratchFolder folder;
    write_text(folder.path() / "trace.csv",
               "# id=x duration_s=72000\nt_s,instances\n0,2\n40,1\n60,2\n80,0\n90,2\n");
    const scenarios::Scenario scenario =
        live_scenario(endless, 2, R"(, "notice": "5 s", "after_last_row": "hold")",
                      "follow_capacity+spot_only+checkpoint_on_notice", "110 s");
    const scenarios::NamedMarket market =
        scenarios::make_market(scenario, 1, folder.path() / "trace.csv");
    runtime::LiveOptions options = options_in(folder, 20);
    WaitingWall clock(options);
    const auto trained_by = [](std::int32_t workers) {
        return [workers](const runtime::LiveRecord& record) {
            return !record.steps.empty() && record.steps.back().workers == workers;
        };
    };
    clock.wait_at(Instant{} + seconds(34), trained_by(2));
    clock.wait_at(Instant{} + seconds(59), trained_by(1));
    clock.wait_at(Instant{} + seconds(74), trained_by(2));
    clock.wait_at(Instant{} + seconds(79),
                  [](const runtime::LiveRecord& record) { return !record.saved_samples.empty(); });
    clock.wait_at(Instant{} + seconds(109), [](const runtime::LiveRecord& record) {
        return record.steps.back().samples > record.saved_samples.front() + 16;
    });
    const runtime::LiveRun live = run_it(scenario, market, options);
    CHECK(clock.all_happened());
    require_sound(live);
    CHECK(live.run.result.duration == seconds(110));
    CHECK(live.run.result.revocations == 3);
    CHECK(live.run.result.revocation_events == 2);
    CHECK(live.run.result.transitions >= 4);
    CHECK(live.run.result.checkpoints >= 1);  // before the loss of both
    CHECK(live.record.incidents.empty());     // all losses were the market's

    const scenarios::FinishedRun simulated = scenarios::run_one(
        scenario, market, scenario.policies.front(), scenario.seed, {true, true, true, false});
    const std::vector<std::string> decided = test::committed_plans(live.run.decisions);
    CHECK(decided.size() >= 5);
    CHECK(decided == test::committed_plans(simulated.decisions));
}

TEST_CASE("live run: losses that fall into orders under way end nothing", "[live]") {
    // The market takes and gives, at first every 60 ms of the wall: into spawns, transitions,
    // agreements and checkpoints alike. Which of them differs from run to run; that the run goes on
    // does not. The pauses grow, so that on a machine of any speed some are long enough for a step.
    const ScratchFolder folder;
    std::string trace = "# id=x duration_s=72000\nt_s,instances\n0,2\n";
    double at = 30;
    for (int change = 1; change <= 100; ++change) {
        at += 6 * std::pow(1.05, change - 1);
        trace += fmt::format("{:.1f},{}\n", at, change % 4 == 0 ? 0 : 1 + change % 2);
    }
    write_text(folder.path() / "trace.csv", trace + fmt::format("{:.1f},2\n", at + 100));
    const scenarios::Scenario scenario =
        live_scenario(endless, 2, R"(, "notice": "2 s", "after_last_row": "hold")",
                      "follow_capacity+spot_only+checkpoint_on_notice");
    const scenarios::NamedMarket market =
        scenarios::make_market(scenario, 1, folder.path() / "trace.csv");
    runtime::LiveOptions options = options_in(folder, 100);
    RunUntil end(options, [](const runtime::LiveRecord& record) {
        return std::ranges::count_if(record.transitions,
                                     &runtime::LiveRecord::Transition::group_changed) >= 10;
    });
    const runtime::LiveRun live = run_it(scenario, market, options);
    CHECK(live.interrupted);
    require_sound(live);
    CHECK(live.run.result.revocation_events >= 2);
    CHECK_FALSE(live.record.steps.empty());
}

TEST_CASE("live run: the noise-scale policy runs in both worlds from one scenario", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario =
        live_scenario(16 * 512, 4, "", "noise_scale_resize+spot_only", "40 h",
                      R"(, "noise_scale": [{"samples": 0, "noise_scale": 10},
                              {"samples": 8192, "noise_scale": 90}])");
    scenario.job.plan.workers_max = 1;
    scenario.job.plan.fleet.front().count = 1;
    const scenarios::NamedMarket market = scenarios::calm_market(scenario);
    const runtime::LiveRun live = run_it(scenario, market, options_in(folder, 10));
    require_finished(live, scenario);
    for (const runtime::LiveRecord::Step& step : live.record.steps) {
        CHECK(std::isfinite(step.report.noise_scale));
    }
    const scenarios::FinishedRun simulated = scenarios::run_one(
        scenario, market, scenario.policies.front(), scenario.seed, {true, true, true, false});
    CHECK(simulated.result.finished);
    CHECK(test::committed_plans(simulated.decisions).size() ==
          3);  // from 1 worker to 4, as the curve rises
    CHECK(records::replay_decisions(simulated.decisions, "simulated").difference_count == 0);
}

TEST_CASE("live run: its workers can turn a codec whose costs nobody wrote down", "[live]") {
    const scenarios::Scenario scenario = live_scenario(1600, 2, "", "spot_only+accordion");
    const policies::Capabilities live =
        runtime::live_capabilities(scenarios::calm_market(scenario).data, scenario.job);
    CHECK(live.knobs.has(policies::Knob::codec));
    CHECK(live.codecs.size() == policies::codec_count - 1);
    const scenarios::PolicyList list =
        scenarios::parse_policies("accordion", scenario, "test").front();
    CHECK_NOTHROW(scenarios::check_policies(list, scenario, live));
}

TEST_CASE("live run: it saves as often as its policy says", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(3200, 2, "", "spot_only+periodic_checkpoint");
    scenario.job.workers_min = 2;
    runtime::LiveOptions options = options_in(folder, 1);
    SteppedWall clock(options);
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    require_finished(live, scenario);
    CHECK(live.run.result.checkpoints > 0);  // the first is due after 20 steps of 200
    CHECK(live.record.saved_samples.back() == 3200);
}

TEST_CASE("live run: what it cannot do is said before anything starts", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(1600, 2, "", "spot_only");
    scenario.training.reset();
    CHECK(complaint_of(
              [&] { run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 1)); }) ==
          "live.json: at /training: missing: a live run needs to know what its workers train");
    scenario = live_scenario(1600, 2, "", "spot_only");
    scenario.job.profile.lossless = true;
    CHECK(complaint_of(
              [&] { run_it(scenario, scenarios::calm_market(scenario), options_in(folder, 1)); }) ==
          "live.json: at /job/checkpoint: a live run can lose its model: expected what a "
          "checkpoint costs, as in {\"cost\": \"1 s\"}");
}

}  // namespace ukemi
