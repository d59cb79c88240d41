// gain_resize_test.cpp — KungFu's adaptive provisioning: up to the knee, one back, and no more.
#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

// Workers that train together at rates[workers − 1] examples a second.
struct GrowingGroup : Situation {
    explicit GrowingGroup(std::vector<double> of_workers) : rates(std::move(of_workers)) {
        plan.workers_max = 1;
        seen.workers = 1;
    }
    // A window of ten steps; the steps of its first half take ten times as long.
    std::int32_t window(Policy& policy, bool commit = true) {
        CHECK(ask(policy) == Decision{});
        const auto predictor = make_profile_predictor(profile);
        const double rate = rates.at(static_cast<std::size_t>(seen.workers) - 1);
        for (int step = 0; step < 10; ++step) {
            ++seen.steps_done;
            seen.samples_done += 8 * seen.workers;
            seen.now = seen.now + seconds(8 * seen.workers / rate * (step < 5 ? 10 : 1));
            const Decision decision =
                policy.after_step({seen, plan, *predictor, nullptr, random, most});
            if (decision == Decision{}) continue;
            CHECK(step == 9);
            if (!commit) {
                policy.discarded(plan, "a worker died");
                continue;
            }
            apply(decision, plan);
            policy.committed(plan);
        }
        seen.workers = plan.workers_max;
        CHECK(fleet_count(plan) == plan.workers_max);
        return plan.workers_max;
    }
    std::vector<double> rates;
    std::int32_t most = 4;
};

constexpr std::string_view ten_steps = R"({"window_steps": 10})";

}  // namespace

TEST_CASE("gain_resize: BERT stays at three workers", "[gain_resize][golden]") {
    // Three workers do 3 × 12.68 examples a second (KungFu's artifact, figure 6); what one, two and
    // four do is made up. The fourth would have to bring T(4) ≥ 13/12 · T(3) = 41.2.
    const auto policy = policy_named("gain_resize", ten_steps);
    GrowingGroup group({14, 26.5, 38.04, 41.1});
    for (const std::int32_t size : {2, 3, 4, 3, 3, 3}) CHECK(group.window(*policy) == size);
}

TEST_CASE("gain_resize: the threshold is 1 + alpha/n, and the most are kept", "[gain_resize]") {
    const auto policy = policy_named("gain_resize", ten_steps);
    GrowingGroup group({12, 14.01, 15.58, 16.89});  // 7/6, 10/9 and 13/12 more
    for (const std::int32_t size : {2, 3, 4, 4, 4}) CHECK(group.window(*policy) == size);
    const auto limited = policy_named("gain_resize", R"({"window_steps": 10, "workers_max": 2})");
    GrowingGroup small({1, 2, 3, 4});
    for (const std::int32_t size : {2, 2, 2}) CHECK(small.window(*limited) == size);
}

TEST_CASE("gain_resize: a change that was discarded is asked for again", "[gain_resize]") {
    const auto policy = policy_named("gain_resize", R"({"window_steps": 10, "alpha": 1})");
    GrowingGroup group({10, 20, 20, 20});
    CHECK(group.window(*policy, false) == 1);
    CHECK(group.seen.workers == 1);
    const auto predictor = make_profile_predictor(group.profile);
    ++group.seen.steps_done;
    group.seen.samples_done += 8;
    group.seen.now = group.seen.now + seconds(0.8);
    apply(policy->after_step({group.seen, group.plan, *predictor, nullptr, group.random, 4}),
          group.plan);
    CHECK(group.plan.workers_max == 2);
    policy->committed(group.plan);
    group.seen.workers = 2;
    CHECK(group.window(*policy) == 3);
    CHECK(group.window(*policy) == 2);
    CHECK(group.window(*policy) == 2);
}
