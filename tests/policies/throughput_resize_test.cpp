// throughput_resize_test.cpp — sizes are tried one after the other, and measured one by one.
#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

// A job whose workers do together what `rate` says, and which becomes what it is told to at once.
struct ScalingJob : Situation {
    explicit ScalingJob(std::int32_t workers) {
        plan.workers_max = workers;
        plan.fleet.front().count = workers;
        seen.workers = workers;
        seen.samples_total = 1'000'000'000;
    }
    Decision step(Policy& policy, double rate) {
        const auto predictor = make_profile_predictor(profile);
        ++seen.steps_done;
        seen.samples_done += 1000;
        seen.now = seen.now + seconds(1000 / rate);
        return policy.after_step({seen, plan, *predictor, nullptr, random, most});
    }
    // Ten steps; what is decided after the last is carried out, and takes an hour.
    std::int32_t ten_steps(Policy& policy, double rate) {
        CHECK(ask(policy) == Decision{});  // training begins, or goes on
        for (int i = 0; i < 9; ++i) CHECK(step(policy, rate) == Decision{});
        const Decision decision = step(policy, rate);
        if (decision == Decision{}) return plan.workers_max;
        apply(decision, plan);
        seen.now = seen.now + hours(1);
        seen.workers = plan.workers_max;
        return plan.workers_max;
    }
    std::int32_t most = 1000;
};

}  // namespace

TEST_CASE("throughput_resize: grows while it pays, and stops a step beyond",
          "[throughput_resize]") {
    const auto policy = policy_named("throughput_resize", R"({"consecutive_passes": 1})");
    ScalingJob job(4);
    CHECK(job.ten_steps(*policy, 1000) == 8);
    CHECK(job.ten_steps(*policy, 1900) == 12);
    CHECK(job.ten_steps(*policy, 1910) == 12);  // too little, and measured further
    for (int i = 0; i < 9; ++i) CHECK(job.ten_steps(*policy, 1910) == 12);
    CHECK(job.ten_steps(*policy, 1910) == 8);
    CHECK(fleet_count(job.plan) == 12);  // machines that left are held
    CHECK(job.ten_steps(*policy, 1900) == 8);
}

TEST_CASE("throughput_resize: gives machines back where it is told to", "[throughput_resize]") {
    const auto policy = policy_named("throughput_resize", R"({"keeps_machines": false})");
    ScalingJob job(8);
    CHECK(job.ten_steps(*policy, 1000) == 12);
    CHECK(job.ten_steps(*policy, 900) == 4);
    CHECK(fleet_count(job.plan) == 4);
}

TEST_CASE("throughput_resize: does not ask for more while it waits for workers",
          "[throughput_resize]") {
    const auto policy = policy_named("throughput_resize");
    ScalingJob job(4);
    job.plan.workers_max = 8;
    CHECK(job.ask(*policy) == Decision{});
    for (int i = 0; i < 40; ++i) CHECK(job.step(*policy, 1000) == Decision{});
    job.seen.workers = 8;
    CHECK(job.ask(*policy) == Decision{});
    for (int i = 0; i < 9; ++i) CHECK(job.step(*policy, 2000) == Decision{});
    const Decision grown = job.step(*policy, 2000);
    CHECK(grown.workers_max == 12);  // it had measured four meanwhile
    CHECK(grown.reason == "more workers may pay");
}

TEST_CASE("throughput_resize: stays within its own limits and the world's", "[throughput_resize]") {
    const auto policy = policy_named("throughput_resize", R"({"workers_max": 12})");
    ScalingJob job(4);
    CHECK(job.ten_steps(*policy, 1000) == 8);
    job.most = 10;
    CHECK(job.ten_steps(*policy, 2000) == 10);
    const auto other = policy_named("throughput_resize", R"({"workers_max": 12})");
    ScalingJob top(12);
    CHECK(top.ten_steps(*other, 1000) == 8);
}

TEST_CASE("throughput_resize: weighs utility against cost where it is told to",
          "[throughput_resize]") {
    const auto at_price = [](std::string_view price) {
        const auto policy = policy_named(
            "throughput_resize",
            R"({"condition": "utility", "utility_points": [{"dollars": 10, "until": "3 h"}],
                "worker_price": ")" +
                std::string(price) + R"("})");
        ScalingJob job(8);
        job.seen.samples_total = 5'000'000;
        CHECK(job.ten_steps(*policy, 1000) == 12);
        return job.ten_steps(*policy, 1200);
    };
    // 12 workers finish 14 min sooner, which is worth 0.77 dollars, for 2.8 worker hours more.
    CHECK(at_price("0.01 USD/h") == 16);
    CHECK(at_price("1 USD/h") == 4);
}

TEST_CASE("throughput_resize: refuses limits that it could not keep", "[throughput_resize]") {
    CHECK_THROWS_WITH(policy_named("throughput_resize", R"({"workers_min": 6})"),
                      "test.json: at /workers_min: expected a multiple of \"spawn\"");
    CHECK_THROWS_WITH(policy_named("throughput_resize", R"({"workers_max": 6})"),
                      "test.json: at /workers_max: expected a multiple of \"spawn\"");
    CHECK_THROWS_WITH(policy_named("throughput_resize", R"({"workers_min": 8, "workers_max": 4})"),
                      "test.json: at /workers_max: expected at least \"workers_min\"");
    CHECK_THROWS_WITH(policy_named("throughput_resize", R"({"condition": "utility"})"),
                      Catch::Contains("utility_points"));
    CHECK_THROWS_WITH(
        policy_named("throughput_resize",
                     R"({"condition": "utility", "utility": "steps", "utility_points": [
                         {"dollars": 1, "until": "2 h"}, {"dollars": 1, "until": "2 h"}]})"),
        Catch::Contains("expected times that rise"));
}
