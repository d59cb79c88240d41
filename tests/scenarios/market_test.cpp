// market_test.cpp — which market a scenario and a trace on the command line make together.
#include <algorithm>
#include <catch2/catch.hpp>

#include "scenarios/experiment/market_doubts.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"
#include "traces/market_file.hpp"

namespace ukemi {

namespace {

constexpr std::string_view both_prices =
    R"({"spot_price": "0.5 USD/h", "on_demand_price": "3 USD/h"})";
constexpr std::string_view no_spot_price = R"({"on_demand_price": "3 USD/h"})";
constexpr std::string_view two_hours_csv = "# id=x duration_s=7200\nt_s,instances\n0,1\n3600,0\n";
constexpr std::string_view price_csv =
    "# id=x duration_s=7200\nt_s,usd_per_instance_hour\n0,0.7\n1800,0.9\n";

Instant at_s(std::int64_t s) { return Instant::at(whole_seconds(s)); }

}  // namespace

TEST_CASE("market: a trace of availability takes the scenario's spot price", "[market]") {
    const ScratchFolder scratch;
    const auto trace = write_text(scratch.path() / "us-east-1a_g2.2xlarge.csv", two_hours_csv);
    const scenarios::NamedMarket market =
        scenarios::make_market(small_scenario(both_prices), 1, trace);
    CHECK(market.name == "us-east-1a_g2.2xlarge");  // a dot may be part of the name
    REQUIRE(market.data.zones.size() == 1);
    const sim::ZoneData& zone = market.data.zones[0];
    CHECK(zone.capacity.steps ==
          std::vector<traces::Step<std::int32_t>>{{Instant{}, 1}, {at_s(3600), 0}});
    CHECK(zone.capacity.end == at_s(7200));
    CHECK(zone.spot_price.steps ==
          std::vector<traces::Step<Price>>{{Instant{}, dollars_per_hour(0.5)}});
    CHECK(zone.on_demand_price == dollars_per_hour(3));
    CHECK(zone.launchable == zone.capacity);  // without notice
}

TEST_CASE("market: availability without any price is refused and both files are named",
          "[market]") {
    const ScratchFolder scratch;
    const auto trace = write_text(scratch.path() / "a.csv", two_hours_csv);
    const scenarios::Scenario scenario = small_scenario(no_spot_price, scratch.path());
    CHECK(complaint_of([&] { scenarios::make_market(scenario, 1, trace); }) ==
          fmt::format("{}: has no prices, and {} has no \"spot_price\" at /market "
                      "(--set '/market/spot_price=\"$0.92/h\"' gives one)",
                      trace.string(), (scratch.path() / "small.json").string()));
}

TEST_CASE("market: a trace of prices alone has room for all the instances", "[market]") {
    const ScratchFolder scratch;
    const auto trace = write_text(scratch.path() / "p.csv", price_csv);
    const scenarios::NamedMarket market =
        scenarios::make_market(small_scenario(no_spot_price), 1, trace);
    const sim::ZoneData& zone = market.data.zones.at(0);
    CHECK(zone.capacity.steps == std::vector<traces::Step<std::int32_t>>{{Instant{}, 1}});
    CHECK(zone.capacity.end == at_s(7200));
    CHECK(zone.spot_price.steps ==
          std::vector<traces::Step<Price>>{{Instant{}, dollars_per_hour(0.7)},
                                           {at_s(1800), dollars_per_hour(0.9)}});
}

TEST_CASE("market: a trace with prices keeps them, unless the scenario insists on its own",
          "[market]") {
    const ScratchFolder scratch;
    const auto trace =
        write_text(scratch.path() / "t.json",
                   R"({"metadata": {"gap_seconds": 600}, "data": [1, 0], "prices": [0.7, 0.8]})");
    const sim::ZoneData kept =
        scenarios::make_market(small_scenario(both_prices), 1, trace).data.zones.at(0);
    CHECK(kept.spot_price.steps.front().value == dollars_per_hour(0.7));
    const scenarios::Scenario insists = small_scenario(
        R"({"spot_price": "0.5 USD/h", "on_demand_price": "3 USD/h", "price_from": "scenario"})");
    const sim::ZoneData replaced = scenarios::make_market(insists, 1, trace).data.zones.at(0);
    CHECK(replaced.spot_price.steps ==
          std::vector<traces::Step<Price>>{{Instant{}, dollars_per_hour(0.5)}});
}

TEST_CASE("market: a typed price that no zone takes is doubted, unless the scenario says which",
          "[market]") {
    const ScratchFolder scratch;
    write_text(scratch.path() / "p.csv", price_csv);
    write_text(scratch.path() / "a.csv", two_hours_csv);
    const auto doubts = [&](const std::string& keys) {
        const scenarios::Scenario scenario = small_scenario(
            fmt::format(R"({{"spot_price": "0.5 USD/h", "on_demand_price": "3 USD/h", {}}})", keys),
            scratch.path());
        const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
        std::string all;
        for (const std::string& one :
             scenarios::doubts_about(market, scenarios::job_on(scenario, market.data))) {
            all += one + "\n";
        }
        return all;
    };
    const std::string own = R"("availability": "a.csv", "price": "p.csv")";
    const auto unused = Catch::Contains("\"spot_price\" at /market is not used");
    CHECK_THAT(doubts(own), unused);
    CHECK_THAT(doubts(own + R"(, "price_from": "trace")"), !unused);
    CHECK_THAT(doubts(own + R"(, "price_from": "scenario")"), !unused);
    CHECK_THAT(doubts(R"("availability": "a.csv")"), !unused);
    const std::string zone = R"({"name": "a", "availability": "a.csv", "price": "p.csv"})";
    CHECK_THAT(doubts(fmt::format(R"("zones": [{}])", zone)), unused);
    // Of two zones one has it.
    CHECK_THAT(
        doubts(fmt::format(R"("zones": [{}, {{"name": "b", "availability": "a.csv"}}])", zone)),
        !unused);
}

TEST_CASE("market: a trace of availability keeps the scenario's own file of prices", "[market]") {
    const ScratchFolder scratch;
    write_text(scratch.path() / "p.csv", price_csv);
    write_text(scratch.path() / "own.csv", "# duration_s=7200\nt_s,instances\n0,1\n");
    const auto trace = write_text(scratch.path() / "a.csv", two_hours_csv);
    const scenarios::Scenario scenario = small_scenario(
        R"({"availability": "own.csv", "price": "p.csv", "on_demand_price": "3 USD/h"})",
        scratch.path());
    const sim::ZoneData zone = scenarios::make_market(scenario, 1, trace).data.zones.at(0);
    CHECK(zone.capacity.steps ==
          std::vector<traces::Step<std::int32_t>>{{Instant{}, 1}, {at_s(3600), 0}});
    CHECK(zone.spot_price.steps ==
          std::vector<traces::Step<Price>>{{Instant{}, dollars_per_hour(0.7)},
                                           {at_s(1800), dollars_per_hour(0.9)}});
    // And a trace of prices its own file of availability.
    write_text(scratch.path() / "own.csv", two_hours_csv);
    const auto dearer = write_text(scratch.path() / "dearer.csv",
                                   "# duration_s=7200\nt_s,usd_per_instance_hour\n0,2\n");
    const sim::ZoneData other = scenarios::make_market(scenario, 1, dearer).data.zones.at(0);
    CHECK(other.capacity.steps == zone.capacity.steps);
    CHECK(other.spot_price.steps ==
          std::vector<traces::Step<Price>>{{Instant{}, dollars_per_hour(2)}});
}

TEST_CASE("market: where the scenario insists on its own price, its file of prices is not put in",
          "[market]") {
    const ScratchFolder scratch;
    write_text(scratch.path() / "p.csv", price_csv);
    const auto trace = write_text(scratch.path() / "a.csv", two_hours_csv);
    const scenarios::Scenario scenario =
        small_scenario(R"({"price": "p.csv", "spot_price": "0.5 USD/h",
        "price_from": "scenario", "on_demand_price": "3 USD/h"})",
                       scratch.path());
    CHECK(scenarios::make_market(scenario, 1, trace).data.zones.at(0).spot_price.steps ==
          std::vector<traces::Step<Price>>{{Instant{}, dollars_per_hour(0.5)}});
}

