// live_end_test.cpp — live runs that end before their work is done: what was learned is kept.
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "kernels/checkpoint_file.hpp"
#include "runtime/live_pieces.hpp"
#include "runtime/saved_checkpoints.hpp"
#include "tests/runtime/live_rig.hpp"

namespace ukemi {

namespace {

// Two workers that train without end.
scenarios::Scenario endless_scenario(std::string_view give_up_after = "40 h") {
    scenarios::Scenario scenario = live_scenario(endless, 2, "", "spot_only", give_up_after);
    scenario.job.workers_min = 2;
    return scenario;
}

auto after_step(std::int64_t step) {
    return [step](const runtime::LiveRecord& record) {
        return !record.steps.empty() && record.steps.back().step >= step;
    };
}

// A worker that does something else than to train for ever: tests/runtime/live_worker.cpp.
runtime::LiveOptions options_with_worker(const ScratchFolder& folder,
                                         std::vector<std::string> arguments) {
    runtime::LiveOptions options = options_in(folder, 10);
    const char* elsewhere = std::getenv("UKEMI_LIVE_WORKER");
    options.worker_program = elsewhere != nullptr ? elsewhere : UKEMI_LIVE_WORKER;
    options.worker_arguments = std::move(arguments);
    options.first_pause = std::chrono::milliseconds(1);
    return options;
}

void require_saved(const runtime::LiveRun& live) {
    REQUIRE_FALSE(live.record.steps.empty());
    const kernels::Checkpoint saved = kernels::read_checkpoint(live.record.last_checkpoint);
    CHECK(saved.step == live.record.steps.back().step + 1);
    CHECK(saved.position == live.record.steps.back().samples);
    CHECK(live.record.last_saved_step == saved.step);
}

}  // namespace

TEST_CASE("live run: told to stop it saves all it has done, and resumed equals the undisturbed one",
          "[live]") {
    const scenarios::Scenario scenario = endless_scenario();
    const auto run_until = [&](const ScratchFolder& folder, std::int64_t step,
                               const std::filesystem::path& from = {}) {
        runtime::LiveOptions options = options_in(folder, 10);
        options.resume_from = from;
        RunUntil end(options, after_step(step));
        runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
        CHECK(live.interrupted);
        CHECK_FALSE(live.run.result.finished);
        CHECK(live.record.stopped == "told to stop");
        CHECK(live.run.result.unfinished_because == "told to stop");
        CHECK(live.record.torn_steps == 0);
        require_sound(live, from.empty() ? 0 : kernels::read_checkpoint(from).position);
        require_saved(live);
        CHECK(live.run.result.samples_done == live.record.steps.back().samples);
        return live;
    };
    const ScratchFolder folders[3];
    const runtime::LiveRun first = run_until(folders[0], 30);
    const std::int64_t from = first.record.last_saved_step;
    const runtime::LiveRun rest = run_until(folders[1], from + 20, first.record.last_checkpoint);
    const runtime::LiveRun whole = run_until(folders[2], rest.record.last_saved_step);
    for (const runtime::LiveRecord::Step& step : rest.record.steps) {
        const auto& same = whole.record.steps.at(static_cast<std::size_t>(step.step));
        REQUIRE(step.report.loss == same.report.loss);
        REQUIRE(step.samples == same.samples);
    }
}

TEST_CASE("live run: resumed, its clock, deadline and bill go on from its account", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = endless_scenario();
    runtime::LiveOptions options = options_in(folder, 10);
    options.keeps_account = true;
    RunUntil end(options, after_step(30));
    const runtime::LiveRun first = run_it(scenario, scenarios::calm_market(scenario), options);
    const std::uint64_t job = runtime::live_job_identity(scenario, scenario.seed);
    const auto account = runtime::account_beside(first.record.last_checkpoint, job);
    REQUIRE(account);
    CHECK(account->totals.duration == first.run.result.duration);
    CHECK(account->totals.cost == first.run.result.cost);

    runtime::LiveOptions rest = options_in(folder, 10);
    rest.keeps_account = true;
    rest.resume_from = first.record.last_checkpoint;
    rest.before = account;
    // Half a second more than the first piece took: the spawn alone takes that at this scale.
    const Duration deadline = account->totals.duration + seconds(0.01);
    scenario.job.deadline = Instant{} + deadline;
    scenario.job.samples_total = first.record.steps.back().samples + 16 * 20;
    const runtime::LiveRun last = run_it(scenario, scenarios::calm_market(scenario), rest);
    const records::RunResult& whole = last.run.result;
    CHECK(whole.finished);
    CHECK(whole.deadline == deadline);
    CHECK_FALSE(whole.deadline_met);
    CHECK(whole.duration > deadline);
    CHECK(whole.cost > account->totals.cost);
    CHECK(whole.held > account->totals.held);
    CHECK(whole.causes.time_sum() == whole.held);
    CHECK(whole.causes.cost_sum() == whole.cost);
    CHECK(whole.launches == 4);
    CHECK(last.record.steps.front().at > Instant{} + account->totals.duration);
    CHECK(whole.timeline.front().at == Instant{} + account->totals.duration);
    CHECK(whole.timeline.front().spent == account->totals.cost);
    require_sound(last, first.record.steps.back().samples);
    const auto after = runtime::account_beside(last.record.last_checkpoint, job);
    REQUIRE(after);
    CHECK(after->pieces == 2);
    CHECK(after->totals.duration == whole.duration);
    CHECK(after->totals.cost == whole.cost);
    CHECK_THAT(runtime::live_json(last.record), Catch::Contains("\"earlier_pieces\": 1"));

    // What is spent, or over, is refused before a machine is bought.
    rest.budget = account->totals.cost;
    const auto refused = [&] { run_it(scenario, scenarios::calm_market(scenario), rest); };
    CHECK_THAT(complaint_of(refused),
               Catch::StartsWith("--budget: ") && Catch::Contains("are spent already"));
    rest.budget.reset();
    scenario.give_up_after = account->totals.duration;
    CHECK_THAT(complaint_of(refused), Catch::Contains("at /job/give_up_after: the run gives up"));
}

TEST_CASE("live run: resumed after its deadline, policies still have one", "[live]") {
    const ScratchFolder folder;
    const std::string policy = GENERATE("uniform_progress", "greedy", "time_sliced");
    CAPTURE(policy);
    scenarios::Scenario scenario =
        live_scenario(160, 1, "", policy, "40 h", R"(, "deadline": "1 h")");
    runtime::RunAccount before;
    before.totals.duration = whole_seconds(2 * 3600);
    CHECK(runtime::scenario_after(before, scenario).job.deadline > Instant{});
    runtime::LiveOptions options = options_in(folder, 10);
    options.before = before;
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK_FALSE(live.run.result.deadline_met);
    require_finished(live, scenario);  // and its decisions can be replayed
}

TEST_CASE("live run: resumed, the market goes on from where it was", "[live]") {
    const scenarios::Scenario scenario = endless_scenario();
    scenarios::NamedMarket market = scenarios::calm_market(scenario);
    market.data.zones[0].capacity.steps = {{Instant{}, 2}, {Instant::at(whole_seconds(100)), 1}};
    sim::prepare(market.data);
    runtime::RunAccount before;
    before.totals.duration = whole_seconds(40);
    const auto later = runtime::market_after(before, market).data.zones[0].capacity.steps;
    REQUIRE(later.size() == 2);
    CHECK(later[1].at == Instant::at(whole_seconds(60)));
}

TEST_CASE("live run: in its midst a checkpoint has an account that adds up", "[live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario =
        live_scenario(endless, 2, "", "spot_only+periodic_checkpoint");
    runtime::LiveOptions options = options_in(folder, 100);
    options.keeps_account = true;
    std::optional<runtime::RunAccount> seen;
    RunUntil end(options, [&](const runtime::LiveRecord& record) {
        if (record.saved_samples.empty()) return false;
        if (!seen) {
            seen = runtime::account_beside(record.last_checkpoint,
                                           runtime::live_job_identity(scenario, scenario.seed));
        }
        return true;
    });
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    REQUIRE(seen);                         // it was read, so its sums are right
    CHECK(seen->totals.checkpoints == 1);  // and its own time and dollars
    CHECK(seen->totals.causes.time_of(records::Cause::checkpoint) > Duration{});
    CHECK(seen->totals.held > Duration{});
    CHECK(seen->totals.cost > Dollars{});
    CHECK(seen->totals.duration < live.run.result.duration);
    CHECK(seen->totals.cost < live.run.result.cost);
}

TEST_CASE("live run: an account that cannot be written is said once, and ends nothing", "[live]") {
    const ScratchFolder folder;
    std::filesystem::create_directory(folder.path() / "account.json");
    const scenarios::Scenario scenario =
        live_scenario(endless, 2, "", "spot_only+periodic_checkpoint");
    runtime::LiveOptions options = options_in(folder, 100);
    options.keeps_account = true;
    RunUntil end(options, [&](const runtime::LiveRecord& record) {
        return record.saved_samples.size() >= 2;
    });
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK_FALSE(live.failure);
    CHECK(live.interrupted);
    REQUIRE(live.record.incidents.size() == 1);
    CHECK_THAT(live.record.incidents[0],
               Catch::StartsWith("its time and money are not written down") &&
                   Catch::Contains("account.json"));
    require_saved(live);
}

TEST_CASE("live run: a damaged checkpoint is left for the whole one before it", "[live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario =
        live_scenario(endless, 1, R"(, "notice": "0 s")", "spot_only+periodic_checkpoint", "120 s");
    // The only worker is taken at 50 s, and one comes at 60 s.
    scenarios::NamedMarket market = scenarios::calm_market(scenario);
    market.data.zones[0].capacity.steps = {
        {Instant{}, 1}, {Instant::at(whole_seconds(50)), 0}, {Instant::at(whole_seconds(60)), 1}};
    sim::prepare(market.data);
    const bool all = GENERATE(false, true);  // of them are damaged
    CAPTURE(all);
    runtime::LiveOptions options = options_in(folder, 100);
    WaitingWall clock(options);
    std::size_t before = 0;
    std::int64_t saved = 0;
    // Whatever a start takes, two saves come before the loss, one every 20 s.
    clock.wait_at(Instant::at(whole_seconds(4)),
                  [](const runtime::LiveRecord& record) { return !record.steps.empty(); });
    clock.wait_at(Instant::at(whole_seconds(49)), [&](const runtime::LiveRecord& record) {
        if (record.saved_samples.size() < 2) return false;
        for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
            if (all || file.path().filename() == record.last_checkpoint.filename()) {
                std::filesystem::resize_file(file.path(), 100);
            }
        }
        before = record.steps.size();
        saved = record.saved_samples[record.saved_samples.size() - 2];
        return true;
    });
    clock.wait_at(Instant::at(whole_seconds(119)), [&](const runtime::LiveRecord& record) {
        return all || record.steps.size() > before + 20;
    });
    const runtime::LiveRun live = run_it(scenario, market, options);
    if (all) {
        CHECK_THAT(live.record.stopped,
                   Catch::Contains("no group could be formed") && Catch::Contains("is cut short"));
        return;
    }
    require_sound(live);
    REQUIRE(live.record.incidents.size() == 1);
    CHECK_THAT(live.record.incidents[0], Catch::Contains("is cut short") &&
                                             Catch::Contains("is used in place of it, and ") &&
                                             Catch::Contains("made again"));
    const auto again = std::ranges::adjacent_find(
        live.record.steps, [](const auto& one, const auto& next) { return next.step <= one.step; });
    REQUIRE(again != live.record.steps.end());
    CHECK(std::next(again)->samples == saved + 8);
    CHECK(live.run.result.causes.time_of(records::Cause::redone) > Duration{});
}

