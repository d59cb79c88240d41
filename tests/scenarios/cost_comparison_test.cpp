// cost_comparison_test.cpp — a calibration that is made twice holds the spread that it states, and
// one that states less than it holds is found out. No test depends on how long anything takes.
#include "scenarios/cost_comparison.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/rng.hpp"
#include "tests/plots/scratch_folder.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

Scenario small_training() {
    return scenario_from_text(R"({"name": "twice", "seed": 3,
            "job": {"samples": 800, "batch_per_worker": 8,
                    "throughput": {"1": "1000 samples/s"},
                    "checkpoint": {"cost": "1 s"}, "restart": "1 s"},
            "cluster": {"count_min": 1, "count_max": 2},
            "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
            "training": {"data": {"kind": "synthetic", "samples": 512, "features": 16,
                                  "classes": 4},
                         "model": {"kind": "mlp", "hidden": 16}},
            "replay": ["spot_only"]})",
                              "twice.json");
}

// Times of a thing that takes `s` and varies by ±`share` of it, evenly.
MeasuredTimes made_times(RandomStream& random, double s, double share, std::size_t values = 60) {
    MeasuredTimes times;
    for (std::size_t i = 0; i < values; ++i) {
        times.s.push_back(s * (1 + share * (2 * random.uniform() - 1)));
    }
    return times;
}

LiveCosts made_costs(RandomStream& random, double slower, double share) {
    LiveCosts costs;
    costs.device = this_device();
    costs.training = training_text(small_training());
    for (const std::int64_t batch : {8, 16, 32}) {
        const double s = slower * (0.001 + 1e-5 * static_cast<double>(batch));
        costs.steps.push_back({{.workers = 1, .batch = batch}, made_times(random, s, share)});
    }
    for (const NamedTimes& one : cost_times) {
        costs.*one.times = made_times(random, slower * 0.02, share);
    }
    costs.machine.curves.push_back(
        {"copy", 1, {{4096, 0, made_times(random, slower * 1e-6, share)}}});
    return costs;
}

constexpr std::size_t things = 12;  // in made_costs: 3 steps, 8 changes, a copy

// One calibration in several repetitions, and another in between: a machine that is busy for a
// while is busy in both.
std::pair<LiveCosts, LiveCosts> measured_in_turn(const Scenario& scenario,
                                                 const CalibrationOptions& once, int turns) {
    LiveCosts both[2];
    for (int turn = 0; turn < 2 * turns; ++turn) {
        LiveCosts& costs = both[turn % 2];
        LiveCosts more = measure_costs(scenario, once);
        if (costs.steps.empty()) {
            costs = std::move(more);
            continue;
        }
        for (std::size_t i = 0; i < costs.steps.size(); ++i) {
            REQUIRE(costs.steps[i].setting == more.steps[i].setting);
            costs.steps[i].step.add(more.steps[i].step);
        }
        for (const NamedTimes& one : cost_times) (costs.*one.times).add(more.*one.times);
        costs.machine.add(more.machine);
    }
    return {std::move(both[0]), std::move(both[1])};
}

}  // namespace

TEST_CASE("cost comparison: two agree where the ranges that they state overlap", "[calibration]") {
    const MeasuredTimes first{{1, 1, 2, 2, 2, 2, 3, 3, 3}};  // 10 %: 1, median 2, 90 %: 3
    const auto beside = [&](double s) {
        return difference("x", first, {std::vector<double>(8, s)});
    };
    CHECK(beside(2).agreement == Agreement::agrees);
    CHECK(beside(3.07).agreement == Agreement::agrees);  // 3 + 2.5 % of 3.07
    CHECK(beside(3.08).agreement == Agreement::disagrees);
    CHECK(beside(0.98).agreement == Agreement::agrees);
    CHECK(beside(0.97).agreement == Agreement::disagrees);
    CHECK(beside(3.08).stated_s == Approx(1 + 0.077));
    CHECK(difference("x", first, {{9, 9}}).agreement == Agreement::too_few);
    const CostDifference swapped = difference("x", {std::vector<double>(8, 3.08)}, first);
    CHECK(swapped.agreement == Agreement::disagrees);
    CHECK(swapped.stated_s == Approx(beside(3.08).stated_s));
}

