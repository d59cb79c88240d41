// checkpoints_test.cpp — the policies that say when to save.
#include <catch2/catch.hpp>

#include "policies/checkpoint/checkpoint_interval.hpp"
#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

constexpr std::string_view one_hour = R"({"mean_time_between_failures": "1 h"})";

// A checkpoint costs a minute.
Situation saving() {
    Situation job;
    job.profile.lossless = false;
    job.profile.checkpoint = minutes(1);
    return job;
}

}  // namespace

TEST_CASE("periodic checkpoint: sets its interval before training and is silent after",
          "[checkpoints]") {
    Situation job = saving();
    const auto policy = policy_named("periodic_checkpoint", R"({"interval": "20 min"})");
    CHECK(job.ask_before_train(*policy).checkpoint_interval == minutes(20));
    CHECK(policy->hooks().has(Hook::before_train));
    CHECK_FALSE(policy->hooks().has(Hook::on_event));
    const auto hourly = policy_named("periodic");
    CHECK(job.ask_before_train(*hourly).checkpoint_interval == hours(1));
}

TEST_CASE("checkpoint on notice: is switched on before training", "[checkpoints]") {
    Situation job = saving();
    const auto policy = policy_named("on_notice");
    CHECK(job.ask_before_train(*policy).checkpoint_on_notice == true);
}

TEST_CASE("young and daly: begin with the prior", "[checkpoints]") {
    // δ = 60 s, M = 3600 s: 657.3 s and 617.9 s.
    Situation job = saving();
    const auto young = policy_named("young", one_hour);
    const auto daly = policy_named("daly", one_hour);
    CHECK(job.ask_before_train(*young).checkpoint_interval == young_interval(minutes(1), hours(1)));
    CHECK(job.ask_before_train(*daly).checkpoint_interval == daly_interval(minutes(1), hours(1)));
    // The prior is 6 h unless told otherwise.
    CHECK(job.ask_before_train(*policy_named("young")).checkpoint_interval ==
          young_interval(minutes(1), hours(6)));
}

TEST_CASE("young: estimates the failure rate anew at each loss, and moves by a tenth at least",
          "[checkpoints]") {
    Situation job = saving();
    const auto young = policy_named("young", one_hour);
    apply(job.ask_before_train(*young), job.plan);
    // Nothing was lost: nothing to learn, however much time went by.
    job.seen.spot_time = hours(9);
    CHECK(job.ask(*young) == Decision{});
    // (1 + 3) h / (1 + 3) = 1 h: as before.
    job.seen.spot_time = hours(3);
    job.seen.spot_loss_events = 3;
    CHECK(job.ask(*young) == Decision{});
    // (1 + 3) h / (1 + 9) = 24 min: √(2 · 60 · 1440) = 415.69 s.
    job.seen.spot_loss_events = 9;
    const Decision decision = job.ask(*young);
    REQUIRE(decision.checkpoint_interval.has_value());
    CHECK(to_seconds(*decision.checkpoint_interval) == Approx(415.69).epsilon(1e-4));
    CHECK(knobs_turned(decision) == KnobSet{Knob::checkpoint_interval});
}

TEST_CASE("young and daly: do not save on on-demand, and save again back on spot",
          "[checkpoints]") {
    Situation job = saving();
    const auto policy = policy_named(GENERATE(as<std::string>{}, "young", "daly"));
    apply(job.ask_before_train(*policy), job.plan);
    const Duration on_spot = job.plan.checkpoint_interval;
    REQUIRE(on_spot != never_checkpoint);
    job.plan.fleet.front().market = Market::on_demand;
    const Decision none = job.ask(*policy);
    CHECK(none.checkpoint_interval == never_checkpoint);
    apply(none, job.plan);
    CHECK(job.ask(*policy) == Decision{});
    job.plan.fleet.front().market = Market::spot;
    CHECK(job.ask(*policy).checkpoint_interval == on_spot);
}

TEST_CASE("young and daly: a wish that came to nothing is made again", "[checkpoints]") {
    Situation job = saving();
    const auto policy = policy_named(GENERATE(as<std::string>{}, "young", "daly"));
    const Decision first = job.ask_before_train(*policy);
    REQUIRE(first.checkpoint_interval.has_value());
    CHECK(job.ask(*policy) == Decision{});  // it has been said
    policy->discarded(job.plan, "a worker died");
    CHECK(job.ask(*policy) == first);
}

TEST_CASE("young: never saves more than once a second, nor where nothing is lost",
          "[checkpoints]") {
    Situation job = saving();
    job.profile.checkpoint = nanoseconds(1);
    const auto young = policy_named("young", R"({"mean_time_between_failures": "1 s"})");
    CHECK(job.ask_before_train(*young).checkpoint_interval == whole_seconds(1));
    job.profile.lossless = true;
    CHECK(job.ask_before_train(*young) == Decision{});
}

TEST_CASE("checkpoint policies: saves that cost nothing are made, and no less often than others",
          "[checkpoints]") {
    const auto* name = GENERATE("young", "daly", "hazard");
    CAPTURE(name);
    const auto interval = [&](Duration cost) {
        Situation job = saving();
        job.profile.checkpoint = cost;
        return job.ask_before_train(*policy_named(name)).checkpoint_interval;
    };
    CHECK(interval(Duration{}) == whole_seconds(1));
    CHECK(interval(milliseconds(1)) > whole_seconds(1));
}

TEST_CASE("checkpoint policies: refuse intervals that make no sense", "[checkpoints]") {
    CHECK_THROWS_WITH(policy_named("periodic", R"({"interval": "0 s"})"),
                      "test.json: at /interval: expected from 1 s to 36500 d, found 0 s");
    CHECK_THROWS_WITH(
        policy_named("daly", R"({"mean_time_between_failures": "99 ms"})"),
        "test.json: at /mean_time_between_failures: expected from 1 s to 36500 d, found "
        "99 ms");
    CHECK_THROWS_WITH(
        policy_named("young", R"({"mean_time_between_failures": "36501 d"})"),
        "test.json: at /mean_time_between_failures: expected from 1 s to 36500 d, found "
        "36501 d");
}
