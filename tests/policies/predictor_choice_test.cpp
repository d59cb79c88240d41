// predictor_choice_test.cpp — Predictors that know, that are off by shares, and that learn.
#include "policies/predictor_choice.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "base/rng.hpp"

namespace ukemi {

namespace {

policies::JobProfile profile_of_steps(Duration step) {
    policies::JobProfile profile;
    profile.throughput = {{1, {1, step}}};
    profile.provisioning = minutes(1);
    profile.spawn = whole_seconds(30);
    profile.restart = minutes(4);
    profile.resize = minutes(2);
    profile.lossless = false;
    profile.checkpoint = whole_seconds(30);
    profile.restore = whole_seconds(20);
    return profile;
}

policies::Plan plan_of(std::int32_t spot, std::int32_t on_demand = 0) {
    policies::Plan plan;
    plan.global_batch = 1;
    plan.workers_max = spot + on_demand;
    if (spot > 0) plan.fleet.push_back({ZoneId{0}, 0, policies::Market::spot, spot, {}});
    if (on_demand > 0)
        plan.fleet.push_back({ZoneId{0}, 0, policies::Market::on_demand, on_demand, {}});
    return plan;
}

// A job that is watched: its Predictor is asked nothing and shown everything.
struct Watched {
    policies::PredictorChoice choice{policies::PredictorKind::calibrated};
    policies::JobProfile profile = profile_of_steps(whole_seconds(1));
    std::unique_ptr<policies::Predictor> predictor = policies::make_predictor(choice, profile, 1);
    policies::Observation seen;
    policies::Plan plan = plan_of(4);

    Watched() {
        seen.phase = policies::JobPhase::running;
        seen.workers = seen.spot_held = 4;
        seen.zones.resize(1);
        look();
    }
    void look() { predictor->observe(seen, plan); }
    void train(std::int64_t steps, Duration time) {
        seen.now = seen.now + time;
        seen.steps_done += steps;
        look();
    }
    void be(policies::JobPhase phase, std::int32_t workers, Duration later) {
        seen.now = seen.now + later;
        seen.phase = phase;
        seen.workers = workers;
        look();
    }
    Duration step(std::int32_t workers = 4) const { return predictor->work_time(1, plan, workers); }
};

bool about(Duration found, Duration expected, double share = 0.01) {
    return std::abs(to_seconds(found) / to_seconds(expected) - 1) <= share;
}

}  // namespace

TEST_CASE("predictor: disturbed by nothing it is the exact one, to the nanosecond", "[predictor]") {
    for (const Duration step : {nanoseconds(1), milliseconds(7), whole_seconds(90)}) {
        const policies::JobProfile profile = profile_of_steps(step);
        const auto exact = policies::make_predictor({}, profile, 1);
        for (const policies::PredictorKind kind :
             {policies::PredictorKind::disturbed, policies::PredictorKind::calibrated}) {
            const auto other = policies::make_predictor({kind}, profile, 1);
            policies::Plan plan = plan_of(4);
            for (const std::int64_t samples :
                 {std::int64_t{0}, std::int64_t{1}, std::int64_t{123'456'789},
                  std::numeric_limits<std::int64_t>::max()}) {
                CHECK(other->work_time(samples, plan, 4) == exact->work_time(samples, plan, 4));
                plan.checkpoint_interval = minutes(10);
            }
            CHECK(other->checkpoint_time(plan) == exact->checkpoint_time(plan));
            CHECK(other->restore_time(plan) == exact->restore_time(plan));
            CHECK(other->transition_time({}, plan) == exact->transition_time({}, plan));
        }
    }
}

TEST_CASE("predictor: disturbed it is off by its shares", "[predictor]") {
    const policies::PredictorChoice choice{policies::PredictorKind::disturbed, 1.1, 0.5, 2, 0};
    const auto predictor = policies::make_predictor(choice, profile_of_steps(whole_seconds(10)), 1);
    policies::Plan plan = plan_of(4);
    CHECK(predictor->work_time(60, plan, 4) == whole_seconds(660));
    CHECK(predictor->transition_time({}, plan) == whole_seconds((90 + 240) / 2));
    CHECK(predictor->restore_time(plan) == whole_seconds(10));
    CHECK(predictor->checkpoint_time(plan) == minutes(1));
    plan.checkpoint_interval = whole_seconds(110);  // ten steps of 11 s: six saves of a minute
    CHECK(predictor->work_time(60, plan, 4) == whole_seconds(660 + 360));
    const auto never_long = policies::make_predictor(
        {policies::PredictorKind::disturbed, 100, 100, 100, 0}, profile_of_steps(hours(1)), 1);
    CHECK(never_long->work_time(1'000'000'000, plan, 4) == days(36'500));
}

TEST_CASE("predictor: a spread is drawn once a run, and again the same for its seed",
          "[predictor]") {
    const policies::PredictorChoice choice{policies::PredictorKind::disturbed, 1, 1, 1, 0.3};
    const policies::JobProfile profile = profile_of_steps(whole_seconds(1));
    const policies::Plan plan = plan_of(1);
    std::set<Duration> steps;
    int longer = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const auto one = policies::make_predictor(choice, profile, seed);
        const Duration step = one->work_time(1, plan, 1);
        CHECK(step == policies::make_predictor(choice, profile, seed)->work_time(1, plan, 1));
        CHECK(one->work_time(1000, plan, 1) > 999 * step);
        steps.insert(step);
        longer += step > whole_seconds(1) ? 1 : 0;
    }
    CHECK(steps.size() == 200);
    CHECK(longer > 70);
    CHECK(longer < 130);
}