TEST_CASE("live run: checkpoints are found beside a bare name, and a folder that is none is named",
          "[live]") {
    const ScratchFolder folder;
    for (const std::int64_t step : {1, 2}) {
        kernels::Checkpoint saved;
        saved.step = step;
        kernels::write_checkpoint(folder.path() / fmt::format("checkpoint-{:012}.ukemi", step),
                                  saved);
    }
    std::filesystem::resize_file(folder.path() / "checkpoint-000000000002.ukemi", 10);
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::filesystem::path bare = "checkpoint-000000000002.ukemi";
    const auto found = runtime::newest_whole_checkpoint(bare.parent_path());
    std::filesystem::current_path(before);
    REQUIRE(found);
    CHECK(found->file == "checkpoint-000000000001.ukemi");
    CHECK_THAT(complaint_of([&] { runtime::newest_whole_checkpoint(folder.path() / "none"); }),
               Catch::Contains("none: its checkpoints cannot be listed: No such file"));
}

TEST_CASE("live run: one that is done has saved its model, once", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(1600, 2, "", "spot_only");
    scenario.job.workers_min = 2;
    runtime::LiveOptions options = options_in(folder, 10);
    const runtime::LiveRun done = run_it(scenario, scenarios::calm_market(scenario), options);
    require_finished(done, scenario);
    require_saved(done);
    CHECK(done.record.saved_samples == std::vector<std::int64_t>{1600});
    CHECK(done.run.result.checkpoints == 0);  // none that the run had to wait for
    options.resume_from = done.record.last_checkpoint;
    const runtime::LiveRun again = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(again.run.result.finished);
    CHECK(again.record.steps.empty());
    CHECK(again.record.saved_samples.empty());
}

