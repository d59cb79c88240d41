// learning_test.cpp — what a step is worth: the laws that the models keep, and runs that end when
// enough has been learned.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/learning/noise_scale_law.hpp"
#include "tests/sim/fixture.hpp"
#include "tests/support/progress_after.hpp"

namespace ukemi {
namespace {

sim::NoiseScaleLaw law(double noise_scale, std::int64_t samples = 1'000'000,
                       std::int64_t reference = 100) {
    sim::NoiseScaleLaw one;
    one.samples = samples;
    one.reference_batch = reference;
    one.noise = {{0, noise_scale, 0}};
    return one;
}

std::int64_t steps_with(const sim::LearningModel& model, std::int64_t batch, double rate = 0) {
    const auto steps = sim::steps_to_target(model, 0, {batch, rate});
    REQUIRE(steps.has_value());
    return *steps;
}

// One on-demand machine; a step takes 10 ms and 0.1 ms a sample.
sim::JobSpec learning_job(sim::NoiseScaleLaw one, std::int64_t batch) {
    sim::JobSpec spec = job(hours(1));
    spec.plan.global_batch = batch;
    spec.plan.learning_rate = one.reference_rate;
    spec.plan.fleet.front().market = policies::Market::on_demand;
    spec.samples_total = one.samples;
    spec.samples_per_epoch = 10'000;
    spec.profile.step_time.emplace();
    spec.profile.step_time->compute = policies::affine_time(milliseconds(10), nanoseconds(100'000));
    spec.learning = sim::make_noise_scale_law(std::move(one));
    return spec;
}

sim::MarketData quiet_market() {
    return market({zone("a", capacity({{{}, 4}}, days(1000)), price(1.0))});
}

}  // namespace

TEST_CASE("noise-scale law: at the reference batch a sample is a sample", "[learning]") {
    const auto model = sim::make_noise_scale_law(law(GENERATE(0.0, 1.0, 777.0, 1e9)));
    CHECK(steps_with(*model, 100) == 10'000);
    CHECK(test::progress_after(*model, 0, 123, {100, 0}) == 123 * 100 * sim::progress_per_sample);
}

TEST_CASE("noise-scale law: what is left are whole steps, the last one, too", "[learning]") {
    const auto model = sim::make_noise_scale_law(law(777.0, 1050));
    CHECK(model->samples_left(0, {100, 0}) == 1100);
    CHECK(model->samples_left(test::progress_after(*model, 0, 10, {100, 0}), {100, 0}) == 100);
    CHECK(model->samples_left(test::progress_after(*model, 0, 11, {100, 0}), {100, 0}) == 0);
    CHECK(sim::make_noise_scale_law(law(777.0, 1000))->samples_left(0, {100, 0}) == 1000);
}

TEST_CASE("noise-scale law: steps and samples lie on McCandlish's hyperbola",
          "[learning][property]") {
    // (S/S_min − 1)(E/E_min − 1) = 1 with E_min/S_min the noise scale (arXiv:1812.06162, eq. 2.11).
    // At the reference batch 100 the task takes 10^7 samples, so S_min = 10^5 ÷ (1 + φ/100).
    const double noise = GENERATE(30.0, 1000.0, 50'000.0);
    const auto model = sim::make_noise_scale_law(law(noise, 10'000'000));
    const double steps_min = 1e5 / (1 + noise / 100);
    const double samples_min = steps_min * noise;
    for (const std::int64_t batch : {1, 10, 100, 1000, 3000}) {
        CAPTURE(batch);
        const auto steps = static_cast<double>(steps_with(*model, batch));
        const double samples = steps * static_cast<double>(batch);
        CHECK((steps / steps_min - 1) * (samples / samples_min - 1) == Approx(1).epsilon(0.02));
    }
}

TEST_CASE("noise-scale law: no constant batch beats the square root of the noise scale",
          "[learning][property]") {
    // With r samples as the price of a step, samples + r·steps is least for B = √(r·φ) at each
    // moment (appendix D). The noise scale grows a hundredfold here.
    sim::NoiseScaleLaw one = law(0, 10'000'000);
    one.noise = {{0, 100, 0}, {10'000'000, 10'000, 0}};
    const auto model = sim::make_noise_scale_law(one);
    const double exchange = GENERATE(50.0, 500.0, 5000.0);
    const auto paid = [&](auto batch_at) {
        double cost = 0;
        for (std::int64_t progress = 0; progress < model->target();) {
            const std::int64_t batch = batch_at(progress);
            cost += static_cast<double>(batch) + exchange;
            progress = test::progress_after(*model, progress, 1, {batch, 0});
        }
        return cost;
    };
    const double adaptive = paid([&](std::int64_t progress) {
        const double noise = model->gradient(progress, {1, 0}).noise_scale;
        return round_nearest(std::sqrt(exchange * noise));
    });
    double constant = 1e300;
    for (double batch = 50; batch < 20'000; batch *= 1.1) {
        const std::int64_t whole = round_nearest(batch);
        constant = std::min(constant, paid([&](std::int64_t) { return whole; }));
    }
    CHECK(adaptive < constant);
    CHECK(adaptive > 0.5 * constant);
}

TEST_CASE("noise-scale law: it does not matter how often one looks", "[learning][property]") {
    sim::NoiseScaleLaw one = law(0, 3'000'000);
    one.noise = {{0, 20, 0}, {1'000'000, 5000, 0}, {2'000'000, 100, 0}};
    one.rule = GENERATE(sim::RateRule::plan, sim::RateRule::ada_scale);
    one.noise_exponent = GENERATE(0.0, 0.5);
    one.reference_rate = 0.1;
    one.drops = {{1'000'000, 0.5, 1}, {2'500'000, 0.1, 3}};
    const auto model = sim::make_noise_scale_law(one);
    const sim::LearningStep step{170, 0.1};
    const sim::LearningState all = model->after(model->start(), 5000, step);
    RandomStream draw(7, "looks");
    sim::LearningState state = model->start();
    for (std::int64_t left = 5000; left > 0;) {
        const std::int64_t steps = std::min(left, draw.integer(1, 40));
        state = model->after(state, steps, step);
        left -= steps;
    }
    CHECK(state.progress == all.progress);
    CHECK(model->digest(state) == model->digest(all));
    CHECK(model->digest(all).has_value() == (one.rule == sim::RateRule::plan));
}

namespace {

// Samples of progress that a first step makes, at a batch and a rate.
double first_step(const sim::NoiseScaleLaw& one, std::int64_t batch, double rate) {
    const auto model = sim::make_noise_scale_law(one);
    return static_cast<double>(test::progress_after(*model, 0, 1, {batch, rate})) /
           static_cast<double>(sim::progress_per_sample);
}

sim::NoiseScaleLaw law_of_plan(double noise_scale, std::int64_t samples, std::int64_t reference) {
    sim::NoiseScaleLaw one = law(noise_scale, samples, reference);
    one.rule = sim::RateRule::plan;
    one.reference_rate = 0.1;
    return one;
}

}  // namespace

TEST_CASE("noise-scale law: a step is worth its rate, as far as heat and curvature allow",
          "[learning]") {
    sim::NoiseScaleLaw one = law_of_plan(300, 1'000'000, 100);
    CHECK(first_step(one, 400, 0.4) == Approx(400));  // Goyal et al.: as many samples
    CHECK(first_step(one, 400, 0.1) == Approx(100));
    const double gain = (1 + 3.0) / (1 + 300.0 / 400);  // AdaScale's, and McCandlish's hyperbola
    CHECK(first_step(one, 400, 0.1 * gain) == Approx(400.0 * 400 / 700));
    CHECK(first_step(one, 100, 0.15) == Approx(75));  // x(2 − x) with the first rate the best
    CHECK(first_step(one, 100, 0.2) == 0);
    CHECK(first_step(one, 100, 0) == 0);
    one.rate_limit = 0.4;
    CHECK(first_step(one, 400, 0.4) == Approx(400));
    CHECK(first_step(one, 1600, 1.6) == Approx(1600.0 / 64));  // four times the limit: 4³ less
}

TEST_CASE("noise-scale law: the noise scale rises where steps are colder than the schedule's",
          "[learning]") {
    sim::NoiseScaleLaw one = law_of_plan(1000, 1'000'000, 100);
    one.noise_exponent = 0.5;
    const auto model = sim::make_noise_scale_law(one);
    const auto noise = [&](std::int64_t batch, double rate) {
        return model->gradient(0, {batch, rate}).noise_scale;
    };
    CHECK(noise(100, 0.1) == Approx(1000));
    CHECK(noise(100, 0.025) == Approx(2000));
    CHECK(noise(1600, 0.4) == Approx(2000));
    CHECK(noise(1600, 1.6) == Approx(1000));
    // AdaScale's own rate: the noise scale that its gain brings about.
    const double its = sim::noise_at_its_gain(1000, 0.5, 6400, 100);
    CHECK(its == Approx(1000 * std::sqrt((its + 6400) / (its + 100))));
}

TEST_CASE("noise-scale law: a larger batch does what a lower rate does, and one has to be",
          "[learning]") {
    // Smith et al.: after a drop by 10 the noise scale is 10 times as large.
    sim::NoiseScaleLaw one = law_of_plan(5000, 1'000'000, 10);
    one.drops = {{500'000, 0.1, 10}};
    const auto model = sim::make_noise_scale_law(one);
    const sim::LearningState half = model->after(model->start(), 50'000, {10, 0.1});
    CHECK(half.progress == 500'000 * sim::progress_per_sample);
    const auto progress_of = [&](std::int64_t batch, double rate) {
        const std::int64_t then = test::progress_after(*model, half, 10'000 / batch, {batch, rate});
        return static_cast<double>(then - half.progress);
    };
    CHECK(progress_of(100, 0.1) == Approx(progress_of(10, 0.01)).epsilon(0.02));
    CHECK(progress_of(10, 0.01) == Approx(10'000e6));
    CHECK(progress_of(10, 0.1) == 0);  // the noise floor
    CHECK_FALSE(sim::steps_to_target(*model, model->start(), {10, 0.1}).has_value());
}

TEST_CASE("noise-scale law: a drop that comes early or late costs about what it is off",
          "[learning]") {
    sim::NoiseScaleLaw one = law_of_plan(50'000, 900'000, 10);
    one.drops = {{300'000, 0.1, 1}, {600'000, 0.1, 1}};
    const auto samples_with_drop_at = [&](std::int64_t drop) {
        const auto model = sim::make_noise_scale_law(one);
        sim::LearningState state = model->after(model->start(), drop / 10, {10, 0.1});
        state = model->after(state, (600'000 - drop) / 10, {10, 0.01});
        const auto rest = sim::steps_to_target(*model, state, {10, 0.001});
        REQUIRE(rest.has_value());
        return static_cast<double>(600'000 + 10 * *rest);
    };
    CHECK(samples_with_drop_at(300'000) == Approx(900'000).epsilon(1e-4));
    CHECK(samples_with_drop_at(270'000) > 905'000);
    CHECK(samples_with_drop_at(270'000) < 990'000);
    CHECK(samples_with_drop_at(330'000) < 960'000);
}

TEST_CASE("noise-scale law: so many samples and no more, and how good that is", "[learning]") {
    sim::NoiseScaleLaw one = law_of_plan(50'000, 900'000, 10);
    one.drops = {{300'000, 0.1, 1}, {600'000, 0.1, 1}};
    one.accuracy = sim::FinalAccuracy{0.75, 0.02};
    one.until_samples = true;
    const auto model = sim::make_noise_scale_law(one);
    const auto accuracy = [&](double rate) {
        sim::LearningState state = model->start();
        for (const double factor : {1.0, 0.1, 0.01}) {
            state = model->after(state, 30'000, {10, rate * factor});
        }
        CHECK(state.progress == model->target());
        return model->metric(state).value();
    };
    CHECK(accuracy(0.1) == Approx(0.75).margin(1e-5));
    CHECK(accuracy(0.01) < 0.72);
    CHECK(accuracy(0.01) > 0.6);
    // At rates of the first two phases alone nothing is known of what comes out: not 0.
    sim::LearningState hot = model->after(model->start(), 30'000, {10, 0.1});
    hot = model->after(hot, 60'000, {10, 0.01});
    CHECK(hot.progress == model->target());
    CHECK_FALSE(model->metric(hot).has_value());
    one.until_samples = false;
    one.excess = 0.5;  // a target of 74 %
    const auto nearer = sim::make_noise_scale_law(one);
    sim::LearningState state = nearer->after(nearer->start(), 30'000, {10, 0.1});
    state = nearer->after(state, 30'000, {10, 0.01});
    const auto rest = sim::steps_to_target(*nearer, state, {10, 0.001});
    REQUIRE(rest.has_value());
    CHECK(*rest < 20'000);
    CHECK(nearer->metric(nearer->after(state, *rest, {10, 0.001})).value() ==
          Approx(0.74).margin(1e-4));
}

TEST_CASE("learning run: takes the steps that the law says, and the time they take", "[learning]") {
    const std::int64_t batch = GENERATE(50, 100, 1000);
    const sim::JobSpec spec = learning_job(law(1000), batch);
    const records::RunResult result = run(quiet_market(), spec, {});
    REQUIRE(result.finished);
    const std::int64_t steps = steps_with(*spec.learning, batch);
    CHECK(result.steps == steps);
    CHECK(result.samples_done == steps * batch);
    CHECK(result.learned == 1.0);
    CHECK(result.duration == steps * (milliseconds(10) + batch * nanoseconds(100'000)));
}

TEST_CASE("learning run: a batch that is turned is trained with from that step on", "[learning]") {
    const sim::JobSpec spec = learning_job(law(1000), 100);
    const records::RunResult result =
        run(quiet_market(), spec,
            {{"batch_schedule", R"({"schedule": "100:400,1000", "unit": "steps"})"}});
    REQUIRE(result.finished);
    const std::int64_t before = 400;
    const std::int64_t progress = test::progress_after(*spec.learning, 0, before, {100, 0});
    const std::int64_t after = sim::steps_to_target(*spec.learning, progress, {1000, 0}).value();
    CHECK(result.steps == before + after);
    CHECK(result.samples_done == before * 100 + after * 1000);
    CHECK(result.duration == before * milliseconds(20) + after * milliseconds(110));
}

TEST_CASE("learning run: nobody's looking changes it", "[learning][property]") {
    const sim::MarketData quiet = quiet_market();
    const sim::JobSpec spec = learning_job(law(1000), 170);
    sim::WorldSetup plain = setup(quiet, spec);
    sim::WorldSetup watched = setup(quiet, spec);
    plain.policies.push_back(policy("goodput_batch", R"({"interval": "7 s"})"));
    watched.policies.push_back(policy("goodput_batch", R"({"interval": "7 s"})"));
    watched.keep_timeline = true;
    sim::World one(std::move(plain));
    sim::World other(std::move(watched));
    const records::RunResult result = other.run();
    CHECK(one.run().event_hash == result.event_hash);
    REQUIRE_FALSE(result.timeline.empty());
    CHECK(result.timeline.back().learned == 1.0);
    CHECK(result.timeline.back().batch.has_value());
}

TEST_CASE("learning run: what a loss takes is learned again", "[learning]") {
    sim::JobSpec spec = learning_job(law(1000), 100);
    spec.plan.fleet.front().market = policies::Market::spot;
    spec.profile.lossless = false;
    spec.profile.checkpoint = whole_seconds(1);
    spec.plan.checkpoint_interval = whole_seconds(30);
    const sim::MarketData gap = market(
        {zone("a", capacity({{{}, 1}, {whole_seconds(75), 0}, {whole_seconds(100), 1}}, days(30)),
              price(1.0))});
    const records::RunResult result = run(gap, spec, {});
    REQUIRE(result.finished);
    // Saved at 30 s and 61 s, after 1500 steps each: from 62 s on all is lost.
    CHECK(result.steps == 10'000);
    CHECK(result.causes.time[static_cast<std::size_t>(records::Cause::redone)] > whole_seconds(12));
}

TEST_CASE("learning run: a seed has its own luck, the same each time", "[learning]") {
    sim::NoiseScaleLaw one = law(1000);
    one.spread = 0.1;
    const auto model = sim::make_noise_scale_law(one);
    CHECK(steps_with(*model->drawn(1), 100) == steps_with(*model->drawn(1), 100));
    double sum = 0;
    double squares = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const double steps = static_cast<double>(steps_with(*model->drawn(seed), 100)) / 10'000;
        sum += steps;
        squares += steps * steps;
    }
    CHECK(sum / 400 == Approx(1).margin(0.02));
    CHECK(std::sqrt(squares / 400 - sum * sum / 160'000) == Approx(0.1).margin(0.02));
}

}  // namespace ukemi
