// spread_zones_test.cpp — evenly over what has capacity, without giving up what is held.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/policies/zones_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// Ten machines wanted, four needed, nothing held, and room in three zones; the third is cheapest.
Situation three_zones() {
    Situation job;
    job.plan.workers_max = 10;
    job.plan.fleet.front().count = 10;
    job.seen.workers_min = 4;
    job.seen.zones = {zone_view(0, 20, 0.9), zone_view(1, 20, 0.8), zone_view(2, 20, 0.7)};
    return job;
}

// Carries the wish out.
Decision follow(Situation& job, Policy& policy) {
    Decision decision = job.ask(policy);
    apply(decision, job.plan);
    hold_what_is_planned(job);
    return decision;
}

}  // namespace

TEST_CASE("spread_zones: splits evenly, and gives what is left over to the cheapest",
          "[spread_zones]") {
    Situation job = three_zones();
    const auto policy = policy_named("spread_zones");
    CHECK(job.ask_before_train(*policy).zone_counts == zone_counts({{0, 3}, {1, 3}, {2, 4}}));
    job.plan.workers_max = 11;
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 3}, {1, 4}, {2, 4}}));
    // One zone carries two only: the others take the rest.
    job.seen.zones[1].spot_capacity = 2;
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 4}, {1, 2}, {2, 5}}));
    job.seen.zones[1].spot_capacity = 0;
    job.plan.workers_max = 10;
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 5}, {2, 5}}));
}

TEST_CASE("spread_zones: no zone has more than its share", "[spread_zones]") {
    Situation job = three_zones();
    job.seen.zones[1].spot_capacity = 0;
    const auto policy = policy_named("spread_zones", R"({"share": 0.3})");
    // Three of ten in each of the two that have capacity.
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 3}, {2, 3}}));
    // The job's minimum goes before the share.
    job.seen.workers_min = 8;
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 4}, {2, 4}}));
    // What nobody carries is a standing request in the cheapest zone.
    job.seen.zones[0].spot_capacity = 1;
    job.seen.zones[2].spot_capacity = 2;
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 1}, {2, 7}}));
}

TEST_CASE("spread_zones: machines that are held stay, up to the share", "[spread_zones]") {
    Situation job = three_zones();
    const auto policy = policy_named("spread_zones");
    job.seen.zones[1].spot_capacity = job.seen.zones[2].spot_capacity = 0;
    follow(job, *policy);
    CHECK(fleet_count(job.plan) == 5);  // half of the fleet in the only zone
    // The others come back: the missing five go there, none is moved.
    job.seen.zones[1].spot_capacity = job.seen.zones[2].spot_capacity = 20;
    CHECK(follow(job, *policy).zone_counts == zone_counts({{0, 5}, {1, 2}, {2, 3}}));
    CHECK(job.ask(*policy) == Decision{});
    // Zone 0 loses three: the emptiest zones take them, again without a move.
    job.seen.zones[0].spot_capacity = 2;
    CHECK(follow(job, *policy).zone_counts == zone_counts({{0, 2}, {1, 4}, {2, 4}}));
    // A price alone moves nothing.
    job.seen.zones[0].spot_price = dollars_per_hour(0.1);
    job.seen.zones[0].spot_capacity = 20;
    CHECK(job.ask(*policy) == Decision{});
}

TEST_CASE("spread_zones: what is planned but nowhere held is no reason to stay", "[spread_zones]") {
    // The scenario's first Plan has all ten in zone 0.
    Situation job = three_zones();
    const auto policy = policy_named("spread_zones");
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 3}, {1, 3}, {2, 4}}));
    job.seen.zones[0].pending = 10;  // on their way: half of the fleet may stay
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 5}, {1, 2}, {2, 3}}));
}

TEST_CASE("spread_zones: on-demand is spread over all zones", "[spread_zones]") {
    Situation job = three_zones();
    job.plan.fleet.front().market = Market::on_demand;
    for (ZoneView& zone : job.seen.zones) zone.spot_capacity = 0;
    const auto policy = policy_named("spread_zones");
    CHECK(job.ask(*policy).zone_counts == zone_counts({{0, 3}, {1, 3}, {2, 4}}));
    job.seen.zones.clear();
    CHECK(job.ask(*policy) == Decision{});
}

TEST_CASE(
    "spread_zones: whatever the capacities, shares and rooms are kept and no two levels apart",
    "[spread_zones][property]") {
    const auto seed = GENERATE(range(1, 40));
    CAPTURE(seed);
    RandomStream draw(static_cast<std::uint64_t>(seed), "test");
    Situation job = three_zones();
    job.seen.workers_min = 1;
    job.seen.zones.clear();
    const auto zones = draw.integer(1, 6);
    for (std::int64_t id = 0; id < zones; ++id) {
        const auto capacity = static_cast<std::int32_t>(draw.integer(0, 12));
        job.seen.zones.push_back(
            zone_view(static_cast<std::uint32_t>(id), capacity, 1 + draw.uniform()));
    }
    job.plan.workers_max = static_cast<std::int32_t>(draw.integer(2, 30));
    const auto policy = policy_named("spread_zones");
    apply(job.ask(*policy), job.plan);
    const std::int32_t most = job.plan.workers_max / 2;
    std::int32_t placeable = 0;
    std::int32_t fullest = 0;
    for (const ZoneView& zone : job.seen.zones) placeable += std::min(zone.spot_capacity, most);
    for (const FleetLine& line : job.plan.fleet) fullest = std::max(fullest, line.count);
    if (placeable == 0) {  // the standing request alone
        CHECK(fleet_count(job.plan) == 1);
        return;
    }
    CHECK(fleet_count(job.plan) == std::min(placeable, job.plan.workers_max));
    for (const ZoneView& zone : job.seen.zones) {
        const auto line = std::ranges::find(job.plan.fleet, zone.zone, &FleetLine::zone);
        const std::int32_t count = line == job.plan.fleet.end() ? 0 : line->count;
        const std::int32_t room = std::min(zone.spot_capacity, most);
        CHECK(count <= room);
        if (count < room) CHECK(fullest <= count + 1);
    }
}

TEST_CASE("spread_zones: refuses a share that is none", "[spread_zones]") {
    CHECK_THROWS_WITH(policy_named("spread_zones", R"({"share": 0})"),
                      Catch::StartsWith("test.json: at /share: "));
    CHECK_THROWS_WITH(policy_named("spread_zones", R"({"share": 1.5})"),
                      Catch::StartsWith("test.json: at /share: "));
}
