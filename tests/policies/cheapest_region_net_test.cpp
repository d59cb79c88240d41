// cheapest_region_net_test.cpp — a deadline rule over several regions.
#include <catch2/catch.hpp>

#include "tests/policies/zones_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// One machine for 48 h of work in 52 h, d = 0.1 h; three regions, of which the job is in the first.
Situation three_regions() {
    Situation job;
    job.seen.zones = {zone_view(0, 0, 1.0), zone_view(1, 0, 0.8), zone_view(2, 0, 0.9)};
    return job;
}

void carries(Situation& job, std::size_t region) {
    job.seen.zones[region].spot_capacity = 1;
    ++job.seen.spot_capacity;
}

// Trains in this region since long.
void train_in(Situation& job, std::uint32_t region, Market market) {
    job.plan.fleet.front().zone = ZoneId{region};
    job.plan.fleet.front().market = market;
    job.plan.fleet.front().count = 1;
    hold_what_is_planned(job);
}

}  // namespace

TEST_CASE("cheapest_region_net: takes spot in the cheapest region that has it",
          "[cheapest_region_net]") {
    Situation job = three_regions();
    const auto policy = policy_named("cheapest_region_net");
    carries(job, 0);
    CHECK(job.ask_before_train(*policy).market == Market::spot);
    CHECK_FALSE(job.ask(*policy).zone_counts.has_value());  // it is planned there already
    carries(job, 2);
    CHECK(job.ask(*policy).zone_counts == zone_counts({{2, 1}}));
    carries(job, 1);
    const Decision decision = job.ask(*policy);
    CHECK(decision.market == Market::spot);
    CHECK(decision.zone_counts == zone_counts({{1, 1}}));
    CHECK(policy->knobs() == KnobSet{Knob::zone, Knob::market, Knob::count});
    CHECK(policy->knobs().includes(knobs_turned(decision)));
}

TEST_CASE("cheapest_region_net: without spot it does what its rule does, where it is",
          "[cheapest_region_net]") {
    Situation job = three_regions();
    const Decision ahead = job.at(hours(1), hours(2)).ask(*policy_named("cheapest_region_net"));
    CHECK(ahead.market == Market::none);
    CHECK_FALSE(ahead.zone_counts.has_value());
    const auto greedy = policy_named("cheapest_region_net", R"({"rule": "greedy"})");
    CHECK(job.at(hours(1)).market(*greedy) == Market::none);
    CHECK(job.ask(*greedy).ask_again_in == hours(3) - minutes(6));  // the net's turn
}

TEST_CASE("cheapest_region_net: leaves a live spot machine only for a saving worth it",
          "[cheapest_region_net]") {
    // 4 h at 1.00 against 4.1 h at p: below 3.80 USD, p < 0.9268.
    Situation job = three_regions();
    const auto policy = policy_named("cheapest_region_net");
    carries(job, 0);
    carries(job, 2);
    train_in(job, 0, Market::spot);
    job.at(hours(10), hours(10));
    job.seen.zones[2].spot_price = dollars_per_hour(0.93);
    CHECK_FALSE(job.ask(*policy).zone_counts.has_value());
    job.seen.zones[2].spot_price = dollars_per_hour(0.92);
    CHECK(job.ask(*policy).zone_counts == zone_counts({{2, 1}}));
    // Not once the slack bears no changeover of choice: 52 − 48 − (0.1 + 0.1) h.
    job.at(hours(4) - minutes(11), {});
    CHECK_FALSE(job.ask(*policy).zone_counts.has_value());
    CHECK(job.market(*policy) == Market::spot);
}

TEST_CASE("cheapest_region_net: moves at once when its region is going to lose it",
          "[cheapest_region_net]") {
    Situation job = three_regions();
    const auto policy = policy_named("cheapest_region_net");
    train_in(job, 0, Market::spot);
    job.at(hours(10), hours(10));
    CHECK(job.market(*policy) == Market::spot);  // announced to be lost, and nowhere to go
    CHECK_FALSE(job.ask(*policy).zone_counts.has_value());
    carries(job, 1);
    CHECK(job.ask(*policy).zone_counts == zone_counts({{1, 1}}));
}

TEST_CASE("cheapest_region_net: the net buys where price × work + egress is least",
          "[cheapest_region_net]") {
    // 48 h at 3.00 = 144 USD here, at 2.90 + egress there: 139.2 + 4.8 is as much.
    Situation job = three_regions();
    const auto greedy = policy_named("cheapest_region_net", R"({"rule": "greedy"})");
    job.seen.zones[1].on_demand_price = dollars_per_hour(2.9);
    job.seen.zones[1].move_cost = dollars(4.9);
    const Decision here = job.at(hours(4) - minutes(6)).ask(*greedy);
    CHECK(here.market == Market::on_demand);
    CHECK_FALSE(here.zone_counts.has_value());
    const auto other = policy_named("cheapest_region_net", R"({"rule": "greedy"})");
    job.seen.zones[1].move_cost = dollars(4.7);
    const Decision there = job.ask(*other);
    CHECK(there.market == Market::on_demand);
    CHECK(there.zone_counts == zone_counts({{1, 1}}));
    // Once it holds on-demand it stays there.
    apply(there, job.plan);
    hold_what_is_planned(job);
    job.seen.zones[2].on_demand_price = dollars_per_hour(1);
    CHECK_FALSE(job.ask(*other).zone_counts.has_value());
}