TEST_CASE("predictor: calibrated finds the true step time, whatever it started from",
          "[predictor]") {
    for (const Duration true_step : {milliseconds(700), milliseconds(1300), whole_seconds(5)}) {
        Watched job;
        CHECK(job.step() == whole_seconds(1));  // as declared
        for (int stretch = 0; stretch < 3; ++stretch) job.train(20, 20 * true_step);
        CHECK(about(job.step(), true_step, 1e-6));
        CHECK(about(job.step(9), true_step, 1e-6));  // of the nearest size that was measured
    }
}

TEST_CASE("predictor: calibrated, questions in mid-step do not mislead", "[predictor]") {
    Watched job;
    const Duration step = milliseconds(1300);
    RandomStream random(1, "test");
    Duration trained;
    for (int question = 0; question < 400; ++question) {
        const Duration more = milliseconds(random.integer(100, 5000));
        const std::int64_t steps = (trained + more).raw() / step.raw() - trained.raw() / step.raw();
        trained += more;
        job.train(steps, more);
    }
    CHECK(about(job.step(), step, 0.05));
}

TEST_CASE("predictor: calibrated, an outlier alone changes nothing, a change that lasts does",
          "[predictor]") {
    Watched job;
    for (int stretch = 0; stretch < 8; ++stretch) job.train(20, whole_seconds(26));
    const Duration before = job.step();
    job.train(20, whole_seconds(2600));
    job.train(20, whole_seconds(26));
    job.train(20, whole_seconds(26));
    CHECK(job.step() == before);
    for (int stretch = 0; stretch < 30; ++stretch) job.train(20, whole_seconds(52));
    CHECK(about(job.step(), milliseconds(2600)));
}

TEST_CASE("predictor: calibrated, saving and losses are no steps", "[predictor]") {
    Watched job;
    for (int stretch = 0; stretch < 4; ++stretch) {
        job.seen.samples_safe += 20;
        job.train(20, whole_seconds(26 + 30));  // a checkpoint of 30 s in between
    }
    CHECK(about(job.step(), milliseconds(1300)));
    const Duration before = job.step();
    for (int loss = 0; loss < 4; ++loss) {
        ++job.seen.spot_losses;
        job.train(20, minutes(10));
    }
    CHECK(job.step() == before);
}

TEST_CASE("predictor: calibrated, each size of the group has a step time of its own",
          "[predictor]") {
    Watched job;
    for (int stretch = 0; stretch < 3; ++stretch) job.train(20, whole_seconds(26));
    job.be(policies::JobPhase::running, 8, minutes(1));
    for (int stretch = 0; stretch < 3; ++stretch) job.train(20, whole_seconds(14));
    CHECK(about(job.step(4), milliseconds(1300)));
    CHECK(about(job.step(8), milliseconds(700)));
    CHECK(about(job.step(5), milliseconds(1300)));
    CHECK(about(job.step(100), milliseconds(700)));
}

