// batch_policies_test.cpp — policies that choose the batch: what each does, from hand-made numbers.
#include "tests/policies/batch_situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

TEST_CASE("constant_batch: the batch it is given, or the Plan's", "[batch]") {
    BatchSituation job;
    job.carry_out(*policy_named("constant_batch"), Hook::before_train);
    CHECK(job.plan.global_batch == 256);
    job.carry_out(*policy_named("constant_batch", R"({"batch": 1000})"), Hook::before_train);
    CHECK(job.plan.global_batch == 1000);
}

TEST_CASE("batch_schedule: changes at the epochs of its timetable", "[batch]") {
    BatchSituation job;
    const auto policy = policy_named("batch_schedule", R"({"schedule": "64:30,128:30,4096"})");
    for (const auto& [epoch, batch] :
         {std::pair{0, 64}, {29, 64}, {30, 128}, {59, 128}, {60, 4096}, {1000, 4096}, {31, 128}}) {
        CAPTURE(epoch);
        job.epoch(epoch).carry_out(*policy, Hook::before_epoch);
        CHECK(job.plan.global_batch == batch);
    }
}

TEST_CASE("batch_schedule: KungFu's size:steps counts steps", "[batch]") {
    BatchSituation job;
    const auto policy =
        policy_named("batch_schedule", R"({"schedule": "8:100/16:150", "unit": "steps"})");
    CHECK(policy->every_steps() == 50);  // 100 and 250 are multiples of it
    job.seen.steps_done = 99;
    job.carry_out(*policy, Hook::before_step);
    CHECK(job.plan.global_batch == 8);
    job.seen.steps_done = 100;
    job.carry_out(*policy, Hook::before_step);
    CHECK(job.plan.global_batch == 16);
    job.seen.steps_done = 100'000;
    job.carry_out(*policy, Hook::before_step);
    CHECK(job.plan.global_batch == 16);
}

TEST_CASE("batch_schedule: refuses what is no timetable", "[batch]") {
    for (const char* wrong : {"x", "0", "8:", ":8", "8,16", "8:1,", "8:1,,9", "8:0,9", "-8"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(
            policy_named("batch_schedule", std::string(R"({"schedule": ")") + wrong + R"("})"),
            InputError);
    }
}

TEST_CASE("grow_batch: grows where the rate would fall, then lowers the rate", "[batch]") {
    // Smith et al.: drops of 10 at epochs 30, 60 and 80, with room for a factor of 100 only.
    BatchSituation job;
    const auto policy = policy_named("grow_batch", R"({"batch_max": 25600})");
    job.carry_out(*policy, Hook::before_train);
    job.epoch(29).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.global_batch == 256);
    job.epoch(30).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.global_batch == 2560);
    CHECK(job.plan.learning_rate == Approx(0.1));
    job.epoch(60).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.global_batch == 25600);
    job.epoch(80).carry_out(*policy, Hook::before_epoch);
    CHECK(job.plan.global_batch == 25600);
    CHECK(job.plan.learning_rate == Approx(0.01));
    // What SGD's noise is proportional to fell by 1000 in all: ε/B from 0.1/256.
    CHECK(job.plan.learning_rate / 25600 == Approx(0.1 / 256 / 1000));
}

