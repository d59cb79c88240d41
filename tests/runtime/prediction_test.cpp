// prediction_test.cpp — costs, what is predicted from them, and that it is written before anything
// runs. How near a prediction comes is printed by bench_predictions: no test depends on a time.
#include "runtime/prediction.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "runtime/live_run.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

namespace {

scenarios::Scenario trained_scenario(std::string_view model = "16",
                                     std::string_view job_keys = R"(, "restart": "1 s")",
                                     const std::filesystem::path& folder = {}) {
    return scenarios::scenario_from_text(fmt::format(R"({{"name": "predicted", "seed": 3,
            "job": {{"samples": 800, "batch_per_worker": 8,
                     "throughput": {{"1": "1000 samples/s"}},
                     "checkpoint": {{"cost": "1 s"}}{}}},
            "cluster": {{"count_min": 1, "count_max": 2}},
            "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
            "training": {{"data": {{"kind": "synthetic", "samples": 512, "features": 16,
                                   "classes": 4}},
                          "model": {{"kind": "mlp", "hidden": [{}]}}}},
            "replay": ["spot_only"]}})",
                                                     job_keys, model),
                                         folder / "predicted.json");
}

scenarios::LiveCosts made_costs(const scenarios::Scenario& scenario) {
    scenarios::LiveCosts costs;
    costs.training = scenarios::training_text(scenario);
    costs.device = scenarios::this_device();
    for (scenarios::StepSetting setting : runtime::calibration_grid(scenario, 2)) {
        const double s = 0.001 * setting.workers +
                         1e-5 * static_cast<double>(setting.batch * setting.micro_steps);
        costs.steps.push_back({setting, {{s, s * 1.1, s * 0.9}}});
    }
    for (const int workers : {1, 2}) {
        const scenarios::StepSetting own = scenarios::setting_of(scenario.job.plan, workers);
        costs.steps.push_back({own, {{0.001 * workers + 8e-5}}});
    }
    std::ranges::sort(costs.steps, {}, &scenarios::StepCosts::setting);
    costs.stretch_steps = 4;
    costs.spawn = {{1, {{0.05}}}, {2, {{0.07}}}};
    costs.restart = {{1, {{0.02, 0.03}}}, {2, {{0.035}}}};
    costs.grow.s = {0.01};
    costs.checkpoint.s = {0.004};
    costs.restore.s = {0.05};
    costs.worker_memory_bytes = 1 << 20;
    costs.machine.warm_up = 3;
    costs.machine.curves.push_back({"copy", 1, {{4096, 0, {{1e-6}}}, {65536, 2, {{1e-5}}}}});
    return costs;
}

}  // namespace

TEST_CASE("calibration: what the first steps take longer is part of a start", "[calibration]") {
    // Entered after 0.5 s; a first step of 0.3 s, a second of 0.05, then 0.01 (once 0.2) each.
    CHECK(runtime::warm_after_s(std::vector{0.8, 0.85, 0.86, 1.06, 1.07}) == Approx(0.83));
    // Nothing is longer: the start is over when the group has entered.
    CHECK(runtime::warm_after_s(std::vector{0.51, 0.52, 0.53, 0.54, 0.55}) == Approx(0.5));
    const std::vector<double> more{0.8, 0.85, 0.86, 1.06, 1.07, 9};
    CHECK(runtime::warm_after_s(runtime::first_reports(more)) == Approx(0.83));
    CHECK_THROWS_WITH(runtime::first_reports(std::span(more).first(4)),
                      "the group stood after 4 reports of its first 5 steps");
}

