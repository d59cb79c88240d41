// accordion_test.cpp — little compression where the gradient changes, much where it does not.
#include <limits>

#include "policies/critical_regime.hpp"
#include "tests/policies/situation.hpp"

using namespace ukemi;

namespace {

// One epoch of steps with these |G|²; what the policy says after it.
Decision epoch(Policy& policy, Situation& job, std::initializer_list<double> squared_norms) {
    const auto predictor = make_profile_predictor(job.profile);
    for (const double value : squared_norms) {
        job.seen.gradient.squared_norm = value;
        CHECK(policy.after_step({job.seen, job.plan, *predictor, nullptr, job.random}) ==
              Decision{});
    }
    return policy.after_epoch({job.seen, job.plan, *predictor, nullptr, job.random});
}

}  // namespace

TEST_CASE("critical regime: the first period, and a change of half the norm",
          "[accordion][golden]") {
    // Alg. 1 with η = 0.5: |‖Δ_old‖ − ‖Δ_new‖| ÷ ‖Δ_old‖ ≥ η.
    CriticalRegime regime;
    CHECK(regime.after_period(10));
    CHECK_FALSE(regime.after_period(6));
    CHECK(regime.after_period(3));
    CHECK_FALSE(regime.after_period(4));
    CHECK(regime.after_period(6));
    CHECK_FALSE(regime.after_period(6));
    CHECK(regime.after_period(0));  // nothing to compare with, now and next
    CHECK(regime.after_period(6));
    CHECK(regime.after_period(std::numeric_limits<double>::infinity()));
}

TEST_CASE("accordion: begins with little compression and follows the norm", "[accordion]") {
    const auto policy = policy_named("accordion", R"({"every_epochs": 2})");
    CHECK(policy->knobs() == KnobSet{Knob::codec});
    Situation job;
    const Decision begin = job.ask_before_train(*policy);
    CHECK(begin.codec == Codec::power_sgd);
    CHECK(begin.codec_level == 2);
    const auto level_after = [&](std::initializer_list<double> first,
                                 std::initializer_list<double> second) {
        CHECK(epoch(*policy, job, first) == Decision{});  // in the middle of a period
        const Decision decision = epoch(*policy, job, second);
        CHECK(knobs_turned(decision) == KnobSet{Knob::codec});
        return decision.codec_level.value_or(0);
    };
    CHECK(level_after({100, 100}, {100}) == 2);  // the first period: norm 10
    CHECK(level_after({49}, {49}) == 1);         // 7
    CHECK(level_after({9}, {9, 9}) == 2);        // 3
    CHECK(level_after({16, 4}, {10}) == 1);      // √10
    CHECK(level_after({-4}, {30, 0}) == 1);      // √13: zero is not measured, −4 counts
    CHECK(level_after({-4}, {-1}) == 2);         // no norm at all
}

TEST_CASE("accordion: without measurements it says nothing", "[accordion]") {
    const auto policy = policy_named("accordion", R"({"every_epochs": 1})");
    Situation job;
    CHECK(epoch(*policy, job, {0, std::numeric_limits<double>::quiet_NaN()}) == Decision{});
}

TEST_CASE("accordion: its codec and levels are parameters", "[accordion]") {
    const auto policy =
        policy_named("accordion", R"({"codec": "top_k", "critical_level": 0.99, "level": 0.1})");
    Situation job;
    const Decision begin = job.ask_before_train(*policy);
    CHECK(begin.codec == Codec::top_k);
    CHECK(begin.codec_level == 0.99);
    CHECK_THROWS_WITH(policy_named("accordion", R"({"codec": "power_sdg"})"),
                      Catch::Contains("/codec") && Catch::Contains("power_sgd"));
}
