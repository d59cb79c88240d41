// hazard_checkpoint_test.cpp — saving as often as the ages of the held machines ask for.
#include <catch2/catch.hpp>

#include "policies/checkpoint/checkpoint_interval.hpp"
#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// A checkpoint costs a minute; machines live for 12 h in the mean, as far as is known.
Situation saving_by_hazard() {
    Situation job;
    job.profile.lossless = false;
    job.profile.checkpoint = minutes(1);
    return job;
}

// Machines opened this long ago, the oldest first.
Situation& hold_aged(Situation& job, std::initializer_list<Duration> ages) {
    job.seen.spot_since.clear();
    for (const Duration age : ages) job.seen.spot_since.push_back(job.seen.now - age);
    job.seen.spot_held = static_cast<std::int32_t>(ages.size());
    job.seen.workers = job.seen.spot_held;
    return job;
}

Duration daly_at(double per_hour) { return daly_interval(minutes(1), seconds(3600 / per_hour)); }

// The work that is done and was not saved.
void unsaved(Situation& job, Duration work) {
    job.seen.samples_done = hours(10).raw();
    job.seen.samples_safe = (hours(10) - work).raw();
}

}  // namespace

TEST_CASE("hazard_checkpoint: begins with the prior of the machines it will have",
          "[hazard_checkpoint]") {
    Situation job = saving_by_hazard();
    job.plan.workers_max = 4;
    CHECK(job.ask_before_train(*policy_named("hazard_checkpoint")).checkpoint_interval ==
          daly_at(4.0 / 12));
    CHECK(
        job.ask_before_train(*policy_named("hazard", R"({"losses": "all"})")).checkpoint_interval ==
        daly_at(1.0 / 12));
    CHECK(
        job.ask_before_train(*policy_named("hazard", R"({"rule": "young"})")).checkpoint_interval ==
        young_interval(minutes(1), hours(3)));
    CHECK(job.ask_before_train(*policy_named("hazard", R"({"mean_lifetime": "4 h"})"))
              .checkpoint_interval == daly_at(1));
    const auto policy = policy_named("hazard");
    CHECK(policy->looks_at_ages());
    CHECK(policy->knobs() == KnobSet{Knob::checkpoint_interval});
}

TEST_CASE("hazard_checkpoint: any loss matters, or only that of all", "[hazard_checkpoint]") {
    // One loss at 2 h of age after 2 h; the three others are 2 h old as well.
    // D = 1, E = 8 h: λ = 2/20. From 2 h of age: h = (1 + 1) / (1/λ) = 0.2.
    // Two new ones of age 0: no loss in 4 machines' first 10 min, h = 1 / (10 + 4/6) = 0.09375.
    Situation job = saving_by_hazard();
    const auto any = policy_named("hazard");
    const auto all = policy_named("hazard", R"({"losses": "all"})");
    hold_aged(job, {Duration{}, Duration{}, Duration{}, Duration{}});
    job.ask_before_train(*any);
    job.ask_before_train(*all);
    job.at(hours(2));
    hold_aged(job, {hours(2), hours(2), hours(2), Duration{}, Duration{}});
    job.seen.spot_losses = job.seen.spot_loss_events = 1;
    CHECK(to_seconds(*job.ask(*any).checkpoint_interval) ==
          Approx(to_seconds(daly_at(3 * 0.2 + 2 * 0.09375))));
    CHECK(to_seconds(*job.ask(*all).checkpoint_interval) == Approx(to_seconds(daly_at(0.09375))));
}

TEST_CASE("hazard_checkpoint: machines that go together are one loss", "[hazard_checkpoint]") {
    // Three of four went at once, at 1 h: D = 3, E = 4 h, λ = 4/16, and from 1 h of age
    // h = (1 + 3) / 4 = 1. Mean burst (3 + 1) / (1 + 1) = 2: half a loss an hour.
    Situation job = saving_by_hazard();
    const auto policy = policy_named("hazard");
    hold_aged(job, {Duration{}, Duration{}, Duration{}, Duration{}});
    job.ask_before_train(*policy);
    hold_aged(job.at(hours(1)), {hours(1)});
    job.seen.spot_losses = 3;
    job.seen.spot_loss_events = 1;
    CHECK(to_seconds(*job.ask(*policy).checkpoint_interval) == Approx(to_seconds(daly_at(0.5))));
}

TEST_CASE("hazard_checkpoint: machines that are given up are no losses", "[hazard_checkpoint]") {
    // Two of four are gone, one was lost: half a loss each. D = 1, E = 4 h, λ = 2/16 and
    // h(1 h) = (1 + 1) / 8 = 0.25, as if it were known which.
    Situation job = saving_by_hazard();
    const auto policy = policy_named("hazard");
    hold_aged(job, {Duration{}, Duration{}, Duration{}, Duration{}});
    job.ask_before_train(*policy);
    hold_aged(job.at(hours(1)), {hours(1), hours(1)});
    job.seen.spot_losses = job.seen.spot_loss_events = 1;
    CHECK(to_seconds(*job.ask(*policy).checkpoint_interval) == Approx(to_seconds(daly_at(0.5))));
    // All released, nobody lost: E grows and D does not.
    Situation quiet = saving_by_hazard();
    const auto other = policy_named("hazard");
    hold_aged(quiet, {Duration{}, Duration{}});
    apply(quiet.ask_before_train(*other), quiet.plan);
    hold_aged(quiet.at(hours(24)), {Duration{}});
    const Decision decision = quiet.ask(*other);
    REQUIRE(decision.checkpoint_interval.has_value());
    CHECK(*decision.checkpoint_interval > daly_at(2.0 / 12));
}

