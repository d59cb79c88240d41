// bid_test.cpp — what is offered for spot, and when the offer changes.
#include <catch2/catch.hpp>

#include "tests/policies/scripted_policy.hpp"
#include "tests/policies/zones_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// Two zones, whose on-demand prices are 3 and 2 USD/h.
Situation two_zones() {
    Situation job;
    job.seen.zones = {zone_view(0, 1, 0.9), zone_view(1, 1, 0.4)};
    job.seen.zones[1].on_demand_price = dollars_per_hour(2);
    return job;
}

std::vector<ZoneBid> bids(double first_usd, double second_usd) {
    return {{ZoneId{0}, dollars_per_hour(first_usd)}, {ZoneId{1}, dollars_per_hour(second_usd)}};
}

// An hour of prices, and the bids at its end.
Decision after_hours(Situation& job, Policy& policy, std::int64_t more, double first_usd) {
    job.seen.now = job.seen.now + hours(more);
    job.seen.zones[0].spot_price = dollars_per_hour(first_usd);
    return job.ask(policy, EventKind::price_changed);
}

}  // namespace

TEST_CASE("bid: fixed is one price for every line", "[bid]") {
    Situation job = two_zones();
    const auto policy = policy_named("bid", R"({"rule": "fixed", "price": "1.25 USD/h"})");
    const Decision decision = job.ask_before_train(*policy);
    CHECK(decision.bid == dollars_per_hour(1.25));
    CHECK(knobs_turned(decision) == KnobSet{Knob::bid});
    CHECK(policy->knobs() == KnobSet{Knob::bid});
    CHECK(job.ask(*policy).bid == dollars_per_hour(1.25));
}

TEST_CASE("bid: on_demand offers a factor of each zone's own on-demand price", "[bid]") {
    Situation job = two_zones();
    const auto as_much = policy_named("bid");
    CHECK(job.ask_before_train(*as_much).zone_bids == bids(3, 2));
    const auto half = policy_named("bid", R"({"rule": "on_demand", "factor": 0.5})");
    CHECK(job.ask(*half).zone_bids == bids(1.5, 1));
    CHECK(knobs_turned(job.ask(*half)) == KnobSet{Knob::bid});
    // A world that shows no zones has one price; one that shows no price gets the default bid.
    job.seen.zones.clear();
    job.seen.on_demand_price = dollars_per_hour(4);
    CHECK(job.ask(*half).bid == dollars_per_hour(2));
    job.seen.on_demand_price = {};
    CHECK(job.ask(*half).bid == Price{});
}

TEST_CASE("bid: never offers less than the least price there is", "[bid]") {
    // AWS took MaxPrice ≥ 0.001 USD/h; zero would mean the default.
    Situation job = two_zones();
    job.seen.zones[0].on_demand_price = job.seen.zones[1].on_demand_price = Price::of(5'000'000);
    CHECK(job.ask(*policy_named("bid", R"({"factor": 0.01})")).zone_bids == bids(0.001, 0.001));
}

TEST_CASE("bid: a quantile begins as on-demand and follows the prices seen", "[bid]") {
    Situation job = two_zones();
    const auto policy = policy_named(
        "bid", R"({"rule": "quantile", "quantile": 0.8, "warm_up": "5 h", "window": "10 h"})");
    CHECK(job.ask_before_train(*policy).zone_bids == bids(3, 2));
    // 0.9 for four hours, then 1.5: not seen enough yet.
    CHECK(after_hours(job, *policy, 4, 1.5).zone_bids == bids(3, 2));
    // 0.9 for four of five hours: for 80 % of the time.
    CHECK(after_hours(job, *policy, 1, 1.1).zone_bids == bids(0.9, 0.4));
    // 0.9, 1.5 and 1.1 for four, one and five hours: 1.1 covers nine of ten.
    CHECK(after_hours(job, *policy, 5, 0.7).zone_bids == bids(1.1, 0.4));
    // The window moves on: 1.1 for one, 0.7 for nine.
    CHECK(after_hours(job, *policy, 9, 0.7).zone_bids == bids(0.7, 0.4));
}

TEST_CASE("bid: a quantile stays between its floor and its factor of on-demand", "[bid]") {
    Situation job = two_zones();
    const auto policy = policy_named(
        "bid",
        R"({"rule": "quantile", "quantile": 1, "warm_up": "1 h", "factor": 0.5, "floor": 0.25})");
    job.ask_before_train(*policy);
    CHECK(after_hours(job, *policy, 2, 0.9).zone_bids == bids(0.9, 0.5));
    after_hours(job, *policy, 1, 2.9);
    CHECK(after_hours(job, *policy, 1, 0.9).zone_bids == bids(1.5, 0.5));
}