TEST_CASE("calibration: a grid varies batch, learners and synchronisation for each group",
          "[calibration]") {
    const std::vector<scenarios::StepSetting> grid =
        runtime::calibration_grid(trained_scenario(), 2);
    const auto has = [&](scenarios::StepSetting wanted) {
        return std::ranges::find(grid, wanted) != grid.end();
    };
    for (const int workers : {1, 2}) {
        CHECK(has({.workers = workers, .batch = 4}));
        CHECK(has({.workers = workers, .batch = 16}));
        CHECK(has({.workers = workers, .batch = 4, .micro_steps = 2}));
        CHECK(has({.workers = workers,
                   .batch = 8,
                   .synchronisation = policies::Synchronisation::synchronous_averaging}));
        for (const int batch : {4, 8, 16}) {  // for a line of their own
            CHECK(has({.workers = workers,
                       .batch = batch,
                       .synchronisation = policies::Synchronisation::pair_averaging}));
        }
        CHECK_FALSE(has({.workers = workers, .batch = 8}));  // the scenario's own, always measured
    }
}

TEST_CASE("calibration: what it measured of transitions is what a scenario's may be",
          "[calibration]") {
    const ScratchFolder folder;
    scenarios::LiveCosts costs = made_costs(trained_scenario());
    costs.grow.s = {0.9, 1.1, 1.0};
    costs.shrink.s = {0.3};
    costs.rendezvous.s = {0.25};
    costs.state_transfer.s = {0.5};
    costs.loss.s = {0.75};
    const auto file = folder.path() / "box.json";
    write_file_atomically(file, scenarios::costs_json(costs));
    const auto job_with = [&](std::string_view more) {
        return scenarios::scenario_from_text(fmt::format(R"({{"name": "measured", "seed": 1,
            "job": {{"samples": 1000, "batch": 10, "throughput": {{"1": "10 samples/s"}},
                     "transition": {{"costs": "box.json"{}}}}},
            "cluster": {{"count_min": 1, "count_max": 8}},
            "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
            "replay": ["on_demand"]}})",
                                                         more),
                                             folder.path() / "measured.json")
            .job;
    };
    const sim::JobSpec job = job_with("");
    REQUIRE(job.transition);
    CHECK(job.transition->system == "measured on " + scenarios::this_device());
    CHECK(job.profile.spawn == milliseconds(50));
    CHECK(job.profile.restart == milliseconds(35));  // as by two, the most that were measured
    CHECK(to_seconds(job.profile.resize) == Approx(1));
    const auto part = [&](sim::GroupChange change, policies::TransitionPhase phase) {
        return sim::phase_times(*job.transition, change, 4, 2)[static_cast<std::size_t>(phase)];
    };
    CHECK(part(sim::GroupChange::grow, policies::TransitionPhase::rendezvous) == milliseconds(250));
    CHECK(to_seconds(part(sim::GroupChange::grow, policies::TransitionPhase::transfer)) ==
          Approx(0.5));
    CHECK(part(sim::GroupChange::shrink, policies::TransitionPhase::transfer) == Duration{});
    CHECK(part(sim::GroupChange::grow, policies::TransitionPhase::warm_up) == milliseconds(250));
    CHECK(part(sim::GroupChange::shrink, policies::TransitionPhase::rendezvous) ==
          milliseconds(250));
    CHECK(part(sim::GroupChange::shrink, policies::TransitionPhase::warm_up) == milliseconds(500));
    const policies::TimeBySize& starts = job.transition->of(sim::GroupChange::start).rendezvous;
    CHECK(policies::time_for_size(starts, 1) == milliseconds(25));
    costs.loss.s.clear();  // then what is told to leave
    write_file_atomically(file, scenarios::costs_json(costs));
    const sim::TransitionCosts ordered = *job_with("").transition;
    CHECK(records::sum_of(sim::phase_times(ordered, sim::GroupChange::shrink, 4, 2)) ==
          milliseconds(300));
    CHECK(job.transition->file == "box.json");
    CHECK(sim::origin_of(*job.transition, sim::GroupChange::grow,
                         policies::TransitionPhase::warm_up) == sim::CostOrigin::measured);
    CHECK(sim::origin_of(*job.transition, sim::GroupChange::grow,
                         policies::TransitionPhase::spawn) == sim::CostOrigin::none);
    CHECK(job.transition->overlapped_spawn_from == sim::CostOrigin::measured);
    CHECK(job.transition->reattach_from == sim::CostOrigin::none);
    const sim::TransitionCosts beside = *job_with(R"(, "reattach": "5 ms")").transition;
    CHECK(beside.reattach == milliseconds(5));
    CHECK(beside.reattach_from == sim::CostOrigin::input);  // nobody measured it
    CHECK(beside.overlapped_spawn_from == sim::CostOrigin::measured);
    CHECK_THROWS_WITH(job_with(R"(, "warm_up": "1 s")"),
                      Catch::Contains("/job/transition/warm_up: stands beside \"costs\""));
    costs.training = "something else";  // which only a job that trains can contradict
    write_file_atomically(file, scenarios::costs_json(costs));
    CHECK_NOTHROW(job_with(""));
    CHECK_THROWS_WITH(
        trained_scenario("16", R"(, "transition": {"costs": "box.json"})", folder.path()),
        Catch::Contains("box.json: at /training: these costs are of another training"));
    costs.rendezvous.s.clear();
    write_file_atomically(file, scenarios::costs_json(costs));
    CHECK_THROWS_WITH(job_with(""),
                      Catch::Contains("box.json: at /rendezvous: nothing was measured"));
}