TEST_CASE("noise_scale_batch: is the square root of exchange rate times noise scale", "[batch]") {
    BatchSituation job;
    const auto policy = policy_named("noise_scale_batch", R"({"exchange_rate": 400})");
    job.noise(0).carry_out(*policy, Hook::after_epoch);
    CHECK(job.plan.global_batch == 256);  // not measured
    job.noise(10'000).carry_out(*policy, Hook::after_epoch);
    CHECK(job.plan.global_batch == 2000);
    job.noise(10'100).carry_out(*policy, Hook::after_epoch);
    CHECK(job.plan.global_batch == 2000);  // hardly another one
    job.noise(1e15).carry_out(*policy, Hook::after_epoch);
    CHECK(job.plan.global_batch == 65'536);
    const auto plain = policy_named("noise_scale_batch");
    job.noise(3000).carry_out(*plain, Hook::after_epoch);
    CHECK(job.plan.global_batch == 3000);
}

TEST_CASE("goodput_batch: no batch it could have had is better by more than a step of its search",
          "[batch][property]") {
    const double noise = GENERATE(100, 1000, 10'000, 1e6);
    BatchSituation job;
    job.noise(noise);
    const auto policy = policy_named("goodput_batch", R"({"least_gain": 0, "batch_max": 16384})");
    job.carry_out(*policy, Hook::before_train);
    const auto predictor = make_profile_predictor(job.profile);
    const auto goodput = [&](std::int64_t batch) {
        Plan plan = job.plan;
        plan.global_batch = batch;
        const double time_s = to_seconds(predictor->work_time(batch * 1000, plan, 4));
        const double size = static_cast<double>(batch);
        return size * (noise + 256) / (noise + size) / time_s;
    };
    // T = 10 ms + 0.1 ms·B/4, so B·(φ+256)/((φ+B)·T) is greatest at √(φ·400).
    const double best = std::clamp(std::sqrt(noise * 400), 256.0, 16'384.0);
    CHECK(static_cast<double>(job.plan.global_batch) == Approx(best).epsilon(0.05));
    for (const std::int64_t other : {256, 512, 1024, 2048, 4096, 8192, 16'384}) {
        CHECK(goodput(job.plan.global_batch) >= 0.999 * goodput(other));
    }
}

TEST_CASE("accordion_batch: small while the gradient's norm changes", "[batch]") {
    BatchSituation job;
    const auto policy = policy_named("accordion_batch");
    job.carry_out(*policy, Hook::before_train);
    CHECK(job.plan.global_batch == 512);
    std::int64_t epoch = 0;
    const auto ten_epochs = [&](double squared_norm) {
        job.seen.gradient.squared_norm = squared_norm;
        for (int i = 0; i < 10; ++i) {
            job.epoch(++epoch).carry_out(*policy, Hook::after_step);
            job.carry_out(*policy, Hook::after_epoch);
        }
        return job.plan.global_batch;
    };
    CHECK(ten_epochs(100) == 512);  // the first period has none before it
    CHECK(ten_epochs(90) == 4096);
    CHECK(ten_epochs(10) == 512);  // √10 is 67 % below √90
    CHECK(ten_epochs(9) == 4096);
}

TEST_CASE("accordion, accordion_batch: epochs that are done again end no period", "[batch]") {
    BatchSituation job;
    const auto policy = policy_named(GENERATE(as<std::string>{}, "accordion", "accordion_batch"),
                                     R"({"every_epochs": 3})");
    std::vector<std::int64_t> judged;
    job.carry_out(*policy, Hook::before_train);
    for (const std::int64_t epoch : {1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 8, 9}) {
        job.epoch(epoch).seen.gradient.squared_norm = 100;
        job.carry_out(*policy, Hook::after_step);
        if (job.carry_out(*policy, Hook::after_epoch) != Decision{}) judged.push_back(epoch);
    }
    CHECK(judged == std::vector<std::int64_t>{3, 6, 9});
}

TEST_CASE("noise_doubling_batch: doubles when the smoothed ratio rose over an epoch", "[batch]") {
    BatchSituation job;  // four workers of 64
    const auto policy = policy_named("noise_doubling_batch");
    const auto epoch_of = [&](double noise) {
        job.noise(noise);
        for (int step = 0; step < 3; ++step) job.carry_out(*policy, Hook::after_step);
        job.carry_out(*policy, Hook::after_epoch);
        return job.plan.global_batch;
    };
    CHECK(epoch_of(640) == 256);   // r = 10; nothing to compare with
    CHECK(epoch_of(640) == 256);   // no change
    CHECK(epoch_of(-700) == 512);  // |−700| ÷ 64 is more
    CHECK(epoch_of(700) == 512);   // of a batch twice as large it is less
    CHECK(epoch_of(1e9) == 1024);  // clipped, and more all the same
    for (int epoch = 0; epoch < 6; ++epoch) epoch_of(1e12);
    CHECK(job.plan.global_batch == 4 * 1024);
    CHECK(epoch_of(0) == 4 * 1024);  // not measured
}

TEST_CASE("noise_doubling_batch: one outlier counts twice the average at most", "[batch]") {
    BatchSituation job;
    const auto policy = policy_named("noise_doubling_batch");
    const auto step = [&](double noise) { job.noise(noise).carry_out(*policy, Hook::after_step); };
    step(6400);  // r = 100
    job.carry_out(*policy, Hook::after_epoch);
    step(6.4e9);                              // 0.9·100 + 0.1·200 = 110
    for (int i = 0; i < 20; ++i) step(5760);  // r = 90: 90 + 20·0.9^20 = 92.4
    job.carry_out(*policy, Hook::after_epoch);
    CHECK(job.plan.global_batch == 256);
}

TEST_CASE("dynamic_batch: follows the workers, the rate in eight parts", "[batch]") {
    BatchSituation job;
    const auto policy = policy_named("dynamic_batch");
    job.carry_out(*policy, Hook::before_train);
    job.seen.workers = 8;
    job.carry_out(*policy, Hook::on_event);
    CHECK(job.plan.global_batch == 512);
    CHECK(job.plan.learning_rate == Approx(0.1));
    for (int step = 1; step <= 8; ++step) {
        job.carry_out(*policy, Hook::after_step);
        CHECK(job.plan.learning_rate == Approx(0.1 + 0.1 * step / 8));
    }
    CHECK(job.carry_out(*policy, Hook::after_step) == Decision{});
}