TEST_CASE("live run: giving up, it saves what all have done", "[live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = endless_scenario("30 s");
    runtime::LiveOptions options = options_in(folder, 100);
    WaitingWall clock(options);
    clock.wait_at(Instant{} + seconds(29), after_step(20));
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(clock.all_happened());
    CHECK_FALSE(live.interrupted);
    CHECK_FALSE(live.run.result.finished);
    CHECK(live.run.result.duration == seconds(30));
    require_sound(live);
    require_saved(live);
}

TEST_CASE("live run: whatever breaks it off, its record and its model are kept", "[live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = endless_scenario();
    runtime::LiveOptions options = options_in(folder, 10);
    bool broke = false;
    options.on_progress = [&](const runtime::LiveRecord& record) {
        if (!after_step(20)(record) || std::exchange(broke, true)) return;
        throw std::runtime_error("something broke");
    };
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    REQUIRE(live.failure);
    CHECK_THROWS_WITH(std::rethrow_exception(live.failure), "something broke");
    CHECK(live.record.stopped == "something broke");
    CHECK_FALSE(live.run.result.finished);
    CHECK(live.run.result.samples_done == live.record.steps.back().samples);
    CHECK(live.run.result.cost > Dollars{});
    require_saved(live);
}

TEST_CASE("live run: told to stop before its first step, it has nothing to save", "[live]") {
    const ScratchFolder folder;
    const std::atomic<int> requests{1};
    runtime::LiveOptions options = options_in(folder, 10);
    options.stop_requests = &requests;
    const scenarios::Scenario scenario = endless_scenario();
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(live.interrupted);
    CHECK(live.record.steps.empty());
    CHECK(live.record.last_checkpoint.empty());
}