TEST_CASE("market: a generated market without prices takes the scenario's, and is refused else",
          "[market]") {
    const ScratchFolder scratch;
    const auto all = traces::all_market_parameters();
    traces::MarketParameters fitted =
        *std::ranges::find(all, "v100-16-burst", &traces::MarketParameters::name);
    fitted.price.reset();
    write_text(scratch.path() / "m.json", traces::to_json(fitted));
    const auto market = [&](std::string_view more) {
        return small_scenario(fmt::format(R"({{"generate": {{"market": "m.json", "length": "9 h"}},
                                               "on_demand_price": "3 USD/h"{}}})",
                                          more),
                              scratch.path());
    };
    const auto made = scenarios::make_market(market(R"(, "spot_price": "0.5 USD/h")"), 1);
    CHECK(made.data.zones.at(0).spot_price.steps ==
          std::vector<traces::Step<Price>>{{Instant{}, dollars_per_hour(0.5)}});
    CHECK_THAT(complaint_of([&] { scenarios::make_market(market(""), 1); }),
               Catch::EndsWith("small.json: at /market: the market \"v100-16-burst\" was fitted to "
                               "a record without prices: expected a \"spot_price\" beside "
                               "\"generate\""));
}

TEST_CASE("market: one_means turns zeros and ones round", "[market]") {
    const ScratchFolder scratch;
    const auto trace = write_text(scratch.path() / "t.json",
                                  R"({"metadata": {"gap_seconds": 600}, "data": [1, 0]})");
    const auto first = [&](std::string_view one_means) {
        const std::string text = fmt::format(
            R"({{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h", "one_means": "{}"}})",
            one_means);
        const scenarios::NamedMarket market =
            scenarios::make_market(small_scenario(text), 1, trace);
        return market.data.zones.at(0).capacity.steps.front().value;
    };
    CHECK(first("as_documented") == 1);  // SkyPilot's JSON: 1 is held
    CHECK(first("available") == 1);
    CHECK(first("unavailable") == 0);
}

