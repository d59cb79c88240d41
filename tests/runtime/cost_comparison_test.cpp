// cost_comparison_test.cpp — a calibration that is made twice holds the spread that it states, and
// one that states less than it holds is found out. No test depends on how long anything takes.
#include "runtime/cost_comparison.hpp"
#include "runtime/calibration.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

namespace {

scenarios::Scenario small_training() {
    return scenarios::scenario_from_text(R"({"name": "twice", "seed": 3,
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
kernels::MeasuredTimes made_times(RandomStream& random, double s, double share,
                                  std::size_t values = 60) {
    kernels::MeasuredTimes times;
    for (std::size_t i = 0; i < values; ++i) {
        times.s.push_back(s * (1 + share * (2 * random.uniform() - 1)));
    }
    return times;
}

scenarios::LiveCosts made_costs(RandomStream& random, double slower, double share) {
    scenarios::LiveCosts costs;
    costs.device = scenarios::this_device();
    costs.training = scenarios::training_text(small_training());
    for (const std::int64_t batch : {8, 16, 32}) {
        const double s = slower * (0.001 + 1e-5 * static_cast<double>(batch));
        costs.steps.push_back({{.workers = 1, .batch = batch}, made_times(random, s, share)});
    }
    for (const scenarios::NamedTimes& one : scenarios::cost_times) {
        costs.*one.times = made_times(random, slower * 0.02, share);
    }
    for (const scenarios::NamedTimesBySize& one : scenarios::cost_times_by_size) {
        (costs.*one.times)[2] = made_times(random, slower * 0.03, share);
    }
    costs.machine.curves.push_back(
        {"copy", 1, {{4096, 0, made_times(random, slower * 1e-6, share)}}});
    return costs;
}

constexpr std::size_t things = 14;  // in made_costs: 3 steps, 10 changes, a copy

}  // namespace

TEST_CASE("cost comparison: two agree where the ranges that they state overlap", "[calibration]") {
    const kernels::MeasuredTimes first{{1, 1, 2, 2, 2, 2, 3, 3, 3}};  // 10 %: 1, median 2, 90 %: 3
    const auto beside = [&](double s) {
        return runtime::difference("x", first, {std::vector<double>(8, s)});
    };
    CHECK(beside(2).agreement == runtime::Agreement::agrees);
    CHECK(beside(3.07).agreement == runtime::Agreement::agrees);  // 3 + 2.5 % of 3.07
    CHECK(beside(3.08).agreement == runtime::Agreement::disagrees);
    CHECK(beside(0.98).agreement == runtime::Agreement::agrees);
    CHECK(beside(0.97).agreement == runtime::Agreement::disagrees);
    CHECK(beside(3.08).stated_s == Approx(1 + 0.077));
    CHECK(runtime::difference("x", first, {{9, 9}}).agreement == runtime::Agreement::too_few);
    const runtime::CostDifference swapped =
        runtime::difference("x", {std::vector<double>(8, 3.08)}, first);
    CHECK(swapped.agreement == runtime::Agreement::disagrees);
    CHECK(swapped.stated_s == Approx(beside(3.08).stated_s));
}

TEST_CASE("cost comparison: who states a spread that does not hold is found out",
          "[calibration][property]") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "cost_comparison_test");
        const scenarios::LiveCosts first = made_costs(random, 1, 0.04);
        const scenarios::LiveCosts again =
            made_costs(random, 1.02, 0.04);  // within what both state
        const auto same = runtime::differences(first, again, "again.json");
        CHECK(same.size() == things);
        CHECK(runtime::count(same, runtime::Agreement::agrees) == things);
        // Says ±1 %, and lies 15 % off; with a true statement of ±30 % nobody could complain.
        const scenarios::LiveCosts liar = made_costs(random, 1.15, 0.01);
        CHECK(runtime::count(runtime::differences(first, liar, "liar.json"),
                             runtime::Agreement::disagrees) == things);
        const scenarios::LiveCosts honest = made_costs(random, 1.15, 0.3);
        CHECK(runtime::count(runtime::differences(first, honest, "honest.json"),
                             runtime::Agreement::agrees) == things);
        scenarios::LiveCosts partly = again;
        partly.spawn = liar.spawn;
        for (const runtime::CostDifference& one :
             runtime::differences(first, partly, "partly.json")) {
            CAPTURE(one.name);
            CHECK((one.agreement == runtime::Agreement::disagrees) ==
                  (one.name == "spawn, 2 workers"));
        }
    }
}

