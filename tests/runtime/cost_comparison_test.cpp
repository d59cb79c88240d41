// cost_comparison_test.cpp — a calibration that is made twice holds the spread that it states, and
// one that states less than it holds is found out. No test depends on how long anything takes.
#include "runtime/calibration.hpp"
#include "runtime/cost_comparison.hpp"
#include "runtime/calibration.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

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
                         "model": {"kind": "mlp", "hidden": [16]}},
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
    for (const NamedTimesBySize& one : cost_times_by_size) {
        (costs.*one.times)[2] = made_times(random, slower * 0.03, share);
    }
    costs.machine.curves.push_back(
        {"copy", 1, {{4096, 0, made_times(random, slower * 1e-6, share)}}});
    return costs;
}

constexpr std::size_t things = 13;  // in made_costs: 3 steps, 9 changes, a copy

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
            CHECK((one.agreement == Agreement::disagrees) == (one.name == "spawn, 2 workers"));
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
                          Catch::Contains("copy, 1 rank, 4096 bytes"));
    CHECK_THAT(table, Catch::EndsWith("11 of 12 agree within the spread that both state, 1 do not; "
                                      "1 have too few values to say\n"));
    LiveCosts fewer = first;
    fewer.steps.pop_back();
    fewer.machine.curves.front().ranks = 2;
    const auto apart = differences(first, fewer, "b.json");
    CHECK(apart.size() == things + 1);
    CHECK(count(apart, Agreement::only_first) == 2);
    CHECK(count(apart, Agreement::only_second) == 1);
    CHECK(apart.back().name == "copy, 2 ranks, 4096 bytes");
    CHECK_THAT(difference_table(apart),
               Catch::Contains("only there\n11 of 11 agree within the spread that both state; "
                               "3 stand in one of them alone\n"));
    CHECK_THAT(difference_table({}), Catch::Contains("nothing that could be compared"));
    LiveCosts wide = first;
    wide.loss.s = {0.01, 0.01, 0.01, 0.01, 0.01, 0.02, 0.02, 0.02, 0.02, 0.02};
    const std::string little = difference_table(differences(wide, wide, "b.json"));
    CHECK_THAT(little, Catch::Contains("agree (spread 67 %: says little)") &&
                           Catch::Contains("(1 of them within more than 50 %, which says little)"));
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

// Times of so short a run say nothing, and none is looked at: what they have to say is above.
TEST_CASE("calibration: of two, every entry is compared by its name", "[calibration][live]") {
    const ScratchFolder folder;
    CalibrationOptions options;
    options.workers_max = 2;
    options.steps = 2;
    options.stretches = 2;
    options.repetitions = 1;
    options.changes = 1;
    options.settings = {{.workers = 1, .batch = 16}};
    options.live.worker_program = UKEMI_BINARY;
    options.live.worker_arguments = {"worker"};
    options.live.folder = folder.path();
    const Scenario scenario = small_training();
    const LiveCosts first = measure_costs(scenario, options);
    const LiveCosts second = measure_costs(scenario, options);
    const auto all = differences(first, second, "second.json");
    std::vector<std::string> names;
    for (const CostDifference& one : all) names.push_back(one.name);
    std::vector<std::string> expected{"step, 1 worker, batch 8, s_sgd",
                                      "step, 1 worker, batch 16, s_sgd",
                                      "step, 2 workers, batch 8, s_sgd"};
    for (const auto& [name, times] : change_times(first)) expected.push_back(name);
    CHECK(expected.size() == 3 + 4 + std::size(cost_times));  // spawn and restart by size
    CHECK(names == expected);
    CHECK(count(all, Agreement::too_few) == all.size());  // fewer than eight values of anything
    CHECK_THAT(difference_table(all),
               Catch::EndsWith(fmt::format("; {} have too few values to say\n", all.size())));
}

}  // namespace ukemi