TEST_CASE("calibration: costs are read back as they were written", "[calibration]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = trained_scenario();
    const scenarios::LiveCosts costs = made_costs(scenario);
    const auto file = folder.path() / "box.json";
    write_text(file, scenarios::costs_json(costs));
    const scenarios::LiveCosts again = scenarios::read_costs(file);
    CHECK(scenarios::costs_json(again) == scenarios::costs_json(costs));
    CHECK(again.machine.curves.front().points.back().wrong == 2);
    CHECK(again.law().lines().size() == 2);
    const auto document = nlohmann::json::parse(scenarios::costs_json(costs));
    CHECK(document.at("law").at("residuals").size() == costs.steps.size());
    CHECK(document.at("machine").at("curves").at(0).contains("fit"));
}

TEST_CASE("calibration: a codec stands in costs as its name and level", "[calibration]") {
    scenarios::LiveCosts costs = made_costs(trained_scenario());
    costs.steps = {costs.steps.front(), costs.steps.front()};
    for (const std::size_t i : {0U, 1U}) {
        costs.steps[i].setting.codec = policies::Codec::power_sgd;
        costs.steps[i].setting.codec_level = i == 0 ? 2 : 4;
    }
    const std::string text = scenarios::costs_json(costs);
    CHECK_THAT(text, Catch::Contains(R"("codec": "power_sgd:2")") &&
                         Catch::Contains(R"("codec": "power_sgd:4")") &&
                         !Catch::Contains("codec_level"));
    const scenarios::LiveCosts again = scenarios::costs_from_text(text, "box.json");
    REQUIRE(again.steps.size() == 2);
    CHECK(again.steps[1].setting == costs.steps[1].setting);
    const auto with = [&](std::string_view codec) {
        std::string changed = text;
        const std::string_view was = R"("codec": "power_sgd:2")";
        changed.replace(changed.find(was), was.size(), codec);
        return complaint_of([&] { scenarios::costs_from_text(changed, "box.json"); });
    };
    CHECK(with(R"("codec": "power_sgd", "codec_level": 2)") ==
          "box.json: at /steps/0/codec_level: is no longer read: write it behind the codec's name, "
          "as in \"codec\": \"top_k:0.01\"");
    CHECK_THAT(with(R"("codec": "power_sgd:0.5")"),
               Catch::StartsWith("box.json: at /steps/0/codec: "));
}

