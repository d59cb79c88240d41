// baseline_policies_test.cpp — the policies that others are compared with.
#include <catch2/catch.hpp>

#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// Knows one number, and remembers what it was asked.
class FakeOracle final : public Oracle {
public:
    explicit FakeOracle(Duration spot) : spot_(spot) {}
    Duration spot_time(Instant from, Instant to, std::int32_t count) const override {
        ++asked;
        from_asked = from;
        to_asked = to;
        count_asked = count;
        return spot_;
    }
    mutable int asked = 0;
    mutable Instant from_asked;
    mutable Instant to_asked;
    mutable std::int32_t count_asked = 0;

private:
    Duration spot_;
};

ZoneView zone(std::uint32_t id, std::int32_t capacity, std::int64_t nano_usd_per_hour) {
    return {ZoneId{id}, capacity, Price::of(nano_usd_per_hour), 0, 0, 0};
}

std::vector<ZoneCount> counts(std::initializer_list<std::pair<std::uint32_t, std::int32_t>> list) {
    std::vector<ZoneCount> result;
    for (const auto& [id, count] : list) result.push_back({ZoneId{id}, count});
    return result;
}

// Three zones, the second the cheapest; the job wants 10 machines, needs 4 and has one in zone 0.
Situation elastic() {
    Situation job;
    job.plan.workers_max = 10;
    job.seen.workers_min = 4;
    job.seen.zones = {zone(0, 3, 900), zone(1, 4, 700), zone(2, 8, 900)};
    return job;
}

}  // namespace

TEST_CASE("on_demand: always on-demand, until the job is done", "[baseline]") {
    const auto policy = policy_named("on_demand");
    Situation job;
    CHECK(job.spot(1).market(*policy) == Market::on_demand);
    CHECK(job.ask_before_train(*policy).market == Market::on_demand);
    CHECK(job.at(hours(60), hours(47)).market(*policy) == Market::on_demand);
    CHECK(job.at(hours(48), hours(48)).market(*policy) == Market::none);
    CHECK_FALSE(job.ask(*policy).ask_again_in.has_value());
}

TEST_CASE("spot_only: waits for spot, deadline or not", "[baseline]") {
    const auto policy = policy_named("spot_only");
    Situation job;
    CHECK(job.at(hours(51)).market(*policy) == Market::none);
    CHECK(job.spot(1).market(*policy) == Market::spot);
    // Capacity has gone, but the instance that is announced to be lost is still there.
    CHECK(job.spot(0).hold(Market::spot).market(*policy) == Market::spot);
    CHECK(job.at(hours(51), hours(48)).market(*policy) == Market::none);
    job.at({}).hold(Market::none).spot(3);
    job.seen.workers_min = 4;
    CHECK(job.market(*policy) == Market::none);
}

TEST_CASE("ideal_no_overhead: buys on-demand for exactly what spot will not give", "[baseline]") {
    // 30 h of spot until the deadline, 48 h of work: 18 h of on-demand.
    const FakeOracle oracle(hours(30));
    const auto policy = policy_named("ideal_no_overhead");
    Situation job;
    job.oracle = &oracle;
    job.seen.workers_min = 1;
    const Decision first = job.ask(*policy);
    CHECK(first.market == Market::on_demand);
    CHECK(first.ask_again_in == hours(18));
    CHECK(oracle.from_asked == Instant{});
    CHECK(oracle.to_asked == Instant::at(hours(52)));
    CHECK(oracle.count_asked == 1);

    CHECK(job.at(hours(5), hours(5)).spot(1).market(*policy) == Market::spot);
    const Decision again = job.at(hours(10), hours(10)).spot(0).ask(*policy);
    CHECK(again.market == Market::on_demand);
    CHECK(again.ask_again_in == hours(13));
    const Decision spent = job.at(hours(23), hours(23)).ask(*policy);
    CHECK(spent.market == Market::none);
    CHECK(spent.reason == "spot will come");
    CHECK(job.at(hours(50), hours(48)).spot(1).market(*policy) == Market::none);
    CHECK(oracle.asked == 1);
}

