// uniform_progress_test.cpp — each rule of uniform progress in a case of its own.
#include <catch2/catch.hpp>

#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

constexpr std::string_view both[] = {"uniform_progress", "rc_threshold"};

// A quarter of the way: ep(13 h) = 13 · 48/52 = 12 h.
Situation quarter(Duration done) {
    Situation job;
    job.at(hours(13), done);
    return job;
}

}  // namespace

TEST_CASE("uniform progress: idle and behind the line, without spot: on-demand",
          "[uniform_progress]") {
    const auto policy = policy_named(GENERATE(both[0], both[1]));
    CHECK(quarter(hours(12) - nanoseconds(1)).market(*policy) == Market::on_demand);
}

TEST_CASE("uniform progress: idle on or ahead of the line, without spot: wait",
          "[uniform_progress]") {
    const auto policy = policy_named(GENERATE(both[0], both[1]));
    CHECK(quarter(hours(12)).market(*policy) == Market::none);
    CHECK(quarter(hours(12) + nanoseconds(1)).market(*policy) == Market::none);
}

TEST_CASE("uniform progress: spot is taken whenever it is there", "[uniform_progress]") {
    const auto policy = policy_named(GENERATE(both[0], both[1]));
    CHECK(quarter(hours(11)).spot(1).market(*policy) == Market::spot);
    CHECK(quarter(hours(13)).spot(1).market(*policy) == Market::spot);
    CHECK(quarter(hours(11)).spot(1).hold(Market::spot).market(*policy) == Market::spot);
}

TEST_CASE("uniform progress: on on-demand it stays until ahead of the line in two changeovers",
          "[uniform_progress]") {
    // t = 12.8 h, 2d = 0.2 h: ep(13 h) = 12 h. The peer's rule stays while ep − cp ≥ 0.
    const auto policy = policy_named("uniform_progress");
    Situation job;
    job.spot(1).hold(Market::on_demand);
    job.at(hours(12) + minutes(48), hours(12));
    CHECK(job.ask(*policy).reason == "stay until ahead");
    CHECK(job.market(*policy) == Market::on_demand);
    job.at(hours(12) + minutes(48), hours(12) + nanoseconds(1));
    CHECK(job.market(*policy) == Market::spot);
    // Ahead, but with nowhere to go: it does not let go of what it has.
    CHECK(job.spot(0).market(*policy) == Market::on_demand);
}

TEST_CASE("rc_threshold: has no hysteresis", "[uniform_progress]") {
    const auto policy = policy_named("rc_threshold");
    Situation job;
    job.spot(1).hold(Market::on_demand).at(hours(12) + minutes(48), hours(12));
    CHECK(job.market(*policy) == Market::spot);
    CHECK(job.spot(0).market(*policy) == Market::none);  // ahead of ep(12.8 h) = 11.8 h
    job.at(hours(12) + minutes(48), hours(11));
    CHECK(job.market(*policy) == Market::on_demand);
}

TEST_CASE("rc_threshold: asked by events, it gets ahead of the line before it waits again",
          "[uniform_progress]") {
    // ep(13 h) = 12 h. A minute ahead, ten by default; the line rises by 48/52 = 12/13.
    const auto policy = policy_named("rc_threshold");
    Situation job = quarter(hours(12) + minutes(1));
    job.hold(Market::on_demand);
    const Decision stays = job.ask(*policy);
    CHECK(stays.market == Market::on_demand);
    CHECK(stays.reason == "not far ahead yet");
    REQUIRE(stays.ask_again_in.has_value());
    CHECK(*stays.ask_again_in > minutes(9 * 13));
    CHECK(*stays.ask_again_in <= minutes(9 * 13) + milliseconds(2));
    job.at(hours(13), hours(12) + minutes(10) - nanoseconds(1));
    CHECK(job.market(*policy) == Market::on_demand);
    job.at(hours(13), hours(12) + minutes(10));
    CHECK(job.market(*policy) == Market::none);
    job.at(hours(13), hours(12) + minutes(1));
    CHECK(job.market(*policy_named("rc_threshold", R"({"least_ahead": "1 min"})")) == Market::none);
    // Spot is taken at once, an idle job waits, and where a clock ticks the clock is enough.
    CHECK(job.spot(1).market(*policy) == Market::spot);
    CHECK(job.spot(0).hold(Market::none).market(*policy) == Market::none);
    job.hold(Market::on_demand);
    job.seen.decision_interval = minutes(10);
    CHECK(job.market(*policy) == Market::none);
}