TEST_CASE("calibration: costs of another training or machine are refused", "[calibration]") {
    const scenarios::Scenario scenario = trained_scenario();
    scenarios::LiveCosts costs = made_costs(scenario);
    CHECK(scenarios::measured_profile(costs, scenario, 1, "box.json").throughput.size() == 2);
    const scenarios::Scenario other = trained_scenario("17");
    CHECK(complaint_of([&] { scenarios::measured_profile(costs, other, 1, "box.json"); }) ==
          "box.json: at /training: these costs are of another training than that of "
          "predicted.json");
    const ScratchFolder folder;
    const auto read_as = [&](std::string_view was, std::string_view is) {
        std::string text = scenarios::costs_json(costs);
        text.replace(text.find(was), was.size(), is);
        write_text(folder.path() / "other.json", text);
        return complaint_of([&] { scenarios::read_costs(folder.path() / "other.json"); });
    };
    CHECK_THAT(read_as("\"version\": 3", "\"version\": 2"),
               Catch::EndsWith("other.json: at /version: this file is of version 2, and this ukemi "
                               "reads version 3: measure anew with ukemi calibrate"));
    CHECK_THAT(read_as("\"version\": 3", "\"version\": 4"),
               Catch::EndsWith("a newer ukemi has written it"));
    costs.device = "an abacus";
    CHECK_THAT(complaint_of([&] { scenarios::measured_profile(costs, scenario, 1, "box.json"); }),
               Catch::StartsWith("box.json: at /device: these costs were measured on another "
                                 "machine (an abacus; this is "));
    CHECK(scenarios::measured_profile(costs, scenario, 1, "box.json", {}).throughput.size() == 2);
}

TEST_CASE("calibration: costs are the profile of any scenario that names them", "[calibration]") {
    const ScratchFolder folder;
    scenarios::LiveCosts costs = made_costs(trained_scenario());
    costs.device = "a machine far away";  // its profile, not this one's
    write_text(folder.path() / "box.json", scenarios::costs_json(costs));
    const auto scenario_of = [&](std::string_view job) {
        return scenarios::scenario_from_text(fmt::format(R"({{"name": "profiled", "seed": 1,
                "job": {{"samples": 96000, "batch_per_worker": 12, {}
                         "checkpoint": {{"cost": "1 s"}}, "costs": "box.json"}},
                "cluster": {{"count": 2}},
                "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
                "replay": ["spot_only"]}})",
                                                         job),
                                             folder.path() / "profiled.json");
    };
    const scenarios::Scenario scenario = scenario_of("");
    const policies::JobProfile& profile = scenario.job.profile;
    REQUIRE(profile.throughput.size() == 2);
    // 0.002 s + 12 × 1e-5 s by two, by the law: 12 samples were not measured.
    CHECK(to_seconds(profile.throughput[1].rate.per) == Approx(0.00212).epsilon(0.01));
    CHECK(profile.spawn == seconds(0.07));  // two at once
    CHECK(profile.restart == seconds(0.035));
    CHECK(profile.restore == seconds(0.025));  // was measured with one
    CHECK(profile.checkpoint == seconds(0.004));
    const scenarios::FinishedRun run =
        scenarios::run_one(scenario, scenarios::calm_market(scenario), scenario.policies.front(), 1,
                           {false, false, false, false});
    CHECK(run.result.finished);
    CHECK(to_seconds(run.result.duration) == Approx(4000 * 0.00212 + 0.105).epsilon(0.01));
    CHECK_THAT(complaint_of([&] { scenario_of(R"("restart": "1 s",)"); }),
               Catch::Contains("at /job/restart: stands beside \"costs\", which says it"));
    write_text(folder.path() / "box.json", "{}");
    CHECK_THAT(complaint_of([&] { scenario_of(""); }), Catch::Contains("box.json: at "));
}

