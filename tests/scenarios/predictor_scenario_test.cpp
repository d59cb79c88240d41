// predictor_scenario_test.cpp — the key "predictor": which forecast policies have, and what of it
// stands in results and decision logs.
#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "records/run_json.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "sim/job/world.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

// Two days of work in steps of ten seconds under a deadline, on a market that comes and goes.
scenarios::Scenario late_scenario(std::string_view predictor, std::string_view more_job = "") {
    const std::string key = predictor.empty() ? "" : fmt::format(R"("predictor": {},)", predictor);
    return scenarios::scenario_from_text(fmt::format(R"({{"name": "late", "seed": 1, {}
            "job": {{"samples": 552960, "batch": 32, "throughput": {{"1": "3.2 samples/s"}},
                     "deadline": "72 h", "restart": "10 min"{},
                     "checkpoint": {{"cost": "1 min", "restore": "2 min"}}}},
            "cluster": {{"count": 1}},
            "market": {{"generate": {{"market": "v100-1-scarce", "length": "5 d"}},
                        "provisioning": "3 min", "on_demand_price": "3 USD/h"}},
            "replay": ["greedy+daly_checkpoint", "uniform_progress+daly_checkpoint"]}})",
                                                     key, more_job),
                                         scenario_folder / "late.json");
}

std::vector<scenarios::FinishedRun> runs_of(const scenarios::Scenario& scenario) {
    scenarios::ExperimentSetup setup;
    setup.policies = scenario.policies;
    setup.seeds = {1, 2};
    setup.details = scenarios::Details::all;
    setup.options.decisions = setup.options.all_questions = true;
    return scenarios::run_experiment(scenario, setup);
}

std::vector<std::string> hashes_of(const std::vector<scenarios::FinishedRun>& runs) {
    std::vector<std::string> hashes;
    for (const scenarios::FinishedRun& run : runs) hashes.push_back(run.result.event_hash);
    return hashes;
}

std::string complaint(std::string_view predictor) {
    return complaint_of([&] { late_scenario(predictor); });
}

// Asks what a step takes, and a start from a checkpoint, whenever it is asked itself.
class AskingPolicy final : public policies::Policy {
public:
    explicit AskingPolicy(Duration& step, Duration& start) : step_(step), start_(start) {}
    std::string_view name() const override { return "asking"; }
    policies::KnobSet knobs() const override { return {}; }
    policies::HookSet hooks() const override { return {policies::Hook::on_event}; }
    policies::Decision on_event(policies::EventKind, const policies::PolicyView& view) override {
        const policies::Plan& plan = view.plan;
        step_ = view.predictor.work_time(plan.global_batch, plan, plan.workers_max);
        start_ = view.predictor.transition_time({}, plan) + view.predictor.restore_time(plan);
        return {};
    }

private:
    Duration& step_;
    Duration& start_;
};

}  // namespace

TEST_CASE("predictor: a forecast that is off by nothing leaves each event as it was",
          "[scenario][predictor]") {
    const auto runs = runs_of(late_scenario(""));
    const auto exact = hashes_of(runs);
    CHECK(hashes_of(runs_of(late_scenario(R"("exact")"))) == exact);
    CHECK(hashes_of(runs_of(late_scenario(R"({"kind": "disturbed"})"))) == exact);
    CHECK(hashes_of(runs_of(late_scenario(R"({"kind": "disturbed", "step_time": 1.3})"))) != exact);
    for (const scenarios::FinishedRun& run : runs) {
        CHECK(run.result.predictor == "exact");
        CHECK(run.decisions.find("\"predictor\"") == std::string::npos);  // as logs have been
    }
}

TEST_CASE("predictor: a log of each kind is answered again as it was", "[scenario][predictor]") {
    const std::vector<std::pair<std::string, std::string>> kinds{
        {"exact", R"("exact")"},
        {"disturbed",
         R"({"kind": "disturbed", "step_time": 1.1, "transition_time": 0.7, "spread": 0.2})"},
        {"calibrated",
         R"({"kind": "calibrated", "step_time": 1.3, "transition_time": 2, "spread": 0.1})"},
        {"calibrated", R"({"kind": "calibrated", "throughput": {"1": "2 samples/s"}})"}};
    for (const auto& [name, predictor] : kinds) {
        CAPTURE(predictor);
        for (const scenarios::FinishedRun& run : runs_of(late_scenario(predictor))) {
            const records::LogReplay again =
                records::replay_decisions(run.decisions, "decisions.jsonl");
            CHECK(again.questions > 20);
            CHECK(again.difference_count == 0);
            CHECK(run.result.predictor == name);
            const records::RunResult& result = run.result;
            CHECK_THAT(records::runs_csv({&result, 1}), Catch::Contains(",predictor"));
            CHECK_THAT(records::runs_json({&result, 1}),
                       Catch::Contains(fmt::format("\"predictor\": \"{}\"", name)));
        }
    }
}

