// replace_stragglers_test.cpp — who is slow is named in the Plan, and no longer once it is gone.
#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

// Workers from instance 0 on, all with the same share of a step's batch.
struct Group : Situation {
    Decision step(Policy& policy, const std::vector<std::pair<std::uint32_t, double>>& rates) {
        seen.worker_views.clear();
        for (const auto& [id, images_per_second] : rates) {
            seen.worker_views.push_back(
                {InstanceId{id}, seconds(1), seconds(100 / images_per_second), {}, {}});
        }
        const auto predictor = make_profile_predictor(profile);
        Decision decision = policy.after_step({seen, plan, *predictor, nullptr, random});
        apply(decision, plan);
        return decision;
    }
};

}  // namespace

TEST_CASE("replace_stragglers: 434, 608 and 592 images a second, and worker 1 is replaced",
          "[replace_stragglers][golden]") {
    // The engine's log of Or et al.; the master is worker 0.
    const auto policy = policy_named("replace_stragglers");
    Group group;
    const Decision decision = group.step(*policy, {{0, 600}, {1, 434}, {2, 608}, {3, 592}});
    CHECK(decision.replaced == std::vector{InstanceId{1}});
    CHECK(knobs_turned(decision) == KnobSet{Knob::machines});
    // Nothing new while its replacement is on the way, and when it is there the name is struck out.
    CHECK(group.step(*policy, {{0, 600}, {1, 434}, {2, 608}, {3, 592}}) == Decision{});
    const Decision done = group.step(*policy, {{0, 600}, {2, 608}, {3, 592}, {4, 600}});
    CHECK(done.replaced == std::vector<InstanceId>{});
    CHECK(group.plan.replaced.empty());
}

TEST_CASE("replace_stragglers: a name is struck out as soon as its machine is seen to be gone",
          "[replace_stragglers]") {
    const auto policy = policy_named("replace_stragglers");
    Group group;
    group.step(*policy, {{0, 600}, {1, 300}, {2, 300}, {3, 600}, {4, 600}, {5, 600}});
    REQUIRE(group.plan.replaced.size() == 2);
    CHECK(group.ask(*policy) == Decision{});
    group.seen.worker_views.erase(group.seen.worker_views.begin() + 1);
    CHECK(group.ask(*policy, EventKind::phase_changed).replaced == std::vector{InstanceId{2}});
    group.seen.worker_views.clear();  // in a transition nobody is measured
    CHECK(group.ask(*policy) == Decision{});
}

TEST_CASE("replace_stragglers: the master stays, and what nobody measures changes nothing",
          "[replace_stragglers]") {
    const auto policy = policy_named("replace_stragglers");
    Group group;
    CHECK(group.step(*policy, {}) == Decision{});
    CHECK(group.step(*policy, {{3, 100}, {5, 600}, {7, 600}}) == Decision{});
    CHECK(policy->every_steps() == 1);
    CHECK(policy_named("replace_stragglers", R"({"every_steps": 10})")->every_steps() == 10);
}

TEST_CASE("replace_stragglers: nobody is named in the first steps of a group",
          "[replace_stragglers]") {
    const auto policy = policy_named("replace_stragglers", R"({"after_steps": 3})");
    Group group;
    const std::vector<std::pair<std::uint32_t, double>> slow{{0, 600}, {1, 300}, {2, 600}};
    group.seen.workers = 3;
    const auto next = [&] {
        ++group.seen.steps_done;
        return group.step(*policy, slow);
    };
    CHECK(next() == Decision{});  // the group is new
    CHECK(next() == Decision{});
    CHECK(next() == Decision{});
    CHECK(next().replaced == std::vector{InstanceId{1}});
    group.seen.workers = 4;
    group.plan.replaced.clear();
    CHECK(next() == Decision{});  // another group
}

TEST_CASE("replace_stragglers: a single slow step is averaged away", "[replace_stragglers]") {
    const auto policy = policy_named("replace_stragglers");
    Group group;
    CHECK(group.step(*policy, {{0, 600}, {1, 600}, {2, 600}}) == Decision{});
    CHECK(group.step(*policy, {{0, 600}, {1, 150}, {2, 600}}) == Decision{});  // 0.925
    const auto hasty = policy_named("replace_stragglers", R"({"new_weight": 1})");
    CHECK(group.step(*hasty, {{0, 600}, {1, 600}, {2, 600}}) == Decision{});
    CHECK(group.step(*hasty, {{0, 600}, {1, 150}, {2, 600}}).replaced ==
          std::vector{InstanceId{1}});
}
