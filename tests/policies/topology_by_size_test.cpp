// topology_by_size_test.cpp — KungFu's AUTO, and tables of one's own.
#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

TEST_CASE("topology_by_size: a star alone, a tree of stars beyond", "[topology_by_size][golden]") {
    const auto policy = policy_named("topology_by_size");
    Situation job;
    job.plan.workers_max = 4;
    CHECK(job.ask_before_train(*policy).collective == Collective::binary_tree_star);
    job.plan.collective = Collective::binary_tree_star;
    job.seen.workers = 4;
    CHECK(job.ask(*policy) == Decision{});
    job.seen.workers = 1;
    const Decision decision = job.ask(*policy);
    CHECK(decision.collective == Collective::star);
    CHECK(knobs_turned(decision) == KnobSet{Knob::collective});
    job.seen.workers = 0;  // between two groups
    CHECK(job.ask(*policy) == Decision{});
}

TEST_CASE("topology_by_size: a row holds until the next", "[topology_by_size]") {
    const auto policy =
        policy_named("topology_by_size",
                     R"({"sizes": {"16": "ring", "4": "halving_doubling", "128": "binary_tree"}})");
    Situation job;
    const auto at_size = [&](std::int32_t workers) {
        job.seen.workers = workers;
        return job.ask(*policy).collective;
    };
    CHECK_FALSE(at_size(3));  // nobody wrote that down
    CHECK(at_size(4) == Collective::halving_doubling);
    CHECK(at_size(15) == Collective::halving_doubling);
    CHECK(at_size(16) == Collective::ring);
    CHECK(at_size(5000) == Collective::binary_tree);
}

TEST_CASE("topology_by_size: bad tables are refused by place", "[topology_by_size]") {
    CHECK_THROWS_WITH(
        policy_named("topology_by_size", R"({"sizes": {"2": "rng"}})"),
        Catch::StartsWith("test.json: at /sizes/2: ") && Catch::Contains("did you mean \"ring\"?"));
    CHECK_THROWS_WITH(policy_named("topology_by_size", R"({"sizes": {"02": "ring"}})"),
                      Catch::Contains("expected numbers of workers as keys"));
    CHECK_THROWS_WITH(policy_named("topology_by_size", R"({"sizes": {}})"),
                      Catch::Contains("expected a collective"));
}