TEST_CASE("calibration: a job that names costs can run live without what a checkpoint costs",
          "[calibration]") {
    const ScratchFolder folder;
    write_text(folder.path() / "box.json", scenarios::costs_json(made_costs(trained_scenario())));
    const auto scenario_of = [&](std::string_view checkpoint) {
        return scenarios::scenario_from_text(fmt::format(R"({{"name": "measured", "seed": 3,
                "job": {{"samples": 800, "batch_per_worker": 8, {}"costs": "box.json"}},
                "cluster": {{"count_min": 1, "count_max": 2}},
                "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}},
                "training": {{"data": {{"kind": "synthetic", "samples": 512, "features": 16,
                                       "classes": 4}},
                              "model": {{"kind": "mlp", "hidden": [16]}}}},
                "replay": ["spot_only"]}})",
                                                         checkpoint),
                                             folder.path() / "measured.json");
    };
    const auto expect_live = [](const scenarios::Scenario& scenario) {
        runtime::expect_live(scenario, scenarios::told_market(scenario, "share"),
                             scenarios::first_policies(scenario));
    };
    for (const char* checkpoint : {"", R"("checkpoint": {"restore": "1 s"}, )"}) {
        CAPTURE(checkpoint);
        const scenarios::Scenario scenario = scenario_of(checkpoint);
        CHECK(scenario.job.profile.checkpoint == seconds(0.004));
        CHECK(scenario.job.profile.restore == seconds(0.025));
        CHECK_NOTHROW(expect_live(scenario));
    }
    const scenarios::Scenario lossless = scenario_of(R"("checkpoint": {"kind": "lossless"}, )");
    CHECK_THAT(complaint_of([&] { expect_live(lossless); }),
               Catch::Contains("a live run can lose its model"));
}

TEST_CASE("calibration: a job of a shared cluster starts with spawned workers that meet",
          "[calibration]") {
    const ScratchFolder folder;
    write_text(folder.path() / "box.json", scenarios::costs_json(made_costs(trained_scenario())));
    write_text(folder.path() / "one.json", R"({"name": "one", "seed": 3,
        "job": {"samples": 800, "batch_per_worker": 8, "samples_per_epoch": 80,
                "costs": "box.json"},
        "cluster": {"count_min": 1, "count_max": 2},
        "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
        "replay": ["spot_only"]})");
    const auto job_with = [&](std::string_view more) {
        return scenarios::schedule_scenario_from_text(
                   fmt::format(R"({{"name": "shared", "trains": "one.json", {}
                       "cluster": {{"machines": 1, "gpus_per_machine": 2}},
                       "jobs": [{{"name": "a", "gpus": 2}}],
                       "schedulers": [{{"name": "fifo"}}]}})",
                               more),
                   folder.path() / "shared.json")
            .jobs.front();
    };
    CHECK(job_with("").restart == seconds(0.07 + 0.035));
    CHECK(job_with(R"("time_scale": 10,)").restart == seconds(0.7 + 0.35));
    CHECK(job_with(R"("restart": "1 s",)").restart == seconds(1));
}

TEST_CASE("prediction: what was measured is not predicted, and the rest is", "[prediction]") {
    const scenarios::Scenario scenario = trained_scenario();
    const scenarios::LiveCosts costs = made_costs(scenario);
    const std::vector<scenarios::StepSetting> settings =
        runtime::unmeasured_settings(costs, scenario, 100);
    CHECK(settings.size() >= 6);
    for (const scenarios::StepSetting& setting : settings) {
        CAPTURE(scenarios::setting_text(setting));
        CHECK(costs.find(setting) == nullptr);
        CHECK(costs.law().refusal(setting).empty());
    }
    CHECK(runtime::unmeasured_settings(costs, scenario, 3).size() == 3);
    const runtime::Prediction prediction =
        runtime::predict_runs(costs, "box.json", scenario, settings, 0.5);
    REQUIRE(prediction.runs.size() == settings.size() + 2);
    for (const runtime::PredictedRun& run : prediction.runs) {
        // What is run beside them was measured: it shows how far the machine has moved.
        CHECK(run.control == (costs.find(run.setting) != nullptr));
        // Spawning and entering come before the steps, which are all counted.
        const double steps_s = run.step_s * static_cast<double>(run.steps);
        CHECK(run.total_s >= steps_s);
        const double start_s = run.setting.workers == 1 ? 0.075 : 0.105;
        CHECK(run.total_s == Approx(steps_s + start_s).margin(0.001));
        CHECK((run.control || run.covered == costs.law().covers(run.setting)));
        CHECK((run.control || run.step_least_s < run.step_s));
    }
    // Laws of the means and of the least cross beyond what was measured.
    scenarios::LiveCosts crossing = costs;
    for (scenarios::StepCosts& one : crossing.steps) {
        const double mean = one.step.middle_mean();
        one.step.s = {mean * (one.setting.batch > 8 ? 0.999 : 0.5), mean, mean};
    }
    scenarios::StepSetting far = settings.front();
    far.batch = 100'000;
    const std::vector<scenarios::StepSetting> one_far{far};
    const auto beyond = runtime::predict_runs(crossing, "box.json", scenario, one_far, 0.5);
    CHECK_FALSE(beyond.runs[0].covered);
    CHECK(beyond.runs[0].step_least_s <= beyond.runs[0].step_s);
    const runtime::ComparedRun shown{beyond.runs[0], {{0.1}}, {{0.1}}, {{1}}};
    CHECK_THAT(runtime::comparison_table(std::span(&shown, 1)),
               Catch::Contains(" * ") &&
                   Catch::Contains("* its batch lies beyond those that were measured"));
    const std::vector<scenarios::StepSetting> known{costs.steps.front().setting};
    CHECK_THAT(
        complaint_of([&] { runtime::predict_runs(costs, "box.json", scenario, known, 0.5); }),
        Catch::Contains("was measured, there is nothing to predict"));
}