TEST_CASE("market: several zones of a scenario come in its order, with their own prices",
          "[market]") {
    const ScratchFolder scratch;
    write_text(scratch.path() / "east.csv", two_hours_csv);
    write_text(scratch.path() / "west.csv", two_hours_csv);
    const scenarios::Scenario scenario = small_scenario(R"({"on_demand_price": "3 USD/h", "zones": [
        {"name": "west", "availability": "west.csv", "spot_price": "1 USD/h"},
        {"name": "east", "availability": "east.csv", "spot_price": "2 USD/h",
         "on_demand_price": "4 USD/h"}]})",
                                                        scratch.path());
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
    CHECK(market.name == "small");
    REQUIRE(market.data.zones.size() == 2);
    CHECK(market.data.zones[0].name == "west");
    CHECK(market.data.zones[0].on_demand_price == dollars_per_hour(3));
    CHECK(market.data.zones[1].name == "east");
    CHECK(market.data.zones[1].on_demand_price == dollars_per_hour(4));
    CHECK(market.data.zones[1].spot_price.steps.front().value == dollars_per_hour(2));
}

TEST_CASE("market: a file with two types in one zone asks which instance is meant", "[market]") {
    const ScratchFolder scratch;
    const auto trace = write_text(scratch.path() / "h.json",
                                  R"({"SpotPriceHistory": [
        {"AvailabilityZone": "us-east-1a", "InstanceType": "p2.xlarge", "SpotPrice": "0.3",
         "ProductDescription": "Linux/UNIX", "Timestamp": "2020-01-01T00:00:00.000Z"},
        {"AvailabilityZone": "us-east-1a", "InstanceType": "p3.2xlarge", "SpotPrice": "0.9",
         "ProductDescription": "Linux/UNIX", "Timestamp": "2020-01-01T00:00:00.000Z"}]})");
    CHECK(complaint_of([&] { scenarios::make_market(small_scenario(no_spot_price), 1, trace); }) ==
          trace.string() +
              ": zone \"us-east-1a\" is there with the instance types \"p2.xlarge\" "
              "and \"p3.2xlarge\": say which as \"instance\", of the zone or at /cluster");
    scenarios::Scenario says = small_scenario(no_spot_price);
    says.market.instance_type = "p3.2xlarge";
    const scenarios::NamedMarket market = scenarios::make_market(says, 1, trace);
    REQUIRE(market.data.zones.size() == 1);
    CHECK(market.data.zones[0].spot_price.steps.front().value == dollars_per_hour(0.9));
}

