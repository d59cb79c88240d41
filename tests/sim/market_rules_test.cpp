// market_rules_test.cpp — what a market refuses, fails to say and moves, in worlds small enough to
// work out by hand.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"
#include "traces/market_statistics.hpp"

namespace ukemi {

namespace {

// One spot instance of zone `a` at a time, lost at each of `falls` and there again at once.
sim::MarketData with_falls(std::vector<Duration> falls, Duration pause) {
    std::vector<std::pair<Duration, std::int32_t>> steps{{Duration{}, 1}};
    for (const Duration fall : falls) {
        steps.emplace_back(fall, 0);
        steps.emplace_back(fall + pause, 1);
    }
    return market({zone("a", capacity(std::move(steps), hours(100)), price(1))});
}

// Moves the whole fleet of one machine to a given place at given moments.
class Itinerary final : public policies::Policy {
public:
    struct Stop {
        Duration at;
        ZoneId zone;
        policies::Market market;
    };
    explicit Itinerary(std::vector<Stop> stops) : stops_(std::move(stops)) {}
    std::string_view name() const override { return "itinerary"; }
    policies::KnobSet knobs() const override {
        return {policies::Knob::zone, policies::Knob::market, policies::Knob::count};
    }
    policies::HookSet hooks() const override {
        return {policies::Hook::before_train, policies::Hook::on_event};
    }
    policies::Decision before_train(const policies::PolicyView& view) override { return go(view); }
    policies::Decision on_event(policies::EventKind, const policies::PolicyView& view) override {
        return go(view);
    }

private:
    policies::Decision go(const policies::PolicyView& view) {
        policies::Decision decision;
        for (const Stop& stop : stops_) {
            if (stop.at <= view.seen.now.since_start()) {
                decision.zone_counts = {{stop.zone, 1}};
                decision.market = stop.market;
            } else {
                decision.ask_again_in = stop.at - view.seen.now.since_start();
                break;
            }
        }
        return decision;
    }
    std::vector<Stop> stops_;
};

records::RunResult run_itinerary(const sim::MarketData& data, const sim::JobSpec& spec,
                                 std::vector<Itinerary::Stop> stops) {
    sim::WorldSetup world = setup(data, spec);
    world.policies.push_back(std::make_unique<Itinerary>(std::move(stops)));
    return sim::World(std::move(world)).run();
}

// Two regions, 1 and 1.2 USD/h (on demand 3 and 2.5), 2 cents per GB and 4 Gbit/s between them.
sim::MarketData two_regions(traces::AvailabilitySeries first, traces::AvailabilitySeries second) {
    sim::MarketData data = market({zone("us-east-1a", std::move(first), price(1)),
                                   zone("us-west-2b", std::move(second), price(1.2), 2.5)});
    for (sim::ZoneData& one : data.zones) one.region = traces::region_of_zone(one.name);
    data.transfer.size = bytes(50'000'000'000);
    data.transfer.rows = {
        {"us-east-*", "us-west-*", EgressPrice::of(20'000'000), BytesPerSecond{}, true}};
    return data;
}

sim::JobSpec ticked_job(Duration work, Duration tick, Duration overhead) {
    sim::JobSpec spec = job(work);
    spec.tick = tick;
    spec.profile.restart = spec.profile.resize = overhead;
    return spec;
}

}  // namespace

TEST_CASE("market rules: after a loss a zone gives nothing for a while", "[market_rules]") {
    sim::MarketData data = with_falls({minutes(30)}, minutes(1));
    CHECK(run(data, job(hours(1)), {{"spot_only", "{}"}}).duration == minutes(61));
    data.rules.blockout = minutes(20);
    const records::RunResult result = run(data, job(hours(1)), {{"spot_only", "{}"}});
    CHECK(result.duration == minutes(80));  // 30 + 20 + 30
    CHECK(result.held == hours(1));
}

TEST_CASE("market rules: during a block-out on-demand is what there is", "[market_rules]") {
    sim::MarketData data = with_falls({minutes(30)}, minutes(1));
    data.rules.blockout = minutes(40);
    sim::JobSpec spec = job(hours(1));
    spec.deadline = at(minutes(65));
    const records::RunResult result = run(data, spec, {{"greedy", "{}"}});
    CHECK(result.deadline_met);
    CHECK(result.launches == 2);
    CHECK(result.cost > dollars(1));  // some of it on demand
}

TEST_CASE("market rules: a launch that fails is tried again later", "[market_rules]") {
    sim::MarketData data = with_falls({}, Duration{});
    data.provisioning = minutes(1);
    data.rules.launch_failure = 0.5;
    data.rules.launch_retry = minutes(5);
    int failed = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        sim::WorldSetup world = setup(data, sim::JobSpec{});
        const sim::JobSpec spec = job(hours(1));
        world.job = &spec;
        world.seed = seed;
        world.policies.push_back(policy("spot_only"));
        const records::RunResult result = sim::World(std::move(world)).run();
        CHECK(result.finished);
        CHECK(result.launches == 1 + result.launch_failures);
        // Each attempt takes a minute, each failure five more; nothing of that is paid.
        CHECK(result.duration == minutes(61 + 6 * result.launch_failures));
        CHECK(result.cost == dollars(1));
        failed += static_cast<int>(result.launch_failures);
    }
    CHECK(failed > 20);  // 40 expected, standard deviation 9
    CHECK(failed < 70);
}

TEST_CASE("market rules: a notice that does not arrive saves nothing", "[market_rules]") {
    sim::MarketData data = with_falls({minutes(30)}, minutes(10));
    data.notice = minutes(5);
    sim::prepare(data);
    sim::JobSpec spec = job(hours(1));
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    const std::vector<std::pair<std::string, std::string>> policies{{"spot_only", "{}"},
                                                                    {"on_notice", "{}"}};
    const records::RunResult warned = run(data, spec, policies);
    CHECK(warned.checkpoints == 1);
    data.rules.notice_arrives = 0;
    const records::RunResult unwarned = run(data, spec, policies);
    CHECK(unwarned.checkpoints == 0);
    CHECK(unwarned.revocations == 1);
    CHECK(unwarned.duration == minutes(100));  // 30 lost, 10 waited, 60 from the beginning
    CHECK(unwarned.causes.time_of(records::Cause::redone) == minutes(30));
}

TEST_CASE("market rules: a share of notices arrives", "[market_rules]") {
    std::vector<Duration> falls;
    for (std::int64_t hour = 1; hour <= 90; ++hour) falls.push_back(hours(hour));
    sim::MarketData data = with_falls(falls, minutes(10));
    data.notice = minutes(5);
    data.rules.notice_arrives = 0.7;
    sim::prepare(data);
    sim::JobSpec spec = job(hours(60));
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}, {"on_notice", "{}"}});
    CHECK(result.revocations > 60);
    const double share =
        static_cast<double>(result.checkpoints) / static_cast<double>(result.revocations);
    CHECK(share > 0.5);
    CHECK(share < 0.9);
}