TEST_CASE("prediction: is written under its digest before anything runs, and else nothing runs",
          "[prediction][live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = trained_scenario();
    const scenarios::LiveCosts costs = made_costs(scenario);
    const auto settings = runtime::unmeasured_settings(costs, scenario, 2);
    const runtime::Prediction prediction =
        runtime::predict_runs(costs, "box.json", scenario, settings, 0.05);
    runtime::LiveOptions live;
    live.worker_program = UKEMI_BINARY;
    live.worker_arguments = {"worker"};
    live.folder = folder.path();
    std::string seen_digest;
    std::size_t steps_seen = 0;
    std::size_t steps_before = 0;  // of the same run
    live.on_progress = [&](const runtime::LiveRecord& record) {
        const std::size_t steps = record.steps.size();
        steps_seen += steps < steps_before ? steps : steps - steps_before;
        steps_before = steps;
        if (steps == 0 || !seen_digest.empty()) return;
        const std::string text = read_file(folder.path() / "prediction.json");
        seen_digest = fmt::format("{:016x}", text_digest(text));
    };
    const auto run = [&] {
        return runtime::run_predicted(scenario, prediction, folder.path(), 1, live);
    };
    CHECK_THROWS(run());  // nothing is written yet
    const std::string digest = runtime::write_prediction(prediction, folder.path());
    CHECK(folder.text_of("prediction.digest") == digest + "\n");
    const std::vector<runtime::ComparedRun> compared = run();
    CHECK(seen_digest == digest);
    REQUIRE(compared.size() == prediction.runs.size());
    std::int64_t steps = 0;
    for (const runtime::ComparedRun& one : compared) {
        steps += one.predicted.steps;
        CHECK(one.total.s.size() == 1);
        CHECK(one.step_error() ==
              Approx(one.predicted.step_s / one.step.median() - 1).epsilon(1e-12));
        CHECK(one.total.median() > one.step.median());
        // One stretch: the calibration's settings have no more of them in common.
        CHECK(one.least.s.size() == 1);
        CHECK(one.least_error() ==
              Approx(one.predicted.step_least_s / one.least.median() - 1).epsilon(1e-12));
    }
    CHECK(static_cast<std::int64_t>(steps_seen) == steps);
    const std::string csv = runtime::comparison_csv(compared, digest);
    CHECK_THAT(csv, Catch::StartsWith("workers,batch,micro_steps,synchronisation,collective,codec,"
                                      "steps,step_s_predicted,step_s_measured,step_error,") &&
                        Catch::Contains(digest));
    const std::string table = runtime::comparison_table(compared);
    CHECK_THAT(table, Catch::Contains("measured by the calibration, and now again: ") &&
                          Catch::Contains(" of 2 within 10 % (step and total time)"));
    write_text(folder.path() / "prediction.json", "{}\n");  // changed afterwards
    CHECK_THAT(complaint_of(run), Catch::Contains("is not the prediction of these runs"));
}

