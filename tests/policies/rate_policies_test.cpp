// rate_policies_test.cpp — policies that choose the learning rate.
#include "policies/batch/batch_view.hpp"
#include "tests/policies/batch_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

TEST_CASE("gain: AdaptDL's golden vector", "[rate][golden]") {
    // var = 3, sqr = 1 and S = 8 give (3 + 1)/(3/8 + 1) = 2.909; var/sqr is φ over the small batch.
    CHECK(gain_of(3 * 32, 8 * 32, 32) == Approx(32.0 / 11));
    CHECK(gain_of(0, 256, 32) == 1);
    CHECK(gain_of(1e15, 256, 32) == Approx(8));
}

TEST_CASE("ada_scale: the rate is the first one times the gain", "[rate]") {
    BatchSituation job;
    const auto policy = policy_named("ada_scale", R"({"least_change": 0})");
    job.carry_out(*policy, Hook::before_train);
    job.plan.global_batch = 2048;
    job.seen.steps_done = 10;
    job.noise(768).carry_out(*policy, Hook::after_step);  // 3 times the first batch
    CHECK(job.plan.learning_rate == Approx(0.1 * 32 / 11));
    job.seen.steps_done = 20;
    job.noise(0).carry_out(*policy, Hook::after_step);  // not measured: what it knew
    CHECK(job.plan.learning_rate == Approx(0.1 * 32 / 11));
}

TEST_CASE("ada_scale: drops when enough steps of the first batch were made", "[rate]") {
    BatchSituation job;
    const auto policy = policy_named("ada_scale", R"({"drop_at": [100]})");
    job.carry_out(*policy, Hook::before_train);
    job.plan.global_batch = 2048;
    job.noise(768);
    for (int look = 1; look <= 3; ++look) {  // τ = 2.909 × steps
        job.seen.steps_done = look * 10;
        job.carry_out(*policy, Hook::after_step);
        CHECK(job.plan.learning_rate == Approx(0.1 * 32 / 11));
    }
    job.seen.steps_done = 40;
    job.carry_out(*policy, Hook::after_step);
    CHECK(job.plan.learning_rate == Approx(0.01 * 32 / 11));
}

TEST_CASE("scaled_rate: in proportion to the batch after its warm-up, with drops", "[rate]") {
    struct Case {
        std::string rule;
        double full;  // of a batch of four times the first
        std::int64_t warm_at;
    };
    const Case one = GENERATE(Case{"linear", 0.4, 5}, Case{"square_root", 0.2, 5},
                              Case{"legw", 0.2, 20}, Case{"fixed", 0.1, 5});
    CAPTURE(one.rule);
    BatchSituation job;
    const auto policy =
        policy_named("scaled_rate", R"({"least_change": 0, "rule": ")" + one.rule + R"("})");
    job.carry_out(*policy, Hook::before_train);
    job.plan.global_batch = 1024;
    job.epoch(0).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.learning_rate == Approx(0.1));
    job.epoch(1).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.learning_rate ==
          Approx(0.1 + (one.full - 0.1) / static_cast<double>(one.warm_at)));
    job.epoch(one.warm_at).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.learning_rate == Approx(one.full));
    job.epoch(30).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.learning_rate == Approx(one.full / 10));
    job.epoch(85).carry_out(*policy, Hook::after_step);
    CHECK(job.plan.learning_rate == Approx(one.full / 1000));
}

TEST_CASE("scaled_rate: the warm-up ends after its epochs, however long a step is", "[rate]") {
    BatchSituation job;
    const auto policy = policy_named("scaled_rate", R"({"least_change": 0})");
    job.carry_out(*policy, Hook::before_train);
    job.plan.global_batch = 1024;
    for (const auto& [samples, rate] :
         {std::pair{8'000, 0.148}, {16'000, 0.196}, {48'000, 0.388}, {56'000, 0.4}}) {
        CAPTURE(samples);
        job.seen.samples_done = samples;  // steps of 8000, four fifths of an epoch
        job.seen.epoch = samples / 10'000;
        job.carry_out(*policy, Hook::after_step);
        CHECK(job.plan.learning_rate == Approx(rate));
    }
}

TEST_CASE("scaled_rate: a drop in the midst of an epoch comes there", "[rate]") {
    BatchSituation job;
    const auto policy = policy_named(
        "scaled_rate", R"({"least_change": 0, "warm_up_epochs": 0, "drop_at_epochs": [2.5]})");
    job.carry_out(*policy, Hook::before_train);
    for (const auto& [samples, rate] : {std::pair{24'000, 0.1}, {25'000, 0.01}}) {
        job.seen.samples_done = samples;
        job.seen.epoch = samples / 10'000;
        job.carry_out(*policy, Hook::after_step);
        CHECK(job.plan.learning_rate == Approx(rate));
    }
    // Without a timetable it needs no epochs.
    const auto none = policy_named("scaled_rate", R"({"warm_up_epochs": 0, "drop_at_epochs": []})");
    CHECK(policy->hooks().has(Hook::before_epoch));
    CHECK_FALSE(none->hooks().has(Hook::before_epoch));
}

TEST_CASE("scaled_rate: from so many times the first rate", "[rate]") {
    BatchSituation job;
    const auto policy = policy_named("scaled_rate", R"({"least_change": 0, "times": 0.5})");
    job.carry_out(*policy, Hook::before_train);
    job.plan.global_batch = 1024;
    job.epoch(0).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.learning_rate == Approx(0.05));
    job.epoch(5).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.learning_rate == Approx(0.2));
}