TEST_CASE("predictor: calibrated, what a change costs depends on both Plans", "[predictor]") {
    Watched job;
    const policies::Predictor& predictor = *job.predictor;
    const Duration arrival = whole_seconds(90);
    CHECK(predictor.transition_time({}, plan_of(4)) == arrival + minutes(4));
    CHECK(predictor.transition_time(plan_of(4), plan_of(6)) == arrival + minutes(2));
    CHECK(predictor.transition_time(plan_of(4), plan_of(2)) == minutes(2));
    CHECK(predictor.transition_time(plan_of(4), plan_of(0, 4)) == arrival + minutes(4));
    CHECK(predictor.transition_time(plan_of(4), plan_of(4, 2)) == arrival + minutes(2));
    CHECK(predictor.transition_time(plan_of(4), plan_of(4)) == Duration{});
    policies::Plan other = plan_of(4);
    other.version = PlanVersion{7};
    CHECK(predictor.transition_time(plan_of(4), other) == Duration{});
    other.global_batch = 64;
    CHECK(predictor.transition_time(plan_of(4), other) == Duration{});  // nobody said it costs
    policies::Plan nothing = plan_of(4);
    nothing.fleet.front().market = policies::Market::none;
    CHECK(predictor.transition_time(nothing, plan_of(4)) == arrival + minutes(4));
    CHECK(predictor.transition_time({}, nothing) == arrival + minutes(4));  // once it buys
}

TEST_CASE("predictor: calibrated, it measures what changes of the group cost", "[predictor]") {
    Watched job;
    const policies::Predictor& predictor = *job.predictor;
    for (int stretch = 0; stretch < 3; ++stretch) job.train(20, whole_seconds(20));
    // Two more are asked for, are there after five minutes, and the group stands for a minute.
    job.seen.zones[0].pending = 2;
    job.train(20, whole_seconds(20));
    job.train(280, whole_seconds(280));
    job.seen.zones[0].pending = 0;
    job.seen.spot_held = 6;
    job.train(20, whole_seconds(20));
    job.be(policies::JobPhase::running, 6, minutes(1));
    CHECK(about(predictor.transition_time(plan_of(4), plan_of(6)), minutes(6)));
    // Somebody is lost: half a minute.
    ++job.seen.spot_losses;
    job.seen.spot_held = 5;
    job.be(policies::JobPhase::transition, 0, whole_seconds(10));
    job.be(policies::JobPhase::running, 5, whole_seconds(30));
    CHECK(about(predictor.transition_time(plan_of(4), plan_of(2)), whole_seconds(30)));
    // All are lost; from a checkpoint, which takes 20 s to read, within 3 min 20 s.
    job.seen.samples_safe = 100;
    job.seen.spot_losses += 5;
    job.seen.spot_held = 0;
    job.be(policies::JobPhase::waiting, 0, minutes(1));
    job.seen.spot_held = 4;
    job.be(policies::JobPhase::transition, 0, hours(1));
    job.be(policies::JobPhase::running, 4, whole_seconds(200));
    CHECK(about(predictor.transition_time({}, plan_of(4)), minutes(5 + 3)));
    // The same machines under another Plan.
    policies::Plan other = job.plan;
    other.global_batch = 64;
    other.version = PlanVersion{1};
    job.plan = other;
    job.be(policies::JobPhase::running, 4, whole_seconds(5));
    other.global_batch = 128;
    CHECK(predictor.transition_time(job.plan, other) == whole_seconds(5));
}

TEST_CASE("predictor: calibrated, changes between the ticks of a clock are not measured",
          "[predictor]") {
    Watched job;
    job.seen.decision_interval = hours(1);
    const Duration before = job.predictor->transition_time(plan_of(4), plan_of(6));
    job.be(policies::JobPhase::transition, 0, hours(1));
    job.be(policies::JobPhase::running, 6, hours(1));
    CHECK(job.predictor->transition_time(plan_of(4), plan_of(6)) == before);
}

}  // namespace ukemi
