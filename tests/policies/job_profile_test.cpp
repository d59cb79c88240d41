// job_profile_test.cpp — steps and times that are each other's inverse, and the guess made of them.
#include "policies/job_profile.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "base/rng.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

// 10 steps/s alone, 30 with four, 40 with eight.
JobProfile measured() {
    JobProfile profile;
    profile.throughput = {
        {1, {10, whole_seconds(1)}}, {4, {30, whole_seconds(1)}}, {8, {40, whole_seconds(1)}}};
    profile.provisioning = minutes(2);
    profile.restart = minutes(1);
    profile.checkpoint = whole_seconds(30);
    profile.restore = whole_seconds(20);
    return profile;
}

double steps_per_s(StepRate rate) { return static_cast<double>(rate.steps) / to_seconds(rate.per); }

}  // namespace

TEST_CASE("step rate: by hand", "[job_profile]") {
    const StepRate rate{3, whole_seconds(10)};
    CHECK(steps_within(rate, whole_seconds(10)) == 3);
    CHECK(steps_within(rate, whole_seconds(10) - nanoseconds(1)) == 2);
    CHECK(steps_within(rate, Duration{}) == 0);
    CHECK(time_for(rate, 3) == whole_seconds(10));
    CHECK(time_for(rate, 0) == Duration{});
    CHECK(time_for(rate, 1) == nanoseconds(3'333'333'334));  // 10/3 s, rounded up
    const StepRate fluid{1, nanoseconds(1)};
    CHECK(steps_within(fluid, hours(48)) == hours(48).raw());
    CHECK(time_for(fluid, hours(48).raw()) == hours(48));
}

TEST_CASE("step rate: the time for n steps is the first at which n steps are done",
          "[job_profile][property]") {
    const std::uint64_t seed = GENERATE(range(1U, 201U));
    CAPTURE(seed);
    RandomStream random(seed, "test/rate");
    const StepRate rate{random.integer(1, 1'000'000),
                        nanoseconds(random.integer(1, 1'000'000'000))};
    const std::int64_t steps = random.integer(1, 1'000'000'000);
    CAPTURE(rate.steps, rate.per.raw(), steps);
    const Duration time = time_for(rate, steps);
    CHECK(steps_within(rate, time) >= steps);
    CHECK(steps_within(rate, time - nanoseconds(1)) < steps);
    const Duration given = nanoseconds(random.integer(0, hours(1).raw()));
    const std::int64_t done = steps_within(rate, given);
    CHECK(time_for(rate, done) <= given);
    CHECK(time_for(rate, done + 1) > given);
}

TEST_CASE("rate: measured points are kept, between them it is linear", "[job_profile]") {
    const JobProfile profile = measured();
    CHECK(rate_of(profile, Plan{}, 1) == profile.throughput[0].rate);
    CHECK(rate_of(profile, Plan{}, 4) == profile.throughput[1].rate);
    CHECK(rate_of(profile, Plan{}, 8) == profile.throughput[2].rate);
    CHECK(steps_per_s(rate_of(profile, Plan{}, 2)) == Approx(10 + 20.0 / 3).epsilon(1e-9));
    CHECK(steps_per_s(rate_of(profile, Plan{}, 6)) == Approx(35).epsilon(1e-9));
}

TEST_CASE("rate: no speed-up that nobody measured", "[job_profile]") {
    JobProfile profile = measured();
    CHECK(rate_of(profile, Plan{}, 9) == profile.throughput[2].rate);
    CHECK(rate_of(profile, Plan{}, 1000) == profile.throughput[2].rate);
    profile.throughput.erase(profile.throughput.begin());
    CHECK(rate_of(profile, Plan{}, 1) == profile.throughput[0].rate);  // nor a slow-down
    profile.throughput.pop_back();
    CHECK(rate_of(profile, Plan{}, 100) == profile.throughput[0].rate);
}

TEST_CASE("rate: where the batch grows with the workers it is one of samples", "[job_profile]") {
    JobProfile profile = measured();
    profile.batch_grows = true;
    const auto batches_per_s = [&](std::int32_t workers) {
        return workers * steps_per_s(rate_of(profile, Plan{}, workers));
    };
    CHECK(rate_of(profile, Plan{}, 4) == profile.throughput[1].rate);
    CHECK(batches_per_s(2) == Approx(10 + 110.0 / 3).epsilon(1e-9));  // from 10 to 4 x 30
    CHECK(batches_per_s(6) == Approx(220).epsilon(1e-9));
    for (const std::int32_t beyond : {9, 16, 1000}) {
        CHECK(batches_per_s(beyond) == Approx(320).epsilon(1e-9));
    }
    profile.throughput.erase(profile.throughput.begin());
    CHECK(batches_per_s(1) == Approx(30).epsilon(1e-9));  // not as fast as four
}

TEST_CASE("rate: steps that take hours are interpolated as well as short ones", "[job_profile]") {
    // A step in 10 h alone, in 5 h with three: 0.15 an hour with two, not 0.
    JobProfile profile;
    profile.throughput = {{1, {1, hours(10)}}, {3, {1, hours(5)}}};
    CHECK(steps_per_s(rate_of(profile, Plan{}, 2)) * 3600 == Approx(0.15).epsilon(1e-5));
    // Fast ones too: a nanosecond of work a nanosecond, and a hundred thousand of them.
    profile.throughput = {{1, {1, nanoseconds(1)}}, {3, {100'000, nanoseconds(1)}}};
    CHECK(steps_per_s(rate_of(profile, Plan{}, 2)) / 1e9 == Approx(50'000.5).epsilon(1e-12));
}

TEST_CASE("rate: more workers are never slower where the table says so",
          "[job_profile][property]") {
    const std::uint64_t seed = GENERATE(range(1U, 51U));
    CAPTURE(seed);
    RandomStream random(seed, "test/table");
    JobProfile profile;
    std::int32_t workers = 1;
    std::int64_t steps = 1 + random.integer(0, 100);
    for (int point = 0; point < 4; ++point) {
        profile.throughput.push_back({workers, {steps, minutes(1)}});
        workers += static_cast<std::int32_t>(random.integer(1, 8));
        steps += random.integer(0, 300);
    }
    for (std::int32_t n = 1; n < workers + 2; ++n) {
        CAPTURE(n);
        CHECK(steps_per_s(rate_of(profile, Plan{}, n)) <=
              steps_per_s(rate_of(profile, Plan{}, n + 1)) * (1 + 1e-8));
    }
}

TEST_CASE("exposed communication: each collective's at this size, of others the longest",
          "[job_profile]") {
    JobProfile profile;
    profile.throughput = {{1, {1, milliseconds(100)}}};
    profile.communication = {
        {Collective::ring, {{4, milliseconds(20)}, {8, milliseconds(60)}}},
        {Collective::star, {{1, milliseconds(30)}}},
    };
    Plan plan;
    plan.collective = Collective::ring;
    CHECK(exposed_communication(profile, plan, 1) == Duration{});  // alone nothing is sent
    CHECK(exposed_communication(profile, plan, 2) == milliseconds(20));
    CHECK(exposed_communication(profile, plan, 6) == milliseconds(40));
    CHECK(exposed_communication(profile, plan, 100) == milliseconds(60));
    CHECK(rate_of(profile, plan, 1) == StepRate{1, milliseconds(100)});
    CHECK(rate_of(profile, plan, 6) == StepRate{1, milliseconds(140)});
    plan.collective = Collective::star;
    CHECK(exposed_communication(profile, plan, 2) == milliseconds(30));
    CHECK(exposed_communication(profile, plan, 8) == milliseconds(30));
    plan.collective = Collective::hierarchical;  // nobody said
    CHECK(exposed_communication(profile, plan, 4) == milliseconds(30));
    CHECK(exposed_communication(profile, plan, 8) == milliseconds(60));
}

TEST_CASE("predictor: time for the samples that are left, in whole steps", "[predictor]") {
    const auto predictor = make_profile_predictor(measured());
    Plan plan;
    plan.batch_per_learner = 16;
    // 1601 samples alone: 101 steps at 10 a second.
    CHECK(predictor->work_time(1601, plan, 1) == milliseconds(10'100));
    CHECK(predictor->work_time(0, plan, 1) == Duration{});
    // With eight: 128 samples a step, 13 steps at 40 a second.
    CHECK(predictor->work_time(1601, plan, 8) == milliseconds(325));
    plan.global_batch = 100;  // 17 steps, however many share them
    CHECK(predictor->work_time(1601, plan, 8) == milliseconds(425));
}

TEST_CASE("predictor: checkpoints count for a job that can lose work", "[predictor]") {
    JobProfile profile = measured();
    Plan plan;
    plan.checkpoint_interval = minutes(10);
    const auto lossless = make_profile_predictor(profile);
    // 10 samples a second for an hour.
    CHECK(lossless->work_time(36'000, plan, 1) == hours(1));
    CHECK(lossless->checkpoint_time(plan) == Duration{});
    CHECK(lossless->restore_time(plan) == Duration{});
    profile.lossless = false;
    const auto lossy = make_profile_predictor(profile);
    CHECK(lossy->work_time(36'000, plan, 1) == hours(1) + minutes(3));  // six times 30 s
    CHECK(lossy->checkpoint_time(plan) == whole_seconds(30));
    CHECK(lossy->restore_time(plan) == whole_seconds(20));
    plan.checkpoint_interval = never_checkpoint;
    CHECK(lossy->work_time(36'000, plan, 1) == hours(1));
    CHECK(lossy->transition_time(plan, plan) == minutes(3));  // provisioning and restart
}

TEST_CASE("predictor: a guess is at most a century, so that it can be added to", "[predictor]") {
    JobProfile profile = measured();
    profile.lossless = false;
    profile.checkpoint = hours(1);
    const auto predictor = make_profile_predictor(profile);
    Plan plan;
    plan.checkpoint_interval = nanoseconds(1);
    const Duration most = days(36'500);
    CHECK(predictor->work_time(std::numeric_limits<std::int64_t>::max(), plan, 1) == most);
    CHECK(predictor->work_time(36'000'000, plan, 1) == most);  // a checkpoint a step
}

TEST_CASE("step time: one worker alone sends nothing, unless that was measured", "[job_profile]") {
    StepTime time;
    time.compute = {{10, whole_seconds(4)}};
    time.synchronisation = {{2, whole_seconds(1)}};
    Plan plan;
    plan.batch_per_learner = 10;
    CHECK(step_of(time, plan, 1) == whole_seconds(4));
    CHECK(exchange_of(time, plan, 1).exposed == Duration{});
    CHECK(step_of(time, plan, 2) == whole_seconds(5));
    time.synchronisation = {{1, whole_seconds(1)}};
    CHECK(step_of(time, plan, 1) == whole_seconds(5));
}

TEST_CASE("step time: learners whose steps are known by number and batch", "[job_profile]") {
    StepTime time;
    time.compute = {{10, whole_seconds(4)}, {20, whole_seconds(6)}};
    time.groups = {{1, time.compute}, {2, {{10, whole_seconds(5)}, {20, whole_seconds(6)}}}};
    LearnerSteps two{2, 10, {{10, whole_seconds(5)}}, {}};
    two.groups = {{1, two.compute}, {2, {{10, whole_seconds(7)}}}};
    time.learner_steps = {two};
    Plan plan;
    plan.batch_per_learner = 10;
    CHECK(step_of(time, plan, 2) == whole_seconds(5));
    plan.learners_per_gpu = 2;
    CHECK(step_of(time, plan, 1) == whole_seconds(5));
    CHECK(step_of(time, plan, 2) == whole_seconds(7));
    CHECK(exchange_of(time, plan, 2).exposed == whole_seconds(2));
    // 20 of each do not fit beside each other: two micro-steps, of which the last sends.
    plan.batch_per_learner = 20;
    CHECK(step_of(time, plan, 2) == whole_seconds(12));
    // Beyond what is known, no more samples a second than with the last that is.
    plan.batch_per_learner = 10;
    plan.learners_per_gpu = 6;
    CHECK(step_of(time, plan, 1) == whole_seconds(15));
    CHECK(step_of(time, plan, 2) == whole_seconds(21));
}
