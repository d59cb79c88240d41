// measured_collective_test.cpp — each collective has its trial, and the shortest wait is kept.
#include <map>

#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

// Two workers (or more) of which the second waits longest, by the Plan's collective.
struct Links : Situation {
    std::map<Collective, std::int64_t> wait_ms;
    std::int32_t size = 2;
    bool commits = true;

    // Collectives of the next steps, the decision after each applied.
    std::vector<Collective> steps(Policy& policy, int count) {
        std::vector<Collective> used;
        for (int i = 0; i < count; ++i) {
            const auto predictor = make_profile_predictor(profile);
            seen.workers = size;
            seen.worker_views.clear();
            const Duration wait = milliseconds(wait_ms.at(plan.collective));
            for (std::int32_t id = 0; id < size; ++id) {
                const Duration own = id == 1 ? wait : milliseconds(1);
                seen.worker_views.push_back(
                    {InstanceId{static_cast<std::uint32_t>(id)}, seconds(1), seconds(1), own, {}});
            }
            used.push_back(plan.collective);
            const Decision decision = policy.after_step({seen, plan, *predictor, nullptr, random});
            if (decision == Decision{}) continue;
            CHECK(knobs_turned(decision) == KnobSet{Knob::collective});
            if (commits) apply(decision, plan);
        }
        return used;
    }
};

Links links() {
    Links made;
    made.wait_ms = {{Collective::automatic, 50},
                    {Collective::ring, 30},
                    {Collective::hierarchical, 10},
                    {Collective::binary_tree_star, 20}};
    return made;
}

}  // namespace

TEST_CASE("measured_collective: the one for which the slowest worker waits least is kept",
          "[measured_collective]") {
    const auto policy = policy_named("measured_collective", R"({"trial_steps": 2})");
    Links job = links();
    apply(job.ask_before_train(*policy), job.plan);
    CHECK(job.plan.collective == Collective::ring);
    // One step to change, two measured, of each.
    const std::vector<Collective> order{Collective::ring,         Collective::ring,
                                        Collective::ring,         Collective::hierarchical,
                                        Collective::hierarchical, Collective::hierarchical};
    CHECK(job.steps(*policy, 6) == order);
    job.steps(*policy, 3);
    CHECK(job.plan.collective == Collective::hierarchical);
    job.wait_ms[Collective::hierarchical] = 1000;  // what comes later is not looked at
    job.steps(*policy, 20);
    CHECK(job.plan.collective == Collective::hierarchical);
}

TEST_CASE("measured_collective: a choice that was discarded is made again",
          "[measured_collective]") {
    const auto policy = policy_named("measured_collective", R"({"trial_steps": 1})");
    Links job = links();
    apply(job.ask_before_train(*policy), job.plan);
    job.steps(*policy, 5);
    REQUIRE(job.plan.collective == Collective::binary_tree_star);  // the last to be measured
    job.commits = false;
    job.steps(*policy, 1);
    CHECK(job.plan.collective == Collective::binary_tree_star);
    job.commits = true;
    job.steps(*policy, 2);
    CHECK(job.plan.collective == Collective::hierarchical);
}

TEST_CASE("measured_collective: another number of workers is measured anew",
          "[measured_collective]") {
    const auto policy = policy_named("measured_collective", R"({"trial_steps": 1})");
    Links job = links();
    apply(job.ask_before_train(*policy), job.plan);
    job.steps(*policy, 6);
    REQUIRE(job.plan.collective == Collective::hierarchical);
    job.size = 8;
    job.wait_ms[Collective::binary_tree_star] = 5;
    job.steps(*policy, 10);
    CHECK(job.plan.collective == Collective::binary_tree_star);
    job.size = 1;  // alone nothing is sent, and nothing tried
    job.steps(*policy, 3);
    CHECK(job.plan.collective == Collective::binary_tree_star);
}

TEST_CASE("measured_collective: what the world does not commit is left out",
          "[measured_collective]") {
    const auto policy = policy_named("measured_collective", R"({"trial_steps": 1})");
    Links job = links();
    job.plan.collective = Collective::binary_tree_star;  // stays, whatever is asked for
    job.commits = false;
    job.steps(*policy, 20);
    const auto predictor = make_profile_predictor(job.profile);
    CHECK(policy->after_step({job.seen, job.plan, *predictor, nullptr, job.random}) == Decision{});
    job.seen.worker_views.clear();
    CHECK(policy->after_step({job.seen, job.plan, *predictor, nullptr, job.random}) == Decision{});
    CHECK_THROWS_WITH(policy_named("measured_collective", R"({"collectives": ["ring"]})"),
                      Catch::Contains("expected at least two"));
}