TEST_CASE("hazard_checkpoint: is asked again when the ages change the hazard",
          "[hazard_checkpoint]") {
    // Many were lost within 10 min, none later: at 10 min of age the hazard falls.
    Situation job = saving_by_hazard();
    const auto policy = policy_named("hazard");
    hold_aged(job, {Duration{}, Duration{}, Duration{}});
    job.ask_before_train(*policy);
    hold_aged(job.at(minutes(5)), {Duration{}});
    job.seen.spot_losses = job.seen.spot_loss_events = 3;
    const Decision young = job.ask(*policy, EventKind::instances_lost);
    REQUIRE(young.checkpoint_interval.has_value());
    CHECK(young.ask_again_in == minutes(10));
    apply(young, job.plan);
    // A question in between, about something else, does not forget it.
    job.at(minutes(8));
    CHECK(job.ask(*policy).ask_again_in == minutes(7));
    CHECK_FALSE(job.ask(*policy).checkpoint_interval.has_value());
    job.at(minutes(15));
    const Decision older = job.ask(*policy);
    REQUIRE(older.checkpoint_interval.has_value());
    CHECK(*older.checkpoint_interval > *young.checkpoint_interval);
}

TEST_CASE("hazard_checkpoint: the last save ends before a known end", "[hazard_checkpoint]") {
    // 23 h old, taken at 24 h: the last save must begin 1 min and 1 s before, in 3539 s. Daly's
    // interval at 12 h is 2237.7 s, so there is time for two saves: (3539 + 60) / 2 − 60 s each.
    Situation job = saving_by_hazard();
    const auto policy = policy_named("hazard", R"({"lifetime_cap": "24 h"})");
    job.at(hours(30));
    hold_aged(job, {hours(23)});
    const Decision two = job.ask(*policy);
    REQUIRE(two.checkpoint_interval.has_value());
    CHECK(to_seconds(*two.checkpoint_interval) == Approx(1739.5));
    CHECK(to_seconds(*two.ask_again_in) == Approx(1739.5 + 60 + 1));
    // 600 s are unsaved: (600 + 3539 + 60) / 2 − 60.
    const auto other = policy_named("hazard", R"({"lifetime_cap": "24 h"})");
    unsaved(job, minutes(10));
    CHECK(to_seconds(*job.ask(*other).checkpoint_interval) == Approx(2039.5));
    // Without a cap it is Daly's.
    CHECK(job.ask(*policy_named("hazard")).checkpoint_interval == daly_at(1.0 / 12));
    // When it is too late to save, too.
    const auto late = policy_named("hazard", R"({"lifetime_cap": "24 h"})");
    hold_aged(job, {hours(24) - minutes(1)});
    CHECK(job.ask(*late).checkpoint_interval == daly_at(1.0 / 12));
}

TEST_CASE("hazard_checkpoint: of several machines the next end that matters counts",
          "[hazard_checkpoint]") {
    Situation job = saving_by_hazard();
    job.at(hours(30));
    hold_aged(job, {hours(23), hours(10)});
    const auto all = policy_named("hazard", R"({"lifetime_cap": "24 h", "losses": "all"})");
    CHECK(job.ask(*all).checkpoint_interval == daly_at(1.0 / 12));
    const auto any = policy_named("hazard", R"({"lifetime_cap": "24 h", "losses": "any"})");
    CHECK(*job.ask(*any).checkpoint_interval < daly_at(2.0 / 12));
}

TEST_CASE("hazard_checkpoint: an end at the cap teaches nothing about the ages before it",
          "[hazard_checkpoint]") {
    Situation job = saving_by_hazard();
    const auto policy = policy_named("hazard", R"({"lifetime_cap": "24 h"})");
    hold_aged(job, {Duration{}});
    job.ask_before_train(*policy);
    hold_aged(job.at(hours(24)), {Duration{}});
    job.seen.spot_losses = job.seen.spot_loss_events = 1;
    // λ = 2 / (12 + 24); in the first 10 min 1 / (18 + 1/6), as without the loss in that range.
    CHECK(to_seconds(*job.ask(*policy).checkpoint_interval) ==
          Approx(to_seconds(daly_at(1 / (18 + 1.0 / 6)))));
}

TEST_CASE("hazard_checkpoint: does not save on on-demand, nor where nothing is lost",
          "[hazard_checkpoint]") {
    Situation job = saving_by_hazard();
    const auto policy = policy_named("hazard");
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
    job.profile.lossless = true;
    CHECK(job.ask_before_train(*policy_named("hazard")) == Decision{});
}

TEST_CASE("hazard_checkpoint: a wish that came to nothing is made again", "[hazard_checkpoint]") {
    Situation job = saving_by_hazard();
    const auto policy = policy_named("hazard");
    const Decision first = job.ask_before_train(*policy);
    REQUIRE(first.checkpoint_interval.has_value());
    CHECK(job.ask(*policy) == Decision{});
    policy->discarded(job.plan, "a worker died");
    CHECK(job.ask(*policy) == first);
}

TEST_CASE("hazard_checkpoint: refuses parameters that make no sense", "[hazard_checkpoint]") {
    CHECK_THROWS_WITH(policy_named("hazard", R"({"mean_lifetime": "59 s"})"),
                      "test.json: at /mean_lifetime: expected from 60 s to 36500 d, found 59 s");
    CHECK_THROWS_WITH(policy_named("hazard", R"({"lifetime_cap": "36501 d"})"),
                      "test.json: at /lifetime_cap: expected from 60 s to 36500 d, found 36501 d");
    CHECK_THROWS_WITH(policy_named("hazard", R"({"losses": "some"})"),
                      Catch::StartsWith("test.json: at /losses: "));
}