TEST_CASE("ideal_no_overhead: looks to the end of the tick that the deadline is in", "[baseline]") {
    // 187500 s in ticks of 600 s: until 187800 s. All of the work is spot's.
    const FakeOracle oracle(hours(50));
    const auto policy = policy_named("ideal_no_overhead");
    Situation job;
    job.oracle = &oracle;
    job.seen.decision_interval = minutes(10);
    job.seen.deadline = Instant::at(whole_seconds(187'500));
    CHECK(job.market(*policy) == Market::none);
    CHECK(oracle.to_asked == Instant::at(whole_seconds(187'800)));
}

TEST_CASE("follow_capacity: fills the cheapest zones first, by number among equals",
          "[follow_capacity]") {
    // Zone 1 carries 4, zone 0 of the two others 3, zone 2 the last 3 of its 8.
    const auto policy = policy_named("follow_capacity");
    Situation job = elastic();
    CHECK(job.ask(*policy).zone_counts == counts({{0, 3}, {1, 4}, {2, 3}}));
    CHECK(job.ask_before_train(*policy).zone_counts == counts({{0, 3}, {1, 4}, {2, 3}}));
}

TEST_CASE("follow_capacity: what is planned stays where it is while there is room",
          "[follow_capacity]") {
    // Zone 2 becomes the cheapest: its 8 are taken and one of zone 1, but zone 0 keeps its one.
    const auto policy = policy_named("follow_capacity");
    Situation job = elastic();
    job.seen.zones[2].spot_price = Price::of(100);
    CHECK(job.ask(*policy).zone_counts == counts({{0, 1}, {1, 1}, {2, 8}}));
    job.seen.zones[0].spot_capacity = 0;
    CHECK(job.ask(*policy).zone_counts == counts({{1, 2}, {2, 8}}));
}

TEST_CASE("follow_capacity: what the job needs stays as a standing request", "[follow_capacity]") {
    const auto policy = policy_named("follow_capacity");
    Situation job = elastic();
    job.seen.zones = {zone(0, 1, 900), zone(1, 0, 700), zone(2, 1, 950)};
    // One each is there, two are missing of four: asked for in the cheapest zone.
    CHECK(job.ask(*policy).zone_counts == counts({{0, 1}, {1, 2}, {2, 1}}));
    job.seen.zones = {zone(0, 0, 900), zone(1, 0, 700)};
    CHECK(job.ask(*policy).zone_counts == counts({{1, 4}}));
}

TEST_CASE("follow_capacity: on-demand machines are not limited by spot capacity",
          "[follow_capacity]") {
    const auto policy = policy_named("follow_capacity");
    Situation job = elastic();
    job.plan.fleet.front().market = Market::on_demand;
    CHECK(job.ask(*policy).zone_counts == counts({{0, 1}, {1, 9}}));
}

TEST_CASE("follow_capacity: ranks by the price of what it buys, per unit of work",
          "[follow_capacity]") {
    const auto policy = policy_named("follow_capacity");
    Situation job = elastic();
    job.seen.zones[2].speed_per_mille = 2000;  // 450 for what costs 700 in zone 1
    CHECK(job.ask(*policy).zone_counts == counts({{0, 1}, {1, 1}, {2, 8}}));
    job.plan.fleet.front() = {ZoneId{2}, 0, Market::on_demand, 4, {}};
    for (ZoneView& each : job.seen.zones) each.on_demand_price = Price::of(3000);
    CHECK(job.ask(*policy).zone_counts == counts({{2, 10}}));
    job.seen.zones[0].on_demand_price = Price::of(1499);
    CHECK(job.ask(*policy).zone_counts == counts({{0, 6}, {2, 4}}));
}

TEST_CASE("follow_capacity: says nothing when the fleet is right already, or no zone is shown",
          "[follow_capacity]") {
    const auto policy = policy_named("follow_capacity");
    Situation job = elastic();
    apply(job.ask(*policy), job.plan);
    CHECK(fleet_count(job.plan) == 10);
    CHECK(job.ask(*policy) == Decision{});
    job.seen.zones.clear();
    CHECK(job.ask(*policy) == Decision{});
}