TEST_CASE("uniform progress: idle with no time for another changeover: on-demand in spite of spot",
          "[uniform_progress]") {
    // 48 + 2 · 0.1 ≥ 52 − t from t = 3.8 h on.
    const auto policy = policy_named(GENERATE(both[0], both[1]));
    Situation job;
    job.spot(1);
    CHECK(job.at(hours(3) + minutes(48) - nanoseconds(1)).market(*policy) == Market::spot);
    const Decision decision = job.at(hours(3) + minutes(48)).ask(*policy);
    CHECK(decision.market == Market::on_demand);
    CHECK(decision.reason == "no time for another changeover");
    // A spot instance that runs may run on.
    CHECK(job.hold(Market::spot).market(*policy) == Market::spot);
}

TEST_CASE("uniform progress: the safety net is the last word", "[uniform_progress]") {
    // 52 − 3.9 = 48 + 0.1.
    const auto policy = policy_named(GENERATE(both[0], both[1]));
    Situation job;
    job.at(hours(3) + minutes(54)).spot(1);
    CHECK(job.ask(*policy).reason == "safety net");
    CHECK(job.market(*policy) == Market::on_demand);
    CHECK(job.hold(Market::spot).market(*policy) == Market::spot);
    job.starting();
    CHECK(job.market(*policy) == Market::on_demand);
    const auto simple = policy_named(policy->name(), R"({"safety_net": "simple"})");
    CHECK(job.market(*simple) == Market::spot);
}

