// recorded_curves_test.cpp — curves of a metric by batch, and batches between and beyond them.
#include "sim/learning/recorded_curves.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "base/rng.hpp"
#include "tests/support/progress_after.hpp"

namespace ukemi {
namespace {

// From 0 to 0.8: batch 100 takes 10,000 samples, batch 400 takes 20,000, batch 1600 gets to 0.4.
sim::RecordedCurves three_batches() {
    sim::RecordedCurves all;
    all.reference_batch = 100;
    all.target = 0.8;
    all.curves = {{100, {{0, 0}, {5000, 0.4}, {10'000, 0.8}}},
                  {400, {{0, 0}, {10'000, 0.4}, {20'000, 0.8}, {30'000, 0.7}}},
                  {1600, {{0, 0}, {40'000, 0.4}, {80'000, 0.4}}}};
    return all;
}

std::int64_t samples_with(const sim::LearningModel& model, std::int64_t batch) {
    const auto steps = sim::steps_to_target(model, 0, {batch, 0});
    REQUIRE(steps.has_value());
    return *steps * batch;
}

// Samples at which the curve, straight between its points, is there for the first time.
std::optional<double> samples_to_reach(const sim::RecordedCurve& curve, double target) {
    const sim::MetricPoint* before = nullptr;
    for (const sim::MetricPoint& point : curve.points) {
        if (point.value >= target) {
            if (before == nullptr) return static_cast<double>(point.samples);
            const double part = (target - before->value) / (point.value - before->value);
            return static_cast<double>(before->samples) +
                   part * static_cast<double>(point.samples - before->samples);
        }
        before = &point;
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("recorded curves: a recorded batch takes what was recorded", "[learning]") {
    const auto model = sim::make_recorded_curves(three_batches());
    CHECK(samples_with(*model, 100) == 10'000);
    CHECK(samples_with(*model, 400) == Approx(20'000).margin(400));
    CHECK(model->metric(0) == 0.0);
    CHECK(model->metric(model->target() / 4).value() == Approx(0.2));
    CHECK(model->metric(model->target()).value() == Approx(0.8));
}

TEST_CASE("recorded curves: each batch takes what its own curve says, wherever curves begin",
          "[learning]") {
    // Looked at first after 900 and 5000 samples, or at sample 0 with another metric.
    sim::RecordedCurves all = three_batches();
    all.curves = {{100, {{900, 0.1}, {5000, 0.4}, {10'000, 0.8}}},
                  {400, {{0, 0.3}, {10'000, 0.4}, {20'000, 0.8}}},
                  {1600, {{5000, 0.05}, {40'000, 0.5}, {80'000, 0.8}}}};
    const auto model = sim::make_recorded_curves(all);
    CHECK(samples_with(*model, 100) == 10'000);
    CHECK(samples_with(*model, 400) == 20'000);
    CHECK(samples_with(*model, 1600) == 80'000);
    CHECK(model->metric(0) == 0.1);
    CHECK(model->metric(test::progress_after(*model, 0, 9, {100, 0})).value() == Approx(0.1));
    CHECK(model->metric(test::progress_after(*model, 0, 50, {100, 0})).value() ==
          Approx(0.4).margin(0.005));

    // Curves that go up and down, of batches that leave several levels behind in a step.
    RandomStream random(1, "curves");
    int reached = 0;
    for (int time = 0; time < 200; ++time) {
        sim::RecordedCurves curves{{}, 64, 0.9, 0};
        for (const std::int64_t batch : {64, 1000, 30'000}) {
            sim::RecordedCurve& curve = curves.curves.emplace_back();
            curve.batch = batch;
            const std::int64_t apart =
                3 * batch + static_cast<std::int64_t>(40'000 * random.uniform());
            for (int point = 0; point < 20; ++point) {
                const double value = point * 0.05 + 0.3 * (random.uniform() - 0.5);
                curve.points.push_back({point * apart, std::min(0.95, value)});
            }
            if (batch == 64) curve.points.back().value = 0.9;
        }
        if (!sim::curves_problem(curves).empty()) continue;
        const auto noisy = sim::make_recorded_curves(curves);
        for (const sim::RecordedCurve& curve : curves.curves) {
            const auto steps = sim::steps_to_target(*noisy, 0, {curve.batch, 0});
            const auto there = samples_to_reach(curve, curves.target);
            REQUIRE(steps.has_value() == there.has_value());
            if (!steps) continue;
            ++reached;
            const double own = *there / static_cast<double>(curve.batch);
            CHECK(static_cast<double>(*steps) == Approx(std::ceil(own)).margin(1.001));
        }
    }
    CHECK(reached > 200);
}

TEST_CASE("recorded curves: between two batches lies what is between them", "[learning]") {
    const auto model = sim::make_recorded_curves(three_batches());
    CHECK(samples_with(*model, 200) == Approx(15'000).margin(200));  // half way in log(batch)
    CHECK(samples_with(*model, 10) == Approx(10'000).margin(10));    // as the smallest
}

TEST_CASE("recorded curves: what a batch never reached, it never learns", "[learning]") {
    const auto model = sim::make_recorded_curves(three_batches());
    CHECK_FALSE(sim::steps_to_target(*model, 0, {1600, 0}).has_value());
    const std::int64_t half = test::progress_after(*model, 0, 1'000'000, {1600, 0});
    CHECK(model->metric(half).value() == Approx(0.4).margin(0.02));
    // From there a smaller batch goes on: a change on the way is what schedules are for.
    CHECK(sim::steps_to_target(*model, half, {100, 0}).has_value());
}

TEST_CASE("recorded curves: beyond the largest batch the steps stay", "[learning]") {
    sim::RecordedCurves all = three_batches();
    all.curves.pop_back();
    const auto model = sim::make_recorded_curves(all);
    const auto steps = [&](std::int64_t batch) {
        return *sim::steps_to_target(*model, 0, {batch, 0});
    };
    CHECK(steps(4000) == Approx(steps(400)).margin(1));
}

TEST_CASE("recorded curves: a falling metric has a target below it", "[learning]") {
    sim::RecordedCurves all = three_batches();
    for (sim::RecordedCurve& curve : all.curves) {
        for (sim::MetricPoint& point : curve.points) point.value = 1 - point.value;
    }
    all.target = 0.2;
    CHECK(samples_with(*sim::make_recorded_curves(all), 100) == 10'000);
}

TEST_CASE("recorded curves: seeds differ as much as the runs did", "[learning]") {
    sim::RecordedCurves all = three_batches();
    all.spread = 0.2;
    const auto model = sim::make_recorded_curves(all);
    CHECK(samples_with(*model->drawn(3), 1) == samples_with(*model->drawn(3), 1));
    CHECK(samples_with(*model->drawn(3), 1) != samples_with(*model->drawn(4), 1));
}

TEST_CASE("recorded curves: what is none is told apart", "[learning]") {
    sim::RecordedCurves all = three_batches();
    CHECK(sim::curves_problem(all).empty());
    all.target = 0.9;
    CHECK_FALSE(sim::curves_problem(all).empty());
    all = three_batches();
    all.reference_batch = 7;
    CHECK_FALSE(sim::curves_problem(all).empty());
    all = three_batches();
    all.curves[1].points[1].samples = 0;
    CHECK_FALSE(sim::curves_problem(all).empty());
}

TEST_CASE("recorded curves: how far interpolating is off is seen at each inner curve",
          "[learning]") {
    // With 1600 at 40,000, half way between 10,000 and 40,000 lie 25,000, where 20,000 were
    // recorded.
    sim::RecordedCurves all = three_batches();
    all.curves[2].points = {{0, 0}, {20'000, 0.4}, {40'000, 0.8}};
    all.spread = 0.03;
    const auto left_out = sim::leave_out_each(all);
    REQUIRE(left_out.size() == 1);
    CHECK(left_out[0].batch == 400);
    CHECK(left_out[0].recorded == Approx(20'000).margin(400));
    CHECK(left_out[0].interpolated == Approx(25'000).margin(400));
    const std::string said = sim::make_recorded_curves(all)->uncertainty();
    CHECK_THAT(said, Catch::Contains("seeds differ by 3 %"));
    CHECK_THAT(said, Catch::Contains("off by +2"));
    CHECK_THAT(said, Catch::Contains("% at 400 when that one is left out"));
    CHECK(sim::leave_out_each(three_batches()).empty());  // without it nothing gets to the target
    CHECK_THAT(sim::make_recorded_curves(three_batches())->uncertainty(),
               Catch::Contains("no inner curve checks"));
    all.curves.resize(1);
    CHECK_THAT(sim::make_recorded_curves(all)->uncertainty(),
               Catch::Contains("one recorded batch"));
}

}  // namespace ukemi
