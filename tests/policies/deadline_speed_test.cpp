// deadline_speed_test.cpp — deadlines in zones that are slower or faster than the job's profile.
#include <catch2/catch.hpp>

#include "policies/market/deadline_view.hpp"
#include "tests/policies/zones_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

DeadlineView view_at(Situation& job, std::int32_t on_demand_speed = 0) {
    const auto predictor = test::make_profile_predictor(job.profile);
    PolicyView view{job.seen, job.plan, *predictor, nullptr, job.random};
    view.on_demand_speed_per_mille = on_demand_speed;
    return deadline_view(view);
}

// 48 h of work of the profile in zone 0, at 1 USD/h there and in a slower zone 1; 8 h more than a
// machine of 0.8 takes.
Situation two_speeds() {
    Situation job;
    job.seen.deadline = Instant::at(hours(68));
    job.plan.fleet.front().count = 1;
    job.seen.zones = {zone_view(0, 1, 1), zone_view(1, 1, 0.1)};
    job.seen.zones[1].speed_per_mille = 800;
    return job;
}

}  // namespace

TEST_CASE("deadline speed: work takes longer in a slower zone, and in a faster one not less",
          "[deadline_view]") {
    Situation job;
    job.at(hours(10), hours(8));
    job.seen.zones.front().speed_per_mille = 800;
    CHECK(view_at(job).work_total == hours(60));
    CHECK(view_at(job).work_left == hours(50));
    CHECK(view_at(job).work_at_risk == hours(50));
    job.seen.zones.front().speed_per_mille = 1250;
    CHECK(view_at(job).work_total == hours(48));
    CHECK(view_at(job, 1200).work_total == hours(40));  // told by a policy of zones
    // Several zones are as fast as the slowest of them.
    job = two_speeds();
    CHECK(view_at(job).work_total == hours(48));
    job.plan.fleet.push_back({ZoneId{1}, 0, Market::spot, 1, {}});
    CHECK(view_at(job).work_total == hours(60));
}

TEST_CASE("deadline speed: greedy goes to on-demand in time where the zone is slow", "[greedy]") {
    // 68 − t = 60 + 0.1: t = 7.9 h.
    Situation job;
    job.seen.deadline = Instant::at(hours(68));
    job.seen.zones.front().speed_per_mille = 800;
    const auto policy = policy_named("greedy");
    const Decision waits = job.at(hours(1)).ask(*policy);
    CHECK(waits.market == Market::none);
    CHECK(waits.ask_again_in == hours(7) - minutes(6));
    CHECK(job.at(hours(8) - minutes(6)).market(*policy) == Market::on_demand);
}

TEST_CASE("safety net: spot that is slower than on-demand uses the slack up, and is no refuge",
          "[safety_net]") {
    // On-demand would do 72 h of work in 48 h; spot needs 72.
    Situation job;
    job.seen.samples_total = hours(72).raw();
    job.spot(1).hold(Market::spot);
    job.seen.zones.front().spot_held = 1;
    const DeadlineView now = view_at(job, 1500);
    CHECK(now.work_left == hours(48));
    CHECK(now.slower);
    CHECK(now.pace == Approx(2.0 / 3));
    // 3.9 h of slack, of which a third of the time is used up.
    REQUIRE(safety_net_due(now).has_value());
    CHECK(to_hours(*safety_net_due(now)) == Approx(3 * 3.9));
    CHECK_FALSE(safety_net_due(view_at(job, 1000)).has_value());
    CHECK_FALSE(safety_net_due(view_at(job, 800)).has_value());
    const SafetyNet kind = GENERATE(SafetyNet::simple, SafetyNet::strong);
    job.at(minutes(702), minutes(702));
    CHECK(safety_net(kind, view_at(job, 1500)) == Market::on_demand);
}

TEST_CASE("cheapest_zone: goes to no slower zone that the deadline does not bear",
          "[cheapest_zone]") {
    // In zone 1 60 h and two changeovers of 6 min: until t = 7.8 h.
    Situation job = two_speeds();
    const auto policy = policy_named("cheapest_zone");
    CHECK(job.at(hours(7)).ask(*policy).zone_counts == zone_counts({{1, 1}}));
    CHECK(job.at(hours(8)).ask(*policy) == Decision{});
    // From there on every zone that is not slower is one.
    job.plan.fleet.front().zone = ZoneId{1};
    job.seen.zones[1].spot_capacity = 0;
    CHECK(job.at(hours(8)).ask(*policy).zone_counts == zone_counts({{0, 1}}));
}

TEST_CASE("follow_capacity, spread_zones: no slower zone that the deadline does not bear",
          "[follow_capacity]") {
    const auto policy = policy_named(GENERATE("follow_capacity", "spread_zones"));
    Situation job = two_speeds();
    job.plan.workers_max = 2;
    job.seen.samples_total = hours(96).raw();
    CHECK(job.at(hours(7)).ask(*policy).zone_counts == zone_counts({{0, 1}, {1, 1}}));
    CHECK(job.at(hours(8)).ask(*policy) == Decision{});
}
