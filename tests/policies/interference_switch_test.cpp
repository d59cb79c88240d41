// interference_switch_test.cpp — the majority of the workers decides that the network is slow.
#include "policies/exchange/interference_rule.hpp"
#include "tests/policies/situation.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;

namespace {

// Eight workers; in a step `slow` of them wait 1/0.6 of the usual time for their communication, as
// 68.82 MiB/s is 0.6 of the reference in KungFu's sample run (0.8 of it is 92.11).
struct SharedNetwork : Situation {
    Decision step(Policy& policy, std::size_t slow, std::uint32_t workers = 8) {
        const auto predictor = make_profile_predictor(profile);
        seen.worker_views.clear();
        for (std::uint32_t id = 0; id < workers; ++id) {
            const Duration waited = milliseconds(id < slow ? 1000 : 600);
            seen.worker_views.push_back({InstanceId{id}, seconds(2), seconds(1), waited, {}});
        }
        ++seen.steps_done;
        const Decision decision = policy.after_step({seen, plan, *predictor, nullptr, random});
        if (decision == Decision{}) return decision;
        apply(decision, plan);
        policy.committed(plan);
        return decision;
    }
};

}  // namespace

TEST_CASE("interference rule: 0.8 of the reference, and more than half of the workers",
          "[interference][golden]") {
    const double reference = 92.11 / 0.8;  // MiB/s, KungFu's sample run
    CHECK_FALSE(votes_interference(101.0, reference));
    CHECK(votes_interference(68.82, reference));
    CHECK(interference_agreed(7, 8));
    CHECK_FALSE(interference_agreed(1, 8));
    CHECK_FALSE(interference_agreed(4, 8));
    CHECK(interference_agreed(4, 7));
    CHECK_FALSE(interference_agreed(0, 0));
}

TEST_CASE("interference_switch: seven of eight votes switch, one does not",
          "[interference][golden]") {
    const auto policy = policy_named("interference_switch");
    SharedNetwork network;
    apply(network.ask_before_train(*policy), network.plan);
    CHECK(network.plan.collective == Collective::star);
    CHECK(network.step(*policy, 0) == Decision{});  // the reference
    CHECK(network.step(*policy, 0) == Decision{});
    CHECK(network.step(*policy, 1) == Decision{});
    const Decision decision = network.step(*policy, 7);
    CHECK(knobs_turned(decision) == KnobSet{Knob::collective});
    CHECK(network.plan.collective == Collective::binary_tree_star);
    CHECK(network.step(*policy, 7) == Decision{});  // a new reference
    CHECK(network.step(*policy, 7) == Decision{});
    CHECK(network.step(*policy, 8) == Decision{});  // one of eight is slower than before
}

TEST_CASE("interference_switch: compares windows, and starts anew with another group",
          "[interference]") {
    const auto policy = policy_named("interference_switch", R"({"window_steps": 2,
        "collectives": ["ring", "double_binary_tree", "halving_doubling"]})");
    SharedNetwork network;
    network.plan.collective = Collective::halving_doubling;
    CHECK(network.step(*policy, 0) == Decision{});
    CHECK(network.step(*policy, 0) == Decision{});  // the reference of eight
    CHECK(network.step(*policy, 8) == Decision{});
    CHECK(network.step(*policy, 8, 7) == Decision{});
    CHECK(network.step(*policy, 0, 7) == Decision{});  // the reference of seven: half are slow
    CHECK(network.step(*policy, 7, 7) == Decision{});
    CHECK(network.step(*policy, 7, 7) == Decision{});  // 1 to 0.8 is 0.8, and not below
    CHECK(network.step(*policy, 0, 7) == Decision{});
    network.seen.worker_views.clear();
    const auto predictor = make_profile_predictor(network.profile);
    CHECK(policy->after_step({network.seen, network.plan, *predictor, nullptr, network.random}) ==
          Decision{});
    CHECK(network.plan.collective == Collective::halving_doubling);
}

TEST_CASE("interference_switch: the last of the list is followed by the first", "[interference]") {
    const auto policy =
        policy_named("interference_switch", R"({"collectives": ["ring", "clique"]})");
    SharedNetwork network;
    network.plan.collective = Collective::clique;
    CHECK(network.step(*policy, 0) == Decision{});
    CHECK(network.step(*policy, 8).collective == Collective::ring);
    CHECK_THROWS_WITH(policy_named("interference_switch", R"({"collectives": ["ring", "rng"]})"),
                      Catch::Contains("did you mean \"ring\"?"));
    CHECK_THROWS_WITH(policy_named("interference_switch", R"({"collectives": ["ring"]})"),
                      Catch::Contains("expected at least two"));
}