TEST_CASE("market: prices in a file of their own are laid over the availability by their dates",
          "[market]") {
    const ScratchFolder scratch;
    // Availability from 01:00, prices from 00:00 with a change at 00:30 and one at 01:10.
    write_text(scratch.path() / "a.csv",
               "date,availability\n2023-02-15 01:00:00,1\n"
               "2023-02-15 01:10:00,1\n2023-02-15 01:20:00,0\n");
    const auto prices = [&](std::string_view day) {
        return write_text(scratch.path() / "p.csv",
                          fmt::format("timestamp_utc,price_usd_per_h\n{0}T00:00:00Z,0.5\n"
                                      "{0}T00:30:00Z,0.6\n{0}T01:10:00Z,0.7\n{0}T02:00:00Z,0.8\n",
                                      day));
    };
    const scenarios::Scenario scenario = small_scenario(
        R"({"on_demand_price": "3 USD/h", "availability": "a.csv", "price": "p.csv"})",
        scratch.path());
    prices("2023-02-15");
    const sim::ZoneData zone = scenarios::make_market(scenario, 1).data.zones.at(0);
    CHECK(zone.spot_price.steps ==
          std::vector<traces::Step<Price>>{{Instant{}, dollars_per_hour(0.6)},
                                           {at_s(600), dollars_per_hour(0.7)},
                                           {at_s(3600), dollars_per_hour(0.8)}});
    const auto late = prices("2023-02-16");
    CHECK_THAT(complaint_of([&] { scenarios::make_market(scenario, 1); }),
               Catch::StartsWith(late.string() + ": expected prices at 2023-02-15T01:00:00Z, when "
                                                 "the availability begins; found prices from "
                                                 "2023-02-16T00:00:00Z to "));
}

TEST_CASE("market: a generated one is a function of the seed", "[market]") {
    const scenarios::Scenario scenario = small_scenario(
        R"({"generate": {"market": "v100-16-burst", "length": "30 d", "zones": 2},
            "on_demand_price": "3 USD/h"})");
    const scenarios::NamedMarket one = scenarios::make_market(scenario, 1);
    const scenarios::NamedMarket again = scenarios::make_market(scenario, 1);
    const scenarios::NamedMarket two = scenarios::make_market(scenario, 2);
    CHECK(one.name == "v100-16-burst");
    REQUIRE(one.data.zones.size() == 2);
    CHECK(one.data.zones[0].capacity == again.data.zones[0].capacity);
    CHECK(one.data.zones[1].spot_price == again.data.zones[1].spot_price);
    CHECK(one.data.zones[0].capacity != two.data.zones[0].capacity);
    CHECK(one.data.zones[0].capacity != one.data.zones[1].capacity);
}

TEST_CASE("market: a trace on the command line takes the place of a generated one", "[market]") {
    const ScratchFolder scratch;
    const auto trace = write_text(scratch.path() / "p.csv", price_csv);
    const scenarios::Scenario scenario = small_scenario(
        R"({"generate": {"market": "v100-1-good", "length": "7 d"},
            "on_demand_price": "3 USD/h"})");
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1, trace);
    CHECK(market.name == "p");
    CHECK(market.data.zones.at(0).spot_price.steps.size() == 2);
}

TEST_CASE("market: traces of one name are told apart by their folders", "[market]") {
    using Paths = std::vector<std::filesystem::path>;
    using Names = std::vector<std::string>;
    CHECK(traces::trace_names(Paths{"x/a.csv", "x/b.csv.gz"}) == Names{"a", "b"});
    CHECK(traces::trace_names(Paths{"x/a.csv", "y/a.csv.gz", "y/b.json"}) ==
          Names{"x/a", "y/a", "b"});
    CHECK(traces::trace_names(Paths{"/1/x/a.csv", "/2/x/a.csv"}) == Names{"1/x/a", "2/x/a"});
    const Names same = traces::trace_names(Paths{"/x/a.csv", "/x/a.json"});
    CHECK(same[0] != same[1]);
}

