// utilisation_resize_test.cpp — busy machines call for more, idle ones for fewer.
#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

struct BusyJob : Situation {
    explicit BusyJob(std::int32_t workers) {
        plan.workers_max = workers;
        plan.fleet.front().count = workers;
    }
    // A step of 10 s, of which each worker computes its share.
    std::int32_t step(Policy& policy, std::initializer_list<double> busy) {
        std::vector<WorkerView> views;
        for (const double share : busy) {
            const Duration compute = seconds(10 * share);
            views.push_back({{}, seconds(10), compute, seconds(10) - compute, {}});
        }
        return step_of(policy, std::move(views));
    }
    std::int32_t step_of(Policy& policy, std::vector<WorkerView> views) {
        const auto predictor = make_profile_predictor(profile);
        std::uint32_t next = 0;
        for (WorkerView& one : views) one.instance = InstanceId{next++};
        seen.worker_views = std::move(views);
        ++seen.steps_done;
        seen.now = seen.now + whole_seconds(10);
        seen.workers = static_cast<std::int32_t>(seen.worker_views.size());
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

TEST_CASE("utilisation_resize: a worker that is gone is no idle one", "[utilisation_resize]") {
    const auto policy = policy_named("utilisation_resize", R"({"idle_for": "30 s"})");
    BusyJob job(3);
    for (int i = 0; i < 3; ++i) CHECK(job.step(*policy, {0.5, 0.5, 0.01}) == 3);
    CHECK(job.step(*policy, {0.5, 0.5}) == 3);        // lost before its time was up
    CHECK(job.step(*policy, {0.5, 0.5, 0.01}) == 3);  // its clock begins anew
}

TEST_CASE("utilisation_resize: a device that waits in a collective is occupied, not computing",
          "[utilisation_resize]") {
    const auto computing = policy_named("utilisation_resize", each_step);
    const auto occupied =
        policy_named("utilisation_resize",
                     R"({"utilisation": "occupied", "every_steps": 1, "grow_above": 0.7})");
    CHECK(occupied->looks_at_workers());
    // Half of each step in collectives; then half of it without input.
    const std::vector<WorkerView> waits{{{}, seconds(10), seconds(5), seconds(5), {}}};
    const std::vector<WorkerView> starves{{{}, seconds(10), seconds(5), {}, seconds(5)}};
    CHECK(BusyJob(1).step_of(*computing, waits) == 1);
    CHECK(BusyJob(1).step_of(*occupied, waits) == 2);
    CHECK(BusyJob(1).step_of(*occupied, starves) == 1);
    // Above 1 nothing is: what is left is the rule for idle machines, and none is.
    const auto idle_only = policy_named(
        "utilisation_resize", R"({"utilisation": "occupied", "grow_above": 1, "every_steps": 1})");
    BusyJob job(2);
    const std::vector<WorkerView> both(2, waits.front());
    for (int i = 0; i < 20; ++i) CHECK(job.step_of(*idle_only, both) == 2);
}

TEST_CASE("utilisation_resize: says nothing where nothing is measured", "[utilisation_resize]") {
    const auto policy = policy_named("utilisation_resize", each_step);
    BusyJob job(1);
    job.seen.workers = 1;
    CHECK(job.step(*policy, {}) == 1);
    // How long a step took, and nothing of its parts: neither busy nor idle.
    const auto idle_at_once = policy_named("utilisation_resize", R"({"idle_for": "0 s"})");
    BusyJob pair(2);
    const std::vector<WorkerView> whole_steps(2, {{}, seconds(10), {}, {}, {}});
    CHECK(pair.step_of(*idle_at_once, whole_steps) == 2);
    CHECK(pair.step_of(*policy, whole_steps) == 2);
    CHECK_THROWS_WITH(policy_named("utilisation_resize", R"({"workers_min": 3, "workers_max": 2})"),
                      "test.json: at /workers_max: expected at least \"workers_min\"");
}