TEST_CASE("predictor: without its Predictor a log is answered otherwise, or refused",
          "[scenario][predictor]") {
    const auto runs = runs_of(late_scenario(R"({"kind": "disturbed", "step_time": 1.3})"));
    const std::string text = runs.front().decisions;
    const std::size_t end = text.find('\n');
    const auto altered = [&](const std::function<void(nlohmann::json&)>& change) {
        nlohmann::json header = nlohmann::json::parse(text.substr(0, end));
        change(header);
        return header.dump() + text.substr(end);
    };
    const auto replayed = [&](const std::function<void(nlohmann::json&)>& change) {
        return records::replay_decisions(altered(change), "log");
    };
    CHECK(replayed([](auto& header) { header.erase("predictor"); }).difference_count > 0);
    for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{
             {"kind", "perfect"}, {"step_time", 0}, {"step_time", "nan"}, {"spread", 1.5}}) {
        CAPTURE(key);
        CHECK_THAT(complaint_of(
                       [&] { replayed([&](auto& header) { header["predictor"][key] = value; }); }),
                   Catch::StartsWith("log:1:1: ") && Catch::Contains(key));
    }
}

TEST_CASE("predictor: calibrated, a simulated run ends with the true step time",
          "[scenario][predictor]") {
    for (const std::string_view predictor :
         {R"({"kind": "calibrated", "step_time": 1.3, "transition_time": 3})",
          R"({"kind": "calibrated", "step_time": 0.7, "transition_time": 0.2})",
          R"({"kind": "calibrated", "throughput": {"1": "2 samples/s"}})"}) {
        CAPTURE(predictor);
        const scenarios::Scenario scenario = late_scenario(predictor);
        const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
        const sim::JobSpec job = scenarios::job_on(scenario, market.data);
        Duration step;
        Duration start;
        sim::WorldSetup setup;
        setup.market = &market.data;
        setup.job = &job;
        setup.policies = scenarios::make_policies(
            scenarios::parse_policies("spot_only+daly_checkpoint", scenario, "test").front());
        setup.policies.push_back(std::make_unique<AskingPolicy>(step, start));
        setup.seed = 1;
        const records::RunResult result = sim::World(std::move(setup)).run();
        CHECK(result.transitions > 6);
        CHECK(to_seconds(step) == Approx(10).epsilon(0.01));
        CHECK(to_seconds(start) == Approx(15 * 60).epsilon(0.1));  // machines, restart, restore
    }
}

TEST_CASE("predictor: it can start from a calibration of this training", "[scenario][predictor]") {
    const scenarios::Scenario scenario = late_scenario(R"({"kind": "calibrated", "costs":
        "../tests/scenarios/costs/corpus/one_step.json"})");
    REQUIRE(scenario.job.guess.has_value());
    CHECK(scenario.job.guess->throughput.front().rate !=
          scenario.job.profile.throughput.front().rate);
}

TEST_CASE("predictor: what it may not be is refused", "[scenario][predictor]") {
    CHECK(complaint(R"("perfect")") ==
          (scenario_folder / "late.json").string() +
              ": at /predictor: expected one of exact, disturbed, calibrated, found \"perfect\"");
    const auto says = [](std::string_view predictor, const std::string& sentence) {
        CHECK_THAT(complaint(predictor), Catch::EndsWith(sentence));
    };
    says(R"({"kind": "distorted"})",
         "at /predictor/kind: expected one of exact, disturbed, calibrated, found \"distorted\" "
         "(did you mean \"disturbed\"?)");
    says(R"({"step_time": 1.1})", "at /predictor: missing key \"kind\"");
    says(R"({"kind": "disturbed", "step_time": 0})",
         "at /predictor/step_time: expected a number from 0.01 to 100, found 0");
    says(R"({"kind": "disturbed", "transition_time": 101})",
         "at /predictor/transition_time: expected a number from 0.01 to 100, found 101");
    says(R"({"kind": "disturbed", "spread": 2})",
         "at /predictor/spread: expected a number from 0 to 1, found 2");
    says(R"({"kind": "exact", "step_time": 1.1})", "at /predictor: unknown key \"step_time\"");
    says(R"({"kind": "disturbed", "throughput": {"1": "1 samples/s"}})",
         "at /predictor: unknown key \"throughput\"");
    says(R"({"kind": "calibrated", "throughput": {"1": "1 samples/s"}, "costs": "a.json"})",
         "at /predictor/throughput: stands beside \"costs\", which says it: expected one of them");
}

}  // namespace ukemi