TEST_CASE("cheapest_region_net: the net leaves time for the longest move",
          "[cheapest_region_net]") {
    Situation job = three_regions();
    job.seen.zones[2].move_time = minutes(30);
    const auto greedy = policy_named("cheapest_region_net", R"({"rule": "greedy"})");
    CHECK(job.at(hours(4) - minutes(37)).market(*greedy) == Market::none);
    CHECK(job.ask(*greedy).ask_again_in == minutes(1));
    CHECK(job.at(hours(4) - minutes(36)).market(*greedy) == Market::on_demand);
}

TEST_CASE("cheapest_region_net: the net counts on the speed of the region it would buy in",
          "[cheapest_region_net]") {
    // Region 1 is half as fast at a third of the price: cheapest while there is time.
    Situation job = three_regions();
    job.seen.zones[1].on_demand_price = dollars_per_hour(1);
    job.seen.zones[1].speed_per_mille = 500;
    job.seen.deadline = Instant::at(hours(100));
    const auto greedy = policy_named("cheapest_region_net", R"({"rule": "greedy"})");
    // 2 × 48 h + 0.1 h before 100 h.
    CHECK(job.at(hours(4) - minutes(7)).market(*greedy) == Market::none);
    CHECK(to_seconds(*job.ask(*greedy).ask_again_in) == Approx(60));
    const Decision caught = job.at(hours(4) - minutes(6)).ask(*greedy);
    CHECK(caught.market == Market::on_demand);
    CHECK(caught.zone_counts == zone_counts({{1, 1}}));
    // Found too late for that: the fast one, when its own time has come.
    const auto late = policy_named("cheapest_region_net", R"({"rule": "greedy"})");
    CHECK(job.at(hours(40)).market(*late) == Market::none);
    const Decision fast = job.at(hours(52) - minutes(6)).ask(*late);
    CHECK(fast.market == Market::on_demand);
    CHECK_FALSE(fast.zone_counts.has_value());
}

TEST_CASE("cheapest_region_net: with one region it is its rule",
          "[cheapest_region_net][property]") {
    const std::string rule =
        GENERATE(as<std::string>{}, "greedy", "time_sliced", "uniform_progress", "rc_threshold");
    const auto seed = GENERATE(range(1, 30));
    CAPTURE(rule, seed);
    RandomStream draw(static_cast<std::uint64_t>(seed), "test");
    const auto alone = policy_named(rule);
    const auto net = policy_named("cheapest_region_net", R"({"rule": ")" + rule + R"("})");
    Situation job;
    job.profile.lossless = draw.chance(0.5);
    job.profile.checkpoint = minutes(draw.integer(0, 10));
    if (draw.chance(0.5)) job.seen.decision_interval = minutes(10);
    Duration now;
    Duration done;
    CHECK(job.ask_before_train(*net) == job.ask_before_train(*alone));
    for (int step = 0; step < 100; ++step) {
        const Duration passed = minutes(10 * draw.integer(0, 6));
        now += passed;
        if (draw.chance(0.7)) done = std::min(done + passed, hours(48));
        job.at(now, done);
        job.seen.samples_safe -= draw.integer(0, std::min(done, hours(1)).raw());
        job.spot(draw.chance(0.6) ? 1 : 0);
        const auto markets = std::array{Market::none, Market::spot, Market::on_demand};
        job.hold(markets.at(static_cast<std::size_t>(draw.integer(0, 2))));
        if (draw.chance(0.2)) job.starting();
        CHECK(job.ask(*net) == job.ask(*alone));
        job.seen.transition_remaining = {};
    }
}

TEST_CASE("cheapest_region_net: refuses parameters that make no sense", "[cheapest_region_net]") {
    CHECK_THROWS_WITH(policy_named("cheapest_region_net", R"({"rule": "gredy"})"),
                      Catch::Contains("did you mean \"greedy\"?"));
    CHECK_THROWS_WITH(policy_named("cheapest_region_net", R"({"holding_time": "0 s"})"),
                      "test.json: at /holding_time: expected from 1 s to 365 d, found 0 s");
    CHECK_THROWS_WITH(policy_named("cheapest_region_net", R"({"holding_time": "366 d"})"),
                      "test.json: at /holding_time: expected from 1 s to 365 d, found 366 d");
    CHECK_THROWS_WITH(policy_named("cheapest_region_net", R"({"safty_net": "simple"})"),
                      Catch::Contains("did you mean \"safety_net\"?"));
    // The keys of a rule belong to it alone.
    CHECK_THROWS_WITH(policy_named("cheapest_region_net", R"({"slice": "1 h"})"),
                      Catch::Contains("unknown key \"slice\""));
}