TEST_CASE("market rules: lower bids lose more and never pay more", "[market_rules]") {
    // 0.3, 0.6, 0.9, 1.2 … every quarter of an hour, up and down.
    traces::PriceSeries series;
    for (std::int64_t step = 0; step < 400; ++step) {
        const std::int64_t height = step % 8 < 4 ? step % 8 : 8 - step % 8;
        series.steps.push_back({at(minutes(15 * step)), Price::of(300'000'000 * (1 + height))});
    }
    series.end = at(hours(100));
    sim::MarketData data = market({zone("a", capacity({{Duration{}, 1}}, hours(100)), series)});
    data.rules.bidding = true;
    std::int64_t revocations_before = 0;
    Dollars cost_before = dollars(1000);
    for (const double bid : {2.0, 1.3, 1.0, 0.7}) {
        sim::JobSpec spec = job(hours(20));
        spec.plan.fleet[0].bid = dollars_per_hour(bid);
        const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
        CAPTURE(bid, result.revocations);
        CHECK(result.finished);
        CHECK(result.revocations >= revocations_before);
        CHECK(result.cost <= cost_before);
        CHECK(to_dollars(result.cost) <= bid * to_hours(result.held));
        revocations_before = result.revocations;
        cost_before = result.cost;
    }
    CHECK(revocations_before > 10);
}

