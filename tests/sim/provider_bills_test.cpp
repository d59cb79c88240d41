// provider_bills_test.cpp — histories billed by hand under every provider's rules, to the
// nano-dollar.
//
// One spot instance, 1 USD/h unless the case says otherwise; on-demand costs 3 USD/h. The job
// starts at once and loses nothing. A loss is a fall of capacity to zero.
#include <catch2/catch.hpp>

#include "records/provider_rules.hpp"
#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

void follow(sim::MarketData& data, std::string_view provider, std::string_view day) {
    const records::ProviderRules* rules = records::provider_rules_on(provider, day);
    REQUIRE(rules != nullptr);
    data.rules.spot_billing = rules->spot;
    data.rules.on_demand_billing = rules->on_demand;
    data.rules.bidding = rules->bidding;
    data.rules.lifetime_max = rules->lifetime_max;
}

traces::PriceSeries prices(std::vector<std::pair<Duration, double>> steps) {
    traces::PriceSeries series;
    for (const auto& [time, usd_per_hour] : steps) {
        series.steps.push_back({at(time), dollars_per_hour(usd_per_hour)});
    }
    series.end = at(hours(100));
    return series;
}

// Held from the start until it is taken; never comes back.
sim::MarketData taken_after(Duration held, traces::PriceSeries series) {
    return market(
        {zone("a", capacity({{minutes(0), 1}, {held, 0}}, hours(100)), std::move(series))});
}
sim::MarketData never_taken(traces::PriceSeries series) {
    return market({zone("a", capacity({{minutes(0), 1}}, hours(100)), std::move(series))});
}

Dollars taken_bill(std::string_view provider, std::string_view day, Duration held,
                   traces::PriceSeries series) {
    sim::MarketData data = taken_after(held, std::move(series));
    follow(data, provider, day);
    sim::JobSpec spec = job(hours(50));
    spec.give_up_at = at(hours(60));
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.revocations == 1);
    CHECK(result.causes.cost_sum() == result.cost);
    return result.cost;
}

Dollars given_back_bill(std::string_view provider, std::string_view day, Duration work,
                        traces::PriceSeries series, std::string bought = "spot_only") {
    sim::MarketData data = never_taken(std::move(series));
    follow(data, provider, day);
    const records::RunResult result = run(data, job(work), {{std::move(bought), "{}"}});
    CHECK(result.finished);
    CHECK(result.revocations == 0);
    return result.cost;
}

}  // namespace

TEST_CASE("provider bills: AWS 2016, the hour that is cut short is free", "[provider_bills]") {
    // The first hour at 1; the second begins at 0.5 and is interrupted.
    CHECK(taken_bill("aws", "2016-05-01", minutes(90), prices({{hours(0), 1}, {hours(1), 0.5}})) ==
          dollars(1));
    // At exactly the hour nothing is cut short.
    CHECK(taken_bill("aws", "2016-05-01", hours(1), prices({{hours(0), 1}})) == dollars(1));
    CHECK(taken_bill("aws", "2016-05-01", minutes(59), prices({{hours(0), 1}})) == dollars(0));
}

TEST_CASE("provider bills: AWS 2016, an hour costs what it cost when it began",
          "[provider_bills]") {
    // 1.0 for the first, whatever happens within it; 0.5 for the second, given back in its middle.
    CHECK(given_back_bill("aws", "2016-05-01", minutes(90),
                          prices({{hours(0), 1}, {minutes(30), 2}, {hours(1), 0.5}})) ==
          dollars(1.5));
    // A minute into the second hour, which began at 2.
    CHECK(given_back_bill("aws", "2016-05-01", minutes(61),
                          prices({{hours(0), 1}, {minutes(30), 2}})) == dollars(3));
}

TEST_CASE("provider bills: AWS 2016, on-demand by the started hour", "[provider_bills]") {
    CHECK(given_back_bill("aws", "2016-05-01", minutes(61), prices({{hours(0), 1}}), "on_demand") ==
          dollars(6));
}