TEST_CASE("bid: a quantile is taken anew once in a while, and asks again only while outbid",
          "[bid]") {
    Situation job = two_zones();
    const auto policy = policy_named(
        "bid", R"({"rule": "quantile", "quantile": 0.5, "warm_up": "1 h", "rebid_every": "3 h"})");
    job.ask_before_train(*policy);
    CHECK(after_hours(job, *policy, 2, 0.5).zone_bids == bids(3, 2));  // not before 3 h
    const Decision anew = after_hours(job, *policy, 1, 0.95);
    CHECK(anew.zone_bids == bids(0.9, 0.4));
    CHECK(anew.ask_again_in == hours(3));  // 0.95 is above 0.90
    const Decision kept = after_hours(job, *policy, 1, 0.5);
    CHECK(kept.zone_bids == bids(0.9, 0.4));
    CHECK_FALSE(kept.ask_again_in.has_value());
    CHECK(after_hours(job, *policy, 1, 0.95).ask_again_in == hours(1));
}

TEST_CASE("decision: the bid of a zone goes before that of every line", "[bid]") {
    Plan plan;
    plan.fleet = {{ZoneId{0}, 0, Market::spot, 1, {}}, {ZoneId{2}, 0, Market::spot, 1, {}}};
    Decision decision;
    decision.bid = dollars_per_hour(1);
    decision.zone_bids = bids(3, 2);  // of zones 0 and 1
    apply(decision, plan);
    CHECK(plan.fleet[0].bid == dollars_per_hour(3));
    CHECK(plan.fleet[1].bid == dollars_per_hour(1));
}

TEST_CASE("bid: a zone that another policy adds has its own bid at once", "[bid]") {
    // Whichever of the two comes first in the list.
    const bool bid_first = GENERATE(true, false);
    ScriptedController test;
    const auto add_zone = [](const PolicyView&) {
        Decision decision;
        decision.zone_counts = zone_counts({{0, 1}, {1, 3}});
        return decision;
    };
    test.setup.plan.fleet = {{ZoneId{0}, 0, Market::spot, 4, {}}};
    if (bid_first) test.setup.policies.push_back(policy_named("bid"));
    test.add("mover", {Knob::zone, Knob::count}, add_zone);
    if (!bid_first) test.setup.policies.push_back(policy_named("bid"));
    test.seen.zones = two_zones().seen.zones;
    const auto plan = test.ask();
    REQUIRE(plan.has_value());
    REQUIRE(plan->fleet.size() == 2);
    CHECK(plan->fleet[0] == FleetLine{ZoneId{0}, 0, Market::spot, 1, dollars_per_hour(3)});
    CHECK(plan->fleet[1] == FleetLine{ZoneId{1}, 0, Market::spot, 3, dollars_per_hour(2)});
}

TEST_CASE("bid: refuses parameters that make no sense", "[bid]") {
    CHECK_THROWS_WITH(policy_named("bid", R"({"rule": "fixed"})"),
                      "test.json: at /: missing key \"price\"");
    CHECK_THROWS_WITH(policy_named("bid", R"({"rule": "fixed", "price": "0 USD/h"})"),
                      "test.json: at /price: expected more than 0 USD/h");
    CHECK_THROWS_WITH(policy_named("bid", R"({"rule": "quantil"})"),
                      Catch::Contains("did you mean \"quantile\"?"));
    CHECK_THROWS_WITH(policy_named("bid", R"({"rule": "quantile", "window": "1 s"})"),
                      "test.json: at /window: expected from 60 s to 365 d, found 1 s");
    CHECK_THROWS_WITH(policy_named("bid", R"({"rule": "quantile", "window": "400 d"})"),
                      "test.json: at /window: expected from 60 s to 365 d, found 400 d");
    CHECK_THROWS_WITH(policy_named("bid", R"({"rule": "quantile", "warm_up": "8 d"})"),
                      "test.json: at /warm_up: expected at most \"window\"");
    CHECK_THROWS_WITH(policy_named("bid", R"({"rule": "quantile", "factor": 0.5, "floor": 0.6})"),
                      "test.json: at /floor: expected at most \"factor\"");
    CHECK_THROWS_WITH(policy_named("bid", R"({"quantile": 0.5})"),
                      Catch::Contains("unknown key \"quantile\""));
}