TEST_CASE("market rules: a group is as fast as its slowest machine", "[market_rules]") {
    sim::MarketData data = market({zone("a", capacity({{Duration{}, 1}}, hours(9)), price(1)),
                                   zone("b", capacity({{Duration{}, 1}}, hours(9)), price(1))});
    data.zones[1].speed_per_mille = 500;
    sim::JobSpec spec = job(hours(1), 1, 2);
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::spot, 1, Price{}}};
    CHECK(run(data, spec, {{"spot_only", "{}"}}).duration == hours(1));
    spec.plan.fleet.push_back({ZoneId{1}, 0, policies::Market::spot, 1, Price{}});
    CHECK(run(data, spec, {{"spot_only", "{}"}}).duration == hours(2));
    data.zones[0].speed_per_mille = 2000;
    CHECK(run(data, spec, {{"spot_only", "{}"}}).duration == hours(2));
    data.zones[1].speed_per_mille = 2000;
    CHECK(run(data, spec, {{"spot_only", "{}"}}).duration == minutes(30));
}

// SkyNomad's accounting (docs/multi_region_progress_model.md of its repository): a tick is billed
// whole to the instance alive at its end, a launch sets the overhead anew, a tick brings what is
// left of it after the overhead, egress is paid when the region changes.
TEST_CASE("market rules: a spot job that loses its region goes on in another", "[market_rules]") {
    // Ticks of 10 min, 12 min of overhead, 60 min of work; the first region has spot for 40 min.
    sim::MarketData data = two_regions(capacity({{Duration{}, 1}, {minutes(40), 0}}, hours(9)),
                                       capacity({{Duration{}, 1}}, hours(9)));
    data.rules.spot_billing.granularity = minutes(10);
    const sim::JobSpec spec = ticked_job(hours(1), minutes(10), minutes(12));
    const records::RunResult result =
        run_itinerary(data, spec,
                      {{Duration{}, ZoneId{0}, policies::Market::spot},
                       {minutes(40), ZoneId{1}, policies::Market::spot}});
    // East: 0, 8, 10, 10 min of work. West: 0, 8, 10, 10, 4: noticed at 90 min.
    CHECK(result.duration == minutes(90));
    CHECK(result.egress == dollars(1));  // 50 GB at 2 cents
    CHECK(result.cost == nano_dollars(666'666'667) + dollars(1) + dollars(1));
    CHECK(result.causes.time_of(records::Cause::transition) == minutes(24));
}

TEST_CASE("market rules: a move from a region that is still there costs egress once",
          "[market_rules]") {
    sim::MarketData data = two_regions(capacity({{Duration{}, 1}}, hours(9)),
                                       capacity({{Duration{}, 0}, {minutes(30), 1}}, hours(9)));
    data.rules.spot_billing.granularity = minutes(10);
    data.rules.on_demand_billing.granularity = minutes(10);
    const sim::JobSpec spec = ticked_job(hours(1), minutes(10), minutes(5));
    // On demand in the east for 30 min, then spot in the west, then back.
    const records::RunResult result =
        run_itinerary(data, spec,
                      {{Duration{}, ZoneId{0}, policies::Market::on_demand},
                       {minutes(30), ZoneId{1}, policies::Market::spot},
                       {minutes(50), ZoneId{0}, policies::Market::spot}});
    // 5 + 10 + 10, 5 + 10, 5 + 10 + 5 min of work: done at 75 min, noticed at 80.
    CHECK(result.duration == minutes(80));
    CHECK(result.egress == dollars(2));
    // 30 min at 3, 20 min at 1.2, 30 min at 1.
    CHECK(result.cost == dollars(1.5) + dollars(0.4) + dollars(0.5) + dollars(2));
}