TEST_CASE("live run: told to stop twice, it saves nothing more", "[live]") {
    const ScratchFolder folder;
    std::atomic<int> requests{0};
    runtime::LiveOptions options = options_in(folder, 10);
    options.stop_requests = &requests;
    options.on_progress = [&](const runtime::LiveRecord& record) {
        if (after_step(20)(record)) requests = 2;
    };
    const scenarios::Scenario scenario = endless_scenario();
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(live.interrupted);
    CHECK(live.record.last_checkpoint.empty());
    REQUIRE_FALSE(live.record.incidents.empty());
    CHECK(live.record.incidents.back().ends_with("told to stop at once: the model is not saved"));
}

TEST_CASE("live run: a step that does not end holds nobody up who was told to stop", "[live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = endless_scenario();
    // The 20th gradient of each takes for ever, while their hearts beat.
    runtime::LiveOptions options = options_with_worker(folder, {"hanging", "20"});
    options.stop_within = std::chrono::milliseconds(400);
    RunUntil end(options, after_step(18));
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK(live.interrupted);
    CHECK(live.record.steps.size() == 19);
    REQUIRE_FALSE(live.record.incidents.empty());
    CHECK(live.record.incidents.back().ends_with("the model could not be saved in time"));
}

TEST_CASE("live run: workers that die before they train are not started for ever", "[live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = endless_scenario();
    runtime::LiveOptions options = options_with_worker(folder, {"dying", "1"});
    std::vector<std::size_t> told;
    options.on_progress = [&](const runtime::LiveRecord& record) {
        told.push_back(record.incidents.size());
    };
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario), options);
    CHECK_FALSE(live.run.result.finished);
    CHECK_FALSE(live.interrupted);
    CHECK(live.record.steps.empty());
    CHECK_THAT(live.record.stopped, Catch::Contains("workers in a row died, and nothing was won"));
    CHECK_THAT(live.record.stopped, Catch::Contains("killed by signal 9"));
    CHECK(live.record.incidents.size() >= 8);
    CHECK(live.run.result.launches <= 12);
    for (std::size_t count = 1; count <= 8; ++count) {  // each at its time
        CHECK(std::ranges::find(told, count) != told.end());
    }
}