TEST_CASE("job: without a limit of its own a run may take all its work twice", "[market]") {
    // The recorded 2 h are over before the deadline of 20 h; then twice 10 h and a day.
    const ScratchFolder scratch;
    const auto trace = write_text(scratch.path() / "p.csv", price_csv);
    const scenarios::Scenario scenario = small_scenario(no_spot_price);
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1, trace);
    CHECK(scenarios::job_on(scenario, market.data).give_up_at == Instant::at(hours(20 + 20 + 24)));
}

TEST_CASE("job: the moment to give up stays on the clock, however long trace and work are",
          "[market]") {
    scenarios::Scenario scenario = small_scenario(both_prices);
    scenario.job.samples_total = days(36'600).raw();
    sim::MarketData market;
    market.zones.resize(1);
    market.zones[0].capacity.end = Instant::at(days(80'000));
    CHECK(scenarios::job_on(scenario, market).give_up_at == Instant::at(days(91'000)));
}

TEST_CASE("market: a provider and a day stand for its rules, and the scenario may differ",
          "[market]") {
    const scenarios::MarketSource rules =
        small_scenario(R"({"spot_price": "0.5 USD/h", "on_demand_price": "3 USD/h",
                           "provider": "aws", "date": "2016-05-01"})")
            .market;
    CHECK(rules.rules.bidding);
    CHECK(rules.notice == minutes(2));
    CHECK(rules.rules.spot_billing.last_part_free_if_taken);
    CHECK(rules.rules.on_demand_billing == records::BillingRule{.granularity = hours(1)});
    const scenarios::MarketSource own =
        small_scenario(R"({"spot_price": "0.5 USD/h", "on_demand_price": "3 USD/h",
                           "provider": "aws", "date": "2016-05-01", "notice": "0 s",
                           "billing": {"granularity": "1 min", "price_of": "moment"},
                           "on_demand_billing": {"minimum": "10 min"}, "blockout": "7 min",
                           "launch_failure": 0.25, "notice_arrives": 0.5,
                           "lifetime_max": "24 h"})")
            .market;
    CHECK(own.notice == Duration{});
    CHECK(own.rules.spot_billing ==
          records::BillingRule{.granularity = minutes(1), .last_part_free_if_taken = true});
    CHECK(own.rules.on_demand_billing ==
          records::BillingRule{.granularity = minutes(1), .minimum = minutes(10)});
    CHECK(own.rules.blockout == minutes(7));
    CHECK(own.rules.launch_retry == minutes(1));
    CHECK(own.rules.lifetime_max == hours(24));
}

TEST_CASE("market: places have regions, speeds and a price for moving between them", "[market]") {
    const scenarios::Scenario scenario = scenarios::scenario_from_text(R"({"name": "two", "seed": 1,
        "job": {"work": "10 h", "model_size": "50 GB"}, "cluster": {"count": 1},
        "market": {"spot_price": "0.5 USD/h", "on_demand_price": "3 USD/h",
                   "zones": [{"name": "us-east-1a"}, {"name": "far", "region": "us-west-2",
                                                      "speed": 1.5}],
                   "transfer": [{"from": "us-east-*", "to": "us-west-*", "price": "0.02 USD/GB",
                                 "bandwidth": "4 Gbit/s"}]},
        "replay": ["spot_only"]})",
                                                                       "two.json");
    const sim::MarketData data = scenarios::make_market(scenario, 1).data;
    CHECK(data.zones.at(0).region == "us-east-1");
    CHECK(data.zones.at(1).speed_per_mille == 1500);
    CHECK(sim::move_between(data, ZoneId{0}, ZoneId{1}) ==
          sim::Move{dollars(1), whole_seconds(100)});
    CHECK(sim::move_between(data, ZoneId{1}, ZoneId{0}) ==
          sim::Move{dollars(1), whole_seconds(100)});
    CHECK(sim::move_between(data, ZoneId{1}, ZoneId{1}) == sim::Move{});
}

}  // namespace ukemi