TEST_CASE("market rules: moving takes the time that the size needs", "[market_rules]") {
    sim::MarketData data = two_regions(capacity({{Duration{}, 1}, {minutes(30), 0}}, hours(9)),
                                       capacity({{Duration{}, 1}}, hours(9)));
    data.transfer.rows[0].bandwidth = gigabits_per_second(4);  // 50 GB: 100 s
    sim::JobSpec spec = job(hours(1));
    spec.profile.restart = spec.profile.resize = minutes(2);
    const records::RunResult result =
        run_itinerary(data, spec,
                      {{Duration{}, ZoneId{0}, policies::Market::spot},
                       {minutes(30), ZoneId{1}, policies::Market::spot}});
    CHECK(result.duration == minutes(64) + whole_seconds(100));
    CHECK(result.causes.time_of(records::Cause::transition) == minutes(4) + whole_seconds(100));
}

TEST_CASE("market rules: within a region nothing is paid for moving", "[market_rules]") {
    sim::MarketData data = two_regions(capacity({{Duration{}, 1}, {minutes(30), 0}}, hours(9)),
                                       capacity({{Duration{}, 1}}, hours(9)));
    data.zones[1].region = "us-east-1";
    const records::RunResult result =
        run_itinerary(data, job(hours(1)),
                      {{Duration{}, ZoneId{0}, policies::Market::spot},
                       {minutes(30), ZoneId{1}, policies::Market::spot}});
    CHECK(result.egress == Dollars{});
    CHECK(result.duration == hours(1));
}

TEST_CASE("market rules: without a checkpoint there is nothing to move", "[market_rules]") {
    sim::MarketData data = two_regions(capacity({{Duration{}, 1}, {minutes(30), 0}}, hours(9)),
                                       capacity({{Duration{}, 1}}, hours(9)));
    sim::JobSpec spec = job(hours(1));
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    const std::vector<Itinerary::Stop> stops{{Duration{}, ZoneId{0}, policies::Market::spot},
                                             {minutes(30), ZoneId{1}, policies::Market::spot}};
    const records::RunResult lost = run_itinerary(data, spec, stops);
    CHECK(lost.egress == Dollars{});
    CHECK(lost.duration == minutes(90));
    spec.plan.checkpoint_interval = minutes(10);
    const records::RunResult saved = run_itinerary(data, spec, stops);
    CHECK(saved.egress == dollars(1));
}

TEST_CASE("market rules: a loss that nobody announces is not seen in the capacity either",
          "[market_rules]") {
    sim::MarketData data =
        market({zone("a", capacity({{Duration{}, 2}, {hours(2), 1}}, hours(9)), price(1))});
    data.notice = minutes(20);
    data.rules.notice_arrives = 0;
    sim::prepare(data);
    const records::RunResult result = run(data, job(hours(4), 1, 2), {{"follow_capacity", "{}"}});
    CHECK(result.revocations == 1);
    CHECK(result.held == hours(6));  // two for two hours, one for two more
}

TEST_CASE("market rules: a launch waits for a price that changes at the same moment",
          "[market_rules]") {
    // Capacity comes at 1 h, when the price rises above the bid for an hour.
    traces::PriceSeries series{{{Instant{}, dollars_per_hour(1)},
                                {at(hours(1)), dollars_per_hour(9)},
                                {at(hours(2)), dollars_per_hour(1)}},
                               at(hours(9))};
    sim::MarketData data =
        market({zone("a", capacity({{Duration{}, 0}, {hours(1), 1}}, hours(9)), series)});
    data.rules.bidding = true;
    sim::JobSpec spec = job(hours(1));
    spec.plan.fleet[0].bid = dollars_per_hour(5);
    const records::RunResult result = run(data, spec, {{"spot_only", "{}"}});
    CHECK(result.launches == 1);
    CHECK(result.revocations == 0);
    CHECK(result.duration == hours(3));
}

