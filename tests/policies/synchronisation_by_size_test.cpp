// synchronisation_by_size_test.cpp — gradients in small groups, models in large ones.
#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

TEST_CASE("synchronisation_by_size: 8 workers average gradients, 16 average models",
          "[synchronisation_by_size][golden]") {
    const auto policy = policy_named("synchronisation_by_size");
    Situation job;
    job.plan.workers_max = 8;
    CHECK(job.ask_before_train(*policy) == Decision{});  // S-SGD is the first Plan's
    job.seen.workers = 16;
    const Decision decision = job.ask(*policy);
    CHECK(decision.synchronisation == Synchronisation::synchronous_averaging);
    CHECK(knobs_turned(decision) == KnobSet{Knob::synchronisation});
    apply(decision, job.plan);
    CHECK(job.ask(*policy) == Decision{});
    job.seen.workers = 15;
    CHECK(job.ask(*policy).synchronisation == Synchronisation::s_sgd);
    job.seen.workers = 0;
    CHECK(job.ask(*policy) == Decision{});
}

TEST_CASE("synchronisation_by_size: the size and the rule are parameters",
          "[synchronisation_by_size]") {
    const auto policy = policy_named("synchronisation_by_size",
                                     R"({"averaging_from": 2, "rule": "pair_averaging"})");
    Situation job;
    job.plan.workers_max = 2;
    CHECK(job.ask_before_train(*policy).synchronisation == Synchronisation::pair_averaging);
    CHECK_THROWS_WITH(policy_named("synchronisation_by_size", R"({"averaging_from": 1})"),
                      Catch::StartsWith("test.json: at /averaging_from: "));
    CHECK_THROWS_WITH(policy_named("synchronisation_by_size", R"({"rule": "local_sgd"})"),
                      Catch::StartsWith("test.json: at /rule: "));
}
