// utilisation_resize_test.cpp — busy machines call for more, idle ones for fewer.
#include "tests/policies/situation.hpp"

using namespace ukemi;

namespace {

struct BusyJob : Situation {
    explicit BusyJob(std::int32_t workers) {
        plan.workers_max = workers;
        plan.fleet.front().count = workers;
    }
    // A step of 10 s, of which each worker computes its share.
    std::int32_t step(Policy& policy, std::initializer_list<double> busy) {
        const auto predictor = make_profile_predictor(profile);
        seen.worker_views.clear();
        for (const double share : busy) {
            const InstanceId id{static_cast<std::uint32_t>(seen.worker_views.size())};
            seen.worker_views.push_back({id, seconds(10), seconds(10 * share), {}, {}});
        }
        ++seen.steps_done;
        seen.now = seen.now + whole_seconds(10);
        seen.workers = static_cast<std::int32_t>(busy.size());
        const Decision decision =
            policy.after_step({seen, plan, *predictor, nullptr, random, most});
        if (decision != Decision{}) {
            apply(decision, plan);
            policy.committed(plan);
        }
        return plan.workers_max;
    }
    std::int32_t most = 1000;
};

constexpr std::string_view each_step = R"({"every_steps": 1, "grow_above": 0.7, "workers_max": 3})";

}  // namespace

TEST_CASE("utilisation_resize: grows while the mean is above the threshold",
          "[utilisation_resize]") {
    const auto policy = policy_named("utilisation_resize", each_step);
    BusyJob job(1);
    CHECK(job.step(*policy, {0.7}) == 1);
    CHECK(job.step(*policy, {0.71}) == 2);
    CHECK(job.step(*policy, {1}) == 2);  // one is on its way
    CHECK(job.step(*policy, {0.9, 0.4}) == 2);
    CHECK(job.step(*policy, {0.9, 0.6}) == 3);
    CHECK(job.step(*policy, {1, 1, 1}) == 3);
}

TEST_CASE("utilisation_resize: shrinks once a worker has been idle for long",
          "[utilisation_resize]") {
    const auto policy = policy_named("utilisation_resize", R"({"idle_for": "30 s", "spawn": 2})");
    BusyJob job(4);
    CHECK(job.ask_before_train(*policy) == Decision{});
    for (int i = 0; i < 3; ++i) CHECK(job.step(*policy, {0.5, 0.5, 0.01, 0.5}) == 4);
    CHECK(job.step(*policy, {0.5, 0.5, 0.5, 0.5}) == 4);  // it works again
    for (int i = 0; i < 3; ++i) CHECK(job.step(*policy, {0.5, 0.5, 0.01, 0.5}) == 4);
    CHECK(job.step(*policy, {0.5, 0.5, 0.01, 0.5}) == 2);
    CHECK(fleet_count(job.plan) == 2);
    for (int i = 0; i < 4; ++i) job.step(*policy, {0, 0});
    CHECK(job.step(*policy, {0}) == 1);  // not below one
    for (int i = 0; i < 9; ++i) CHECK(job.step(*policy, {0}) == 1);
}

TEST_CASE("utilisation_resize: says nothing where nothing is measured", "[utilisation_resize]") {
    const auto policy = policy_named("utilisation_resize", each_step);
    BusyJob job(1);
    job.seen.workers = 1;
    CHECK(job.step(*policy, {}) == 1);
    CHECK_THROWS_WITH(policy_named("utilisation_resize", R"({"workers_min": 3, "workers_max": 2})"),
                      "test.json: at /workers_max: expected at least \"workers_min\"");
}