TEST_CASE("market rules: policies that only answer each other come to an end", "[market_rules]") {
    // The second zone is cheaper, and the bid is below its price: a policy that moves there is
    // shown nothing, and nothing else has changed.
    sim::MarketData data = market({zone("a", capacity({{Duration{}, 1}}, hours(9)), price(1)),
                                   zone("b", capacity({{Duration{}, 1}}, hours(9)), price(0.5))});
    data.rules.bidding = true;
    for (const std::string rule : {"cheapest_zone", "spread_zones", "follow_capacity"}) {
        for (const double bid : {0.3, 0.7, 2.0}) {
            CAPTURE(rule, bid);
            sim::JobSpec spec = job(hours(3));
            spec.deadline = at(hours(5));
            spec.plan.fleet[0].bid = dollars_per_hour(bid);
            CHECK(run(data, spec, {{rule, "{}"}, {"greedy", "{}"}}).deadline_met);
        }
    }
}

TEST_CASE("market rules: nets count the time of a move", "[market_rules]") {
    // Spot in the first region until 3 h, then in the second until 6 h; moving takes an hour.
    sim::MarketData data =
        two_regions(capacity({{Duration{}, 1}, {hours(3), 0}}, hours(40)),
                    capacity({{Duration{}, 0}, {hours(3), 1}, {hours(6), 0}}, hours(40)));
    data.transfer.rows[0].bandwidth = BytesPerSecond::of(50e9 / 3600);
    for (const std::string rule : {"greedy", "uniform_progress", "time_sliced", "rc_threshold"}) {
        for (std::int64_t deadline_h = 12; deadline_h <= 20; ++deadline_h) {
            CAPTURE(rule, deadline_h);
            sim::JobSpec spec = job(hours(9));
            spec.profile.restart = spec.profile.resize = minutes(10);
            spec.deadline = at(hours(deadline_h));
            CHECK(run(data, spec, {{rule, "{}"}, {"follow_capacity", "{}"}}).deadline_met);
        }
    }
}

TEST_CASE("transfer: the first row that matches either way says it", "[transfer]") {
    sim::TransferRules rules;
    rules.size = bytes(10'000'000'000);
    rules.rows = {{"us-east-1", "us-east-2", EgressPrice::of(10'000'000), {}, true},
                  {"us-*", "eu-*", EgressPrice::of(50'000'000), gigabits_per_second(8), false},
                  {"*", "*", EgressPrice::of(20'000'000), {}, true}};
    CHECK(sim::move_between(rules, "us-east-1", "us-east-1") == sim::Move{});
    CHECK(sim::move_between(rules, "us-east-2", "us-east-1").cost == dollars(0.1));
    CHECK(sim::move_between(rules, "us-west-2", "eu-north-1") ==
          sim::Move{dollars(0.5), whole_seconds(10)});
    CHECK(sim::move_between(rules, "eu-north-1", "us-west-2") ==
          sim::Move{dollars(0.2), Duration{}});
    CHECK(sim::matches_pattern("a*c*e", "abcde"));
    CHECK_FALSE(sim::matches_pattern("a*c*e", "abcd"));
    CHECK(sim::matches_pattern("*", ""));
}

TEST_CASE("transfer: regions of zones", "[transfer]") {
    CHECK(traces::region_of_zone("us-east-1a") == "us-east-1");
    CHECK(traces::region_of_zone("us-central1-b") == "us-central1");
    CHECK(traces::region_of_zone("eastus") == "eastus");
    CHECK(traces::region_of_zone("us-west-2") == "us-west-2");
    CHECK(traces::region_of_zone("a") == "a");
    CHECK(traces::region_of_zone("") == "");
}

}  // namespace ukemi
