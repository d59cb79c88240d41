// zone_watch_test.cpp — what each event of the market means for a job, without a job.
#include "sim/market/zone_watch.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/run_by_hand.hpp"

namespace ukemi {

namespace {

using policies::EventKind;

// Three machines until 30 min, one until 60 min, then three; 1 USD/h, from 45 min on 4.
sim::MarketData falling(sim::MarketRules rules = {}) {
    traces::PriceSeries prices = price(1.0);
    prices.steps.push_back({at(minutes(45)), dollars_per_hour(4.0)});
    sim::MarketData data = market(
        {zone("only", capacity({{minutes(0), 3}, {minutes(30), 1}, {minutes(60), 3}}, hours(2)),
              prices)});
    data.rules = rules;
    return data;
}

template <class Event>
std::optional<sim::ZoneNews> next_news(RunByHand& run, sim::ZoneWatch& zones) {
    const auto popped = run.pop();
    REQUIRE(std::holds_alternative<Event>(popped.event));
    return zones.see(std::get<Event>(popped.event));
}

}  // namespace

TEST_CASE("zone watch: a fall announces who goes, and the next change is awaited", "[market]") {
    const sim::MarketData data = falling();
    RunByHand run(data, job(hours(1), 1, 3));
    sim::ZoneWatch zones(run.market, run.fleet, run.queue);
    zones.begin();
    for (int i = 0; i < 3; ++i) run.fleet.launch(ZoneId{0}, policies::Market::spot, {}, Instant{});
    CHECK(run.queue.next_at() == at(minutes(30)));
    const auto fall = next_news<sim::CapacityChanged>(run, zones);
    REQUIRE(fall);
    CHECK(fall->announced == 2);
    CHECK(fall->gives);
    CHECK(fall->regroups);
    CHECK(fall->kind == EventKind::capacity_changed);
    // Two InstanceLost of this moment, the price at 45 min and the rise at 60 min.
    CHECK(run.queue.size() == 4);
    CHECK(std::holds_alternative<sim::InstanceLost>(run.pop().event));
}

TEST_CASE("zone watch: a price means something for machines only where one bids", "[market]") {
    for (const bool bidding : {false, true}) {
        CAPTURE(bidding);
        sim::MarketRules rules;
        rules.bidding = bidding;
        const sim::MarketData data = falling(rules);
        RunByHand run(data, job(hours(1)));
        sim::ZoneWatch zones(run.market, run.fleet, run.queue);
        zones.begin();
        run.fleet.launch(ZoneId{0}, policies::Market::spot, dollars_per_hour(2.0), Instant{});
        CHECK(next_news<sim::CapacityChanged>(run, zones)->announced == 0);
        const auto risen = next_news<sim::PriceChanged>(run, zones);
        REQUIRE(risen);
        CHECK(run.market.spot_price(ZoneId{0}) == dollars_per_hour(4.0));
        CHECK(risen->announced == (bidding ? 1 : 0));
        CHECK(risen->gives == bidding);
        CHECK(risen->regroups == bidding);
        CHECK(risen->kind == EventKind::price_changed);
    }
}

TEST_CASE("zone watch: a zone that refused is asked again once it gives, and not before",
          "[market]") {
    sim::MarketRules rules;
    rules.launch_failure = 1;
    rules.launch_retry = minutes(5);
    const sim::MarketData data = falling(rules);
    RunByHand run(data, job(hours(1)));
    sim::ZoneWatch zones(run.market, run.fleet, run.queue);
    run.fleet.launch(ZoneId{0}, policies::Market::spot, {}, Instant{});
    const auto failed = next_news<sim::LaunchFailed>(run, zones);
    REQUIRE(failed);
    CHECK_FALSE(failed->gives);
    CHECK_FALSE(failed->regroups);
    CHECK(failed->kind == EventKind::capacity_changed);
    CHECK(run.fleet.instances().empty());
    CHECK_FALSE(zones.see(sim::ZoneGivesAgain{ZoneId{0}}));  // it refuses still
    CHECK(run.queue.next_at() == at(minutes(5)));
    const auto again = next_news<sim::ZoneGivesAgain>(run, zones);
    REQUIRE(again);
    CHECK(again->gives);
    // Who was refused for as long before is not told twice.
    zones.await(ZoneId{0}, at(minutes(5)));
    CHECK(run.queue.empty());
}

TEST_CASE("zone watch: a machine's age is its loss", "[market]") {
    sim::MarketRules rules;
    rules.lifetime_max = minutes(10);
    const sim::MarketData data = falling(rules);
    RunByHand run(data, job(hours(1)));
    sim::ZoneWatch zones(run.market, run.fleet, run.queue);
    run.fleet.launch(ZoneId{0}, policies::Market::spot, {}, Instant{});
    const auto over = next_news<sim::LifetimeOver>(run, zones);
    REQUIRE(over);
    CHECK(over->announced == 1);
    CHECK(over->regroups);
    CHECK_FALSE(over->gives);
    CHECK(over->kind == EventKind::none);
}

}  // namespace ukemi