TEST_CASE("live run: workers that always die at the same step end the run, too", "[live]") {
    // One by one: each begins anew, makes five steps that were made before, and dies at the sixth.
    const ScratchFolder folder;
    const scenarios::Scenario scenario = live_scenario(endless, 1, "", "spot_only");
    const runtime::LiveRun live = run_it(scenario, scenarios::calm_market(scenario),
                                         options_with_worker(folder, {"dying", "6"}));
    CHECK_FALSE(live.run.result.finished);
    CHECK_THAT(live.record.stopped, Catch::Contains("nothing was won between"));
    CHECK(live.record.incidents.size() == 8);
    CHECK(live.record.steps.size() == 8 * 5);
}

TEST_CASE("live run: a checkpoint that is none is refused before anything starts", "[live]") {
    const ScratchFolder folder;
    scenarios::Scenario scenario = live_scenario(160, 1, "", "spot_only");
    runtime::LiveOptions options = options_in(folder, 10);
    const runtime::LiveRun done = run_it(scenario, scenarios::calm_market(scenario), options);
    kernels::Checkpoint saved = kernels::read_checkpoint(done.record.last_checkpoint);
    const float none = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(saved.state.data() + 88, &none, sizeof none);
    options.resume_from = folder.path() / "damaged";
    kernels::write_checkpoint(options.resume_from, saved);
    CHECK_THAT(complaint_of([&] { run_it(scenario, scenarios::calm_market(scenario), options); }),
               Catch::EndsWith("damaged: expected finite numbers, found nan as weight 0 of 340"));
}

TEST_CASE("live run: one that cannot go on any more ends, and says so", "[live]") {
    const ScratchFolder folder;
    const scenarios::Scenario scenario = scenarios::scenario_from_text(
        R"({"name": "live_end", "seed": 3,
            "job": {"samples": 1000000000, "batch_per_worker": 8,
                    "throughput": {"1": "1000 samples/s"}, "restart": "1 s",
                    "checkpoint": {"kind": "saved", "cost": "1 s"}, "give_up_after": "40 h"},
            "cluster": {"count": 1},
            "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
            "training": {"data": {"kind": "synthetic", "samples": 512, "features": 16,
                                  "classes": 4},
                         "model": {"kind": "mlp", "hidden": [16]}, "learning_rate": 0.1},
            "replay": ["spot_only"]})",
        "live_end.json");
    // One machine, taken at 30 s of the scenario; nothing comes after it.
    scenarios::NamedMarket market = scenarios::calm_market(scenario);
    market.data.zones[0].capacity.steps = {{Instant{}, 1}, {Instant::at(whole_seconds(30)), 0}};
    market.data.zones[0].capacity.end = Instant::at(whole_seconds(30));
    sim::prepare(market.data);
    runtime::LiveOptions options;
    options.worker_program = UKEMI_BINARY;
    options.worker_arguments = {"worker"};
    options.folder = folder.path();
    options.time_scale = 20;
    const runtime::LiveRun live = run_it(scenario, market, options);
    const records::RunResult& result = live.run.result;
    CHECK_FALSE(result.finished);
    CHECK(result.stuck);
    CHECK(result.revocations == 1);
    // What was trained went with it: no state is left, and none of its steps.
    CHECK_FALSE(live.record.steps.empty());
    CHECK(result.samples_done == 0);
    CHECK(live.record.steps_of_model == 0);
    CHECK(result.duration < minutes(10));
}

}  // namespace ukemi