TEST_CASE("cost comparison: every line says whether both agree, and the last one counts",
          "[calibration]") {
    RandomStream random(1, "cost_comparison_test");
    const scenarios::LiveCosts first = made_costs(random, 1, 0.04);
    scenarios::LiveCosts second = made_costs(random, 1, 0.04);
    second.loss = made_times(random, 0.1, 0.04);
    second.restore = {{0.02}};
    const std::string table =
        runtime::difference_table(runtime::differences(first, second, "b.json"));
    CHECK_THAT(table, Catch::Contains("step, 1 worker, batch 8, s_sgd") &&
                          Catch::Contains("copy, 1 rank, 4096 bytes"));
    CHECK_THAT(table, Catch::EndsWith("12 of 13 agree within the spread that both state, 1 do not; "
                                      "1 have too few values to say\n"));
    scenarios::LiveCosts fewer = first;
    fewer.steps.pop_back();
    fewer.machine.curves.front().ranks = 2;
    const auto apart = runtime::differences(first, fewer, "b.json");
    CHECK(apart.size() == things + 1);
    CHECK(runtime::count(apart, runtime::Agreement::only_first) == 2);
    CHECK(runtime::count(apart, runtime::Agreement::only_second) == 1);
    CHECK(apart.back().name == "copy, 2 ranks, 4096 bytes");
    CHECK_THAT(runtime::difference_table(apart),
               Catch::Contains("only there\n12 of 12 agree within the spread that both state; "
                               "3 stand in one of them alone\n"));
    CHECK_THAT(runtime::difference_table({}), Catch::Contains("nothing that could be compared"));
    scenarios::LiveCosts wide = first;
    wide.loss.s = {0.01, 0.01, 0.01, 0.01, 0.01, 0.02, 0.02, 0.02, 0.02, 0.02};
    const std::string little =
        runtime::difference_table(runtime::differences(wide, wide, "b.json"));
    CHECK_THAT(little, Catch::Contains("agree (spread 67 %: says little)") &&
                           Catch::Contains("(1 of them within more than 50 %, which says little)"));
    std::size_t lines = 0;
    for (std::size_t at = table.find('\n'); at != std::string::npos; at = table.find('\n', at + 1))
        ++lines;
    CHECK(lines == things + 2);
    scenarios::LiveCosts other = second;
    other.device = "an abacus";
    CHECK_THAT(complaint_of([&] { runtime::differences(first, other, "b.json"); }),
               Catch::StartsWith("b.json: at /device: measured on an abacus, and not on ") &&
                   Catch::Contains("costs of two machines are not compared"));
    other = second;
    other.training = "something else";
    CHECK(complaint_of([&] { runtime::differences(first, other, "b.json"); }) ==
          "b.json: at /training: these costs are of another training");
}

// Times of so short a run say nothing, and none is looked at: what they have to say is above.
TEST_CASE("calibration: of two, every entry is compared by its name", "[calibration][live]") {
    const ScratchFolder folder;
    runtime::CalibrationOptions options;
    options.workers_max = 2;
    options.steps = 2;
    options.stretches = 2;
    options.repetitions = 1;
    options.changes = 1;
    options.settings = {{.workers = 1, .batch = 16}};
    options.live.worker_program = UKEMI_BINARY;
    options.live.worker_arguments = {"worker"};
    options.live.folder = folder.path();
    const scenarios::Scenario scenario = small_training();
    const scenarios::LiveCosts first = runtime::measure_costs(scenario, options);
    const scenarios::LiveCosts second = runtime::measure_costs(scenario, options);
    const auto all = runtime::differences(first, second, "second.json");
    std::vector<std::string> names;
    for (const runtime::CostDifference& one : all) names.push_back(one.name);
    std::vector<std::string> expected{"step, 1 worker, batch 8, s_sgd",
                                      "step, 1 worker, batch 16, s_sgd",
                                      "step, 2 workers, batch 8, s_sgd"};
    for (const auto& [name, times] : scenarios::change_times(first)) expected.push_back(name);
    CHECK(expected.size() ==
          3 + 4 + std::size(scenarios::cost_times));  // spawn and restart by size
    CHECK(names == expected);
    CHECK(runtime::count(all, runtime::Agreement::too_few) ==
          all.size());  // fewer than eight values of anything
    CHECK_THAT(runtime::difference_table(all),
               Catch::EndsWith(fmt::format("; {} have too few values to say\n", all.size())));
}

TEST_CASE("cost comparison: a share of a median of nothing is no number", "[calibration]") {
    kernels::MeasuredTimes nothing;
    nothing.s.assign(8, 0.0);
    kernels::MeasuredTimes something;
    something.s.assign(8, 0.016);
    const std::vector<runtime::CostDifference> both{
        runtime::difference("start_beside", something, nothing),
        {"only now", 0.001, 0, 0, runtime::Agreement::only_first}};
    const std::string table = runtime::difference_table(both);
    CHECK_THAT(table, !Catch::Contains(" %"));
    CHECK_THAT(table, Catch::Contains("16.0000     0.0000         -         -  DISAGREE"));
}

}  // namespace ukemi