TEST_CASE("uniform progress: rounds to the tick where there is one", "[uniform_progress]") {
    // Needed with two changeovers: ceil((172800 + 720)/600) · 600 = 174000 s; R = 187200 − t. At
    // t = 12600 s 174600 s are left, at 13200 s 174000 s.
    const auto policy = policy_named("uniform_progress");
    Situation job;
    job.seen.decision_interval = minutes(10);
    job.spot(1);
    const Decision waits = job.at(whole_seconds(12'600)).ask(*policy);
    CHECK(waits.market == Market::spot);
    CHECK_FALSE(waits.ask_again_in.has_value());
    CHECK(job.at(whole_seconds(13'200)).market(*policy) == Market::on_demand);
}

TEST_CASE("uniform progress: buys nothing for a job that is done", "[uniform_progress]") {
    const auto policy = policy_named(GENERATE(both[0], both[1]));
    Situation job;
    const Decision decision = job.at(hours(50), hours(48)).spot(1).ask(*policy);
    CHECK(decision.market == Market::none);
    CHECK_FALSE(decision.ask_again_in.has_value());
}

TEST_CASE("uniform progress: an idle job asks again when the line catches up with it",
          "[uniform_progress]") {
    // 12 h are done at t = 12 h; the line is there at 13 h, well before the net (3.9 h).
    const auto policy = policy_named("uniform_progress");
    Situation job;
    const Decision waits = job.at(hours(12), hours(12)).ask(*policy);
    REQUIRE(waits.market == Market::none);
    REQUIRE(waits.ask_again_in.has_value());
    CHECK(*waits.ask_again_in > hours(1));
    CHECK(*waits.ask_again_in <= hours(1) + milliseconds(2));
    CHECK(job.at(hours(12) + *waits.ask_again_in, hours(12)).market(*policy) == Market::on_demand);
}

TEST_CASE("uniform progress: a job on on-demand asks again when it has run ahead of the line",
          "[uniform_progress]") {
    // R(0) = 72 h: the line rises by 2/3. At t = 12 h with 7.9 h done, in s hours 7.9 + s against
    // (12 + s + 0.2) · 2/3: level at s = 0.7.
    const auto policy = policy_named("uniform_progress");
    Situation job;
    job.seen.deadline = Instant::at(hours(72));
    const Duration done = hours(7) + minutes(54);
    job.at(hours(12), done).spot(1).hold(Market::on_demand);
    const Decision stays = job.ask(*policy);
    REQUIRE(stays.market == Market::on_demand);
    REQUIRE(stays.ask_again_in.has_value());
    CHECK(*stays.ask_again_in > minutes(42));
    CHECK(*stays.ask_again_in <= minutes(42) + milliseconds(2));
    job.at(hours(12) + *stays.ask_again_in, done + *stays.ask_again_in);
    CHECK(job.market(*policy) == Market::spot);
}

TEST_CASE("uniform progress: near its end an idle job asks again two changeovers before the end",
          "[uniform_progress]") {
    // 47.5 h done at t = 51 h: the line comes at 47.5 · 52/48 = 51.46 h, but 52 − t = 0.5 + 0.2 is
    // at 51.3 h already.
    const auto policy = policy_named("uniform_progress");
    Situation job;
    const Duration done = hours(47) + minutes(30);
    const Decision waits = job.at(hours(51), done).ask(*policy);
    REQUIRE(waits.market == Market::none);
    CHECK(waits.ask_again_in == minutes(18) + milliseconds(1));
    const Decision then = job.at(hours(51) + *waits.ask_again_in, done).ask(*policy);
    CHECK(then.reason == "no time for another changeover");
}

TEST_CASE("uniform progress: spot that was bought elsewhere and fell short does not count again",
          "[uniform_progress]") {
    // Two machines train as fast as the profile, one a third as fast. Spot for both is in the zone
    // of on-demand, but a zone policy takes the cheap zone, which carries one.
    const auto policy = policy_named("uniform_progress");
    Situation job;
    job.plan.workers_max = 2;
    job.plan.global_batch = 1;
    job.profile.throughput = {{1, {1, nanoseconds(3)}}, {2, {1, nanoseconds(1)}}};
    job.seen.deadline = Instant::at(hours(72));
    job.seen.zones.push_back(job.seen.zones.front());
    job.seen.zones[1].zone = ZoneId{1};
    job.seen.zones[0].spot_capacity = 2;
    job.seen.zones[1].spot_capacity = 1;
    job.plan.fleet = {{ZoneId{0}, 0, Market::spot, 2, {}}};
    CHECK(job.market(*policy) == Market::spot);
    job.plan.fleet = {{ZoneId{1}, 0, Market::spot, 1, {}}};
    CHECK(job.at(minutes(1)).market(*policy) == Market::on_demand);
    // On on-demand, and far ahead.
    job.plan.fleet = {{ZoneId{0}, 0, Market::on_demand, 2, {}}};
    job.hold(Market::on_demand).at(hours(3), hours(3));
    CHECK(job.market(*policy) == Market::on_demand);
    CHECK(job.ask(*policy).reason == "stay until ahead");
    job.seen.zones[1].spot_capacity = 2;
    CHECK(job.market(*policy) == Market::spot);
    // Spot that has just gone tells nothing of the zone that a policy would take now.
    job.plan.fleet = {{ZoneId{1}, 0, Market::spot, 2, {}}};
    job.hold(Market::none).at(hours(6), hours(3));
    job.seen.zones[1].spot_capacity = 0;
    CHECK(job.market(*policy) == Market::on_demand);
    job.plan.fleet = {{ZoneId{0}, 0, Market::on_demand, 2, {}}};
    job.hold(Market::on_demand).at(hours(9), hours(9));
    CHECK(job.market(*policy) == Market::spot);
}