TEST_CASE("provider bills: AWS 2018, free if interrupted in the first hour", "[provider_bills]") {
    CHECK(taken_bill("aws", "2018-05-01", whole_seconds(3599), prices({{hours(0), 1}})) ==
          dollars(0));
    CHECK(taken_bill("aws", "2018-05-01", whole_seconds(3601), prices({{hours(0), 1}})) ==
          nano_dollars(1'000'277'778));  // 3601 s at 1 USD/h
}

TEST_CASE("provider bills: AWS 2018, by the second and a minute at least", "[provider_bills]") {
    CHECK(given_back_bill("aws", "2018-05-01", whole_seconds(20), prices({{hours(0), 1}})) ==
          nano_dollars(16'666'667));  // 60 s
    // 90 min at 1 and 30.5 s, rounded up to 31, at 0.5.
    CHECK(given_back_bill("aws", "2018-05-01", milliseconds(5'430'500),
                          prices({{hours(0), 1}, {minutes(90), 0.5}})) ==
          nano_dollars(1'504'305'556));
    CHECK(given_back_bill("aws", "2018-05-01", whole_seconds(7), prices({{hours(0), 1}}),
                          "on_demand") == dollars(0.05));  // 60 s at 3 USD/h
}

TEST_CASE("provider bills: Google 2016, ten minutes at least, by the minute", "[provider_bills]") {
    CHECK(taken_bill("gcp_preemptible", "2016-05-01", minutes(9), prices({{hours(0), 1}})) ==
          dollars(0));
    CHECK(taken_bill("gcp_preemptible", "2016-05-01", whole_seconds(690),
                     prices({{hours(0), 1}})) == dollars(0.2));  // 12 min
    CHECK(given_back_bill("gcp_preemptible", "2016-05-01", minutes(3), prices({{hours(0), 1}})) ==
          nano_dollars(166'666'667));  // 10 min
}

TEST_CASE("provider bills: Google 2018, free in the first minute only", "[provider_bills]") {
    CHECK(taken_bill("gcp_preemptible", "2018-05-01", whole_seconds(50), prices({{hours(0), 1}})) ==
          dollars(0));
    CHECK(taken_bill("gcp_preemptible", "2018-05-01", whole_seconds(72), prices({{hours(0), 1}})) ==
          dollars(0.02));
}

TEST_CASE("provider bills: Google's preemptible machines live for a day", "[provider_bills]") {
    sim::MarketData data = never_taken(prices({{hours(0), 1}}));
    follow(data, "gcp_preemptible", "2020-01-01");
    sim::JobSpec spec = job(hours(30));
    spec.profile.restart = spec.profile.resize = minutes(6);
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.revocations == 1);
    // 6 min + 23.9 h, gone at 24 h; 6 min + 6.1 h on the next one.
    CHECK(result.duration == minutes(24 * 60 + 6 + 366));
    CHECK(result.cost == dollars(30.2));
    follow(data, "gcp_spot", "2022-01-01");
    CHECK(run(data, spec, {{"spot_only", "{}"}}).revocations == 0);
}

TEST_CASE("provider bills: Azure, by the second", "[provider_bills]") {
    CHECK(given_back_bill("azure", "2021-05-01", milliseconds(35'500), prices({{hours(0), 1}})) ==
          dollars(0.01));  // 36 s
}

TEST_CASE("provider bills: nobody pays more than the bid", "[provider_bills]") {
    // 30 min at 0.5, announced when the price rises to 1.2, gone 2 min later: those at the bid.
    sim::MarketData data = never_taken(prices({{hours(0), 0.5}, {minutes(30), 1.2}}));
    data.rules.bidding = true;
    data.notice = minutes(2);
    sim::prepare(data);
    sim::JobSpec spec = job(hours(50));
    spec.plan.fleet[0].bid = dollars_per_hour(0.8);
    spec.give_up_at = at(hours(60));
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.revocations == 1);
    CHECK(result.cost == nano_dollars(276'666'667));  // 0.25 + 2 min at 0.8
    CHECK(result.held == minutes(32));
}

TEST_CASE("provider bills: a free part keeps its time and shares what was charged",
          "[provider_bills]") {
    sim::MarketData data = taken_after(minutes(90), prices({{hours(0), 1}}));
    follow(data, "aws", "2016-05-01");
    sim::JobSpec spec = job(hours(50));
    spec.profile.restart = spec.profile.resize = minutes(30);
    spec.give_up_at = at(hours(60));
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.held == minutes(90));
    CHECK(result.cost == dollars(1));
    CHECK(result.causes.time_of(records::Cause::transition) == minutes(30));
    CHECK(result.causes.cost_of(records::Cause::transition) == nano_dollars(333'333'333));
}

TEST_CASE("provider bills: what is paid after giving back costs what it cost then",
          "[provider_bills]") {
    // Given back at 30 min at 1 USD/h, five hours at least; 10 USD/h from the first hour on.
    sim::MarketData data = never_taken(prices({{hours(0), 1}, {hours(1), 10}}));
    data.rules.spot_billing = {.granularity = hours(1), .minimum = hours(5)};
    CHECK(run(data, job(minutes(30)), {{"spot_only", "{}"}}).cost == dollars(5));
    data.rules.spot_billing.price_at_beginning = true;
    CHECK(run(data, job(minutes(30)), {{"spot_only", "{}"}}).cost == dollars(5));
}

TEST_CASE("provider bills: the rest of a step costs as much with bids that bind nobody",
          "[provider_bills]") {
    // Taken at 65 min, when the price rises from 0.5 to 1.5: 65 min at the one, 55 at the other.
    for (const bool bidding : {false, true}) {
        sim::MarketData data =
            taken_after(minutes(65), prices({{hours(0), 0.5}, {minutes(65), 1.5}}));
        data.rules.spot_billing.granularity = hours(1);
        data.rules.bidding = bidding;
        sim::prepare(data);
        sim::JobSpec spec = job(hours(50));
        spec.plan.fleet[0].bid = dollars_per_hour(3);
        spec.give_up_at = at(hours(60));
        CHECK(run(data, spec, {{"spot_only", "{}"}}).cost == nano_dollars(1'916'666'667));
    }
}

}  // namespace ukemi
