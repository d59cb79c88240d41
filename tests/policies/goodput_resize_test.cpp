// goodput_resize_test.cpp — Pollux's efficiency, and how far its rule scales out.
#include "policies/size/goodput_rule.hpp"
#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

TEST_CASE("goodput rule: efficiency is one at the initial batch and falls with it", "[goodput]") {
    CHECK(statistical_efficiency(1000, 128, 128) == Approx(1));
    CHECK(statistical_efficiency(1000, 128, 1256) == Approx(0.5));
    CHECK(statistical_efficiency(0, 128, 256) == Approx(0.5));
    CHECK(statistical_efficiency(1e9, 128, 1256) == Approx(1).margin(1e-5));
    CHECK(statistical_efficiency(1000, 128, 64) == Approx(1));  // not above one
}

TEST_CASE("goodput rule: scales out above the high threshold, down to the low one", "[goodput]") {
    // Per worker, relative to one alone: 1, 0.9, 0.7, 0.6, 0.5, 0.49, 0.6.
    const std::vector<double> goodputs{10, 18, 21, 24, 25, 29.4, 42};
    CHECK(goodput_size(goodputs, 1) == 5);
    CHECK(goodput_size(goodputs, 3) == 5);
    CHECK(goodput_size(goodputs, 4) == 4);  // 0.6 is not above 2/3
    CHECK(goodput_size(goodputs, 6) == 6);  // and nobody is given up
    CHECK(goodput_size(goodputs, 1, {0.8, 0.65}) == 3);
    CHECK(goodput_size(std::vector<double>{10}, 1) == 1);
}

namespace {

// Workers of 100 samples a step that scale perfectly: what limits them is their batch.
struct GoodputJob : Situation {
    GoodputJob() {
        profile.throughput = {{1, {1, seconds(1)}}};
        plan.batch_per_learner = 100;
        plan.workers_max = 1;
        seen.workers = 1;
    }
    std::int32_t ten_steps(Policy& policy, double noise_scale) {
        const auto predictor = make_profile_predictor(profile);
        for (int step = 0; step < 10; ++step) {
            ++seen.steps_done;
            seen.gradient.noise_scale = noise_scale;
            apply(policy.after_step({seen, plan, *predictor, nullptr, random, most}), plan);
        }
        seen.workers = plan.workers_max;
        CHECK(fleet_count(plan) == plan.workers_max);
        return plan.workers_max;
    }
    std::int32_t most = 1000;
};

}  // namespace

TEST_CASE("goodput_resize: follows the noise scale as it grows", "[goodput]") {
    const auto policy = policy_named("goodput_resize", R"({"every_steps": 10})");
    GoodputJob job;
    CHECK(job.ask_before_train(*policy) == Decision{});
    CHECK(job.ten_steps(*policy, 0) == 1);    // not measured
    CHECK(job.ten_steps(*policy, -50) == 1);  // nothing but noise
    // (φ + 100) ÷ (φ + 100 K) ≥ 1/2 up to K = 2 + φ ÷ 100.
    CHECK(job.ten_steps(*policy, 100) == 3);
    CHECK(job.ten_steps(*policy, 200) == 3);  // 300 ÷ 500 is not above 2/3
    CHECK(job.ten_steps(*policy, 400) == 6);  // 500 ÷ 700 is
    CHECK(job.ten_steps(*policy, 50) == 6);
    job.most = 8;
    CHECK(job.ten_steps(*policy, 1e6) == 8);
}

TEST_CASE("goodput_resize: does nothing while workers are on their way, and keeps its limits",
          "[goodput]") {
    const auto policy = policy_named("goodput_resize", R"({"every_steps": 10, "workers_max": 4})");
    GoodputJob job;
    job.ask_before_train(*policy);
    job.seen.workers = 0;
    CHECK(job.ten_steps(*policy, 1e6) == 1);
    CHECK(job.ten_steps(*policy, 1e6) == 4);
    CHECK_THROWS_WITH(policy_named("goodput_resize", R"({"low": 0.7})"),
                      "test.json: at /low: expected at most \"high\"");
}