TEST_CASE("prediction: a run is named by its parts", "[prediction]") {
    const scenarios::Scenario scenario = trained_scenario();
    const scenarios::StepSetting own = scenarios::setting_of(scenario.job.plan, 2);
    CHECK(runtime::parse_setting("", scenario, "--run") == own);
    const scenarios::StepSetting setting = runtime::parse_setting(
        "workers=1,batch=12,synchronisation=pair_averaging", scenario, "--run");
    CHECK(setting.workers == 1);
    CHECK(setting.batch == 12);
    CHECK(setting.synchronisation == policies::Synchronisation::pair_averaging);
    const auto complaint = [&](std::string_view text) {
        return complaint_of([&] { runtime::parse_setting(text, scenario, "--run"); });
    };
    CHECK(complaint("batch") == "--run: expected parts such as batch=96, found \"batch\"");
    CHECK(complaint("bacth=4") == "--run: unknown part \"bacth\" (did you mean \"batch\"?)");
    CHECK(complaint("batch=0") == "--run: expected batch from 1 to 1000000000, found \"0\"");
    CHECK(complaint("synchronisation=s_sdg") ==
          "--run: expected one of s_sgd, synchronous_averaging, elastic_averaging, pair_averaging, "
          "local_sgd, stale_parameter_server, found \"s_sdg\" (did you mean \"s_sgd\"?)");
    CHECK(complaint("micro_steps=2,synchronisation=local_sgd") ==
          "--run: local_sgd cannot be trained here");
    CHECK(complaint("learners=2") ==
          "--run: learners is no longer read: write micro_steps=2, the batches that a worker "
          "computes for a step");
}

TEST_CASE("calibration: a grid of real steps has every setting with its stretches",
          "[calibration][live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = trained_scenario();
    runtime::CalibrationOptions options;
    options.workers_max = 2;
    options.steps = 3;
    options.stretches = 2;
    options.repetitions = 1;
    options.changes = 1;
    options.settings = {{.workers = 2, .batch = 4},
                        {.workers = 2,
                         .batch = 8,
                         .synchronisation = policies::Synchronisation::synchronous_averaging}};
    options.live.worker_program = UKEMI_BINARY;
    options.live.worker_arguments = {"worker"};
    options.live.folder = folder.path();
    const scenarios::LiveCosts costs = runtime::measure_costs(scenario, options);
    CHECK(costs.steps.size() == 4);
    for (const scenarios::StepCosts& step : costs.steps) CHECK(step.step.s.size() == 2);
    for (const scenarios::StepSetting& setting : options.settings)
        CHECK(costs.find(setting) != nullptr);
    CHECK(costs.spawn.at(1).s.size() == 2);  // to restore, and anew
    CHECK(costs.spawn.at(2).s.size() == 2);  // at first, and anew
    CHECK(costs.restart.at(1).s.size() == 2);
    CHECK(costs.restart.at(2).s.size() == 1);
    CHECK(costs.grow.s.size() == 2);
    CHECK(costs.rendezvous.s.size() == 2);  // of growing alone
    CHECK(costs.state_transfer.s.size() == 2);
    CHECK(costs.shrink.s.size() == 1);
    CHECK(costs.loss.s.size() == 1);
    CHECK(costs.start_beside.s.size() == 1);
    CHECK(costs.start_beside.s[0] >= 0);
    const std::atomic<int> stop_requests{1};
    options.live.stop_requests = &stop_requests;
    CHECK_THROWS_WITH(runtime::measure_costs(scenario, options), "calibration: interrupted");
    CHECK(costs.worker_memory_bytes > 0);
}

}  // namespace ukemi
