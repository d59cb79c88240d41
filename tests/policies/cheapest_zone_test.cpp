// cheapest_zone_test.cpp — one pool for the whole fleet, and when another is worth the move.
#include <catch2/catch.hpp>

#include "policies/market/pools.hpp"
#include "tests/policies/zones_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// Ten machines at 1.00 USD/h in zone 0; zone 1 has room for ten at the same price. A restart takes
// 6 min. Of the 48 h of work left for ten machines the next 4 h count.
Situation ten_machines() {
    Situation job;
    job.plan.workers_max = 10;
    job.plan.fleet.front().count = 10;
    job.seen.samples_total = hours(480).raw();
    job.seen.workers_min = 4;
    job.seen.zones = {zone_view(0, 10, 1), zone_view(1, 10, 1)};
    hold_what_is_planned(job);
    return job;
}

void price(Situation& job, std::size_t zone, double usd_per_hour) {
    job.seen.zones[zone].spot_price = dollars_per_hour(usd_per_hour);
}

}  // namespace

TEST_CASE("cheapest_zone: starts in the zone with the least price per unit of work",
          "[cheapest_zone]") {
    Situation job = ten_machines();
    job.seen.zones = {zone_view(0, 10, 1.0), zone_view(1, 10, 0.5), zone_view(2, 10, 0.8)};
    const auto policy = policy_named("cheapest_zone");
    CHECK(job.ask_before_train(*policy).zone_counts == zone_counts({{1, 10}}));
    job.seen.zones[2].speed_per_mille = 2000;  // 0.40 USD for an hour's work
    CHECK(job.ask_before_train(*policy).zone_counts == zone_counts({{2, 10}}));
    CHECK(policy->knobs() == KnobSet{Knob::zone, Knob::count});
}

TEST_CASE("cheapest_zone: moves when the saving over the holding time pays for the restart",
          "[cheapest_zone]") {
    // Staying costs 10 × 1.00 × 4 h = 40 USD. Going: 10 × p × (4 + 0.1) h = 41 p. With 5 % to be
    // saved at least it goes below 38 USD, p < 0.9268.
    Situation job = ten_machines();
    const auto policy = policy_named("cheapest_zone");
    price(job, 1, 0.93);
    CHECK(job.ask(*policy) == Decision{});
    price(job, 1, 0.92);
    CHECK(job.ask(*policy).zone_counts == zone_counts({{1, 10}}));
    // A longer stay is worth a smaller difference: (20 / 20.1) · 0.95 = 0.9453.
    const auto patient = policy_named("cheapest_zone", R"({"holding_time": "20 h"})");
    price(job, 1, 0.945);
    CHECK(job.ask(*patient).zone_counts == zone_counts({{1, 10}}));
    CHECK(job.ask(*policy) == Decision{});
    // Nothing to be saved at least: 40 / 41 = 0.9756.
    const auto keen = policy_named("cheapest_zone", R"({"least_saving": 0})");
    price(job, 1, 0.975);
    CHECK(job.ask(*keen).zone_counts == zone_counts({{1, 10}}));
    price(job, 1, 0.976);
    CHECK(job.ask(*keen) == Decision{});
}

TEST_CASE("cheapest_zone: counts egress and the time of the move", "[cheapest_zone]") {
    Situation job = ten_machines();
    const auto policy = policy_named("cheapest_zone");
    price(job, 1, 0.9);  // 36.9 USD with the restart
    CHECK(job.ask(*policy).zone_counts == zone_counts({{1, 10}}));
    job.seen.zones[1].move_cost = dollars(1.2);  // 38.1
    CHECK(job.ask(*policy) == Decision{});
    job.seen.zones[1].move_cost = dollars(1.0);  // 37.9
    CHECK(job.ask(*policy).zone_counts == zone_counts({{1, 10}}));
    job.seen.zones[1].move_time = minutes(2);  // 0.3 USD more
    CHECK(job.ask(*policy) == Decision{});
}

TEST_CASE("cheapest_zone: near its end a job stays where it is", "[cheapest_zone]") {
    // Half an hour of work: 5 USD to stay, 0.6 h × 10 × 0.80 = 4.80 USD to go, less than 5 % saved.
    Situation job = ten_machines();
    const auto policy = policy_named("cheapest_zone");
    price(job, 1, 0.8);
    CHECK(job.ask(*policy).zone_counts == zone_counts({{1, 10}}));
    job.at(hours(47), hours(475));
    CHECK(job.ask(*policy) == Decision{});
}

TEST_CASE("cheapest_zone: a zone gets what it carries, and none that cannot carry the job",
          "[cheapest_zone]") {
    Situation job = ten_machines();
    const auto policy = policy_named("cheapest_zone");
    price(job, 1, 0.5);
    job.seen.zones[1].spot_capacity = 3;  // of 4 that the job needs
    CHECK(job.ask(*policy) == Decision{});
    job.seen.zones[1].spot_capacity = 7;
    CHECK(job.ask(*policy).zone_counts == zone_counts({{1, 7}}));
    // The present zone can carry less than the job needs: any other will do, whatever it costs.
    price(job, 1, 2.5);
    CHECK(job.ask(*policy) == Decision{});
    job.seen.zones[0].spot_capacity = 2;
    CHECK(job.ask(*policy).zone_counts == zone_counts({{1, 7}}));
    // Nobody can: what is asked for stands.
    job.seen.zones[1].spot_capacity = 0;
    CHECK(job.ask(*policy) == Decision{});
    job.seen.zones.clear();
    CHECK(job.ask(*policy) == Decision{});
}

TEST_CASE("cheapest_zone: on-demand is judged by its own price and has no limit",
          "[cheapest_zone]") {
    Situation job = ten_machines();
    const auto policy = policy_named("cheapest_zone");
    job.plan.fleet.front().market = Market::on_demand;
    hold_what_is_planned(job);
    price(job, 1, 0.1);
    job.seen.zones[1].spot_capacity = 0;
    CHECK(job.ask(*policy) == Decision{});  // 3.00 USD/h in both
    job.seen.zones[1].on_demand_price = dollars_per_hour(2);
    CHECK(job.ask(*policy).zone_counts == zone_counts({{1, 10}}));
}

TEST_CASE("pools: a zone without an on-demand price has the job's", "[cheapest_zone]") {
    Observation seen;
    seen.on_demand_price = dollars_per_hour(4);
    ZoneView zone = zone_view(0, 1, 1);
    CHECK(pool_price(zone, Market::on_demand, seen) == dollars_per_hour(3));
    zone.on_demand_price = {};
    CHECK(pool_price(zone, Market::on_demand, seen) == dollars_per_hour(4));
    CHECK(pool_price(zone, Market::none, seen) == dollars_per_hour(1));
}

TEST_CASE("cheapest_zone: refuses parameters that make no sense", "[cheapest_zone]") {
    CHECK_THROWS_WITH(policy_named("cheapest_zone", R"({"holding_time": "0 s"})"),
                      "test.json: at /holding_time: expected from 1 s to 365 d, found 0 s");
    CHECK_THROWS_WITH(policy_named("cheapest_zone", R"({"holding_time": "366 d"})"),
                      "test.json: at /holding_time: expected from 1 s to 365 d, found 366 d");
    CHECK_THROWS_WITH(policy_named("cheapest_zone", R"({"least_saving": 2})"),
                      Catch::StartsWith("test.json: at /least_saving: "));
}