TEST_CASE("cost comparison: who states a spread that does not hold is found out",
          "[calibration][property]") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "cost_comparison_test");
        const LiveCosts first = made_costs(random, 1, 0.04);
        const LiveCosts again = made_costs(random, 1.02, 0.04);  // within what both state
        const auto same = differences(first, again, "again.json");
        CHECK(same.size() == things);
        CHECK(count(same, Agreement::agrees) == things);
        // Says ±1 %, and lies 15 % off; with a true statement of ±30 % nobody could complain.
        const LiveCosts liar = made_costs(random, 1.15, 0.01);
        CHECK(count(differences(first, liar, "liar.json"), Agreement::disagrees) == things);
        const LiveCosts honest = made_costs(random, 1.15, 0.3);
        CHECK(count(differences(first, honest, "honest.json"), Agreement::agrees) == things);
        LiveCosts partly = again;
        partly.spawn = liar.spawn;
        for (const CostDifference& one : differences(first, partly, "partly.json")) {
            CAPTURE(one.name);
            CHECK((one.agreement == Agreement::disagrees) == (one.name == "spawn"));
        }
    }
}

TEST_CASE("cost comparison: every line says whether both agree, and the last one counts",
          "[calibration]") {
    RandomStream random(1, "cost_comparison_test");
    const LiveCosts first = made_costs(random, 1, 0.04);
    LiveCosts second = made_costs(random, 1, 0.04);
    second.loss = made_times(random, 0.1, 0.04);
    second.restore = {{0.02}};
    const std::string table = difference_table(differences(first, second, "b.json"));
    CHECK_THAT(table, Catch::Contains("step, 1 worker, batch 8, s_sgd") &&
                          Catch::Contains("copy, 4096 bytes"));
    CHECK_THAT(table, Catch::EndsWith("10 of 11 agree within the spread that both state, 1 do not; "
                                      "1 have too few values to say\n"));
    std::size_t lines = 0;
    for (std::size_t at = table.find('\n'); at != std::string::npos; at = table.find('\n', at + 1))
        ++lines;
    CHECK(lines == things + 2);
    LiveCosts other = second;
    other.device = "an abacus";
    CHECK_THAT(complaint_of([&] { differences(first, other, "b.json"); }),
               Catch::StartsWith("b.json: at /device: measured on an abacus, and not on ") &&
                   Catch::Contains("costs of two machines are not compared"));
    other = second;
    other.training = "something else";
    CHECK(complaint_of([&] { differences(first, other, "b.json"); }) ==
          "b.json: at /training: these costs are of another training");
}

TEST_CASE("calibration: made twice, it agrees within the spread that it states",
          "[calibration][live]") {
    const ScratchFolder folder;
    CalibrationOptions once;
    once.workers_max = 2;
    once.steps = 10;
    once.stretches = 4;
    once.repetitions = 1;
    once.changes = 1;
    once.settings = {{.workers = 1, .batch = 16}};
    once.live.worker_program = UKEMI_BINARY;
    once.live.worker_arguments = {"worker"};
    once.live.folder = folder.path();
    const auto [first, second] = measured_in_turn(small_training(), once, 4);
    auto all = differences(first, second, "second.json");
    INFO(difference_table(all));
    REQUIRE(all.size() == 3 + std::size(cost_times));
    for (const CostDifference& one : all) {
        CAPTURE(one.name);
        CHECK(one.agreement != Agreement::disagrees);
        const bool seldom = one.name == "loss" || one.name == "restore";  // four times each
        CHECK((one.agreement == Agreement::too_few) == seldom);
    }
    // What is said of them can be false: the same, said to be three times as slow.
    LiveCosts slower = second;
    for (StepCosts& one : slower.steps) {
        const double most = std::max(first.find(one.setting)->step.quantile(1), 1e-6);
        one.step.s.assign(20, 3 * most);
    }
    all = differences(first, slower, "slower.json");
    CHECK(count(all, Agreement::disagrees) == slower.steps.size());
}

}  // namespace ukemi
