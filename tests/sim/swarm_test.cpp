// swarm_test.cpp — random worlds from one seed, with every invariant on and checked from outside.
//
// A world is a market of a few zones, a job with random rules, and policies that do anything they
// are allowed to. The checker sees only the event log, the timeline and the result. A few seconds
// in every test run; UKEMI_SWARM_SECONDS makes it longer. UKEMI_SWARM_SEED replays one world. A
// canary world that breaks a rule must be found out, so that we know the net has no hole.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "tests/sim/fixture.hpp"
#include "tests/swarm_seeds.hpp"

namespace ukemi {

namespace {

// Turns every knob it may at random, at random moments.
class Chaos final : public policies::Policy {
public:
    explicit Chaos(policies::KnobSet knobs) : knobs_(knobs) {}
    std::string_view name() const override { return "chaos"; }
    policies::KnobSet knobs() const override { return knobs_; }
    policies::HookSet hooks() const override {
        return {policies::Hook::before_train, policies::Hook::on_event,
                policies::Hook::after_train};
    }
    policies::Decision before_train(const policies::PolicyView& view) override {
        return anything(view);
    }
    policies::Decision on_event(policies::EventKind, const policies::PolicyView& view) override {
        return anything(view);
    }
    policies::Decision after_train(const policies::PolicyView& view) override {
        return anything(view);
    }

private:
    policies::Decision anything(const policies::PolicyView& view) {
        policies::Decision decision;
        RandomStream& draw = view.random;
        if (draw.chance(0.3)) decision.ask_again_in = minutes(draw.integer(1, 300));
        if (draw.chance(0.5)) return decision;
        if (knobs_.has(policies::Knob::market))
            decision.market = static_cast<policies::Market>(draw.integer(0, 2));
        if (knobs_.has(policies::Knob::zone) && draw.chance(0.5)) {
            std::vector<policies::ZoneCount> counts;
            std::int32_t left = view.plan.workers_max;
            for (const policies::ZoneView& zone : view.seen.zones) {
                const auto here = static_cast<std::int32_t>(draw.integer(0, left));
                if (here > 0) counts.push_back({zone.zone, here});
                left -= here;
            }
            decision.zone_counts = counts;
        } else if (knobs_.has(policies::Knob::count) && draw.chance(0.3)) {
            // Sometimes more than the world allows: refused as a whole.
            decision.count = static_cast<std::int32_t>(draw.integer(0, view.plan.workers_max + 1));
        }
        if (draw.chance(0.2)) decision.checkpoint_interval = minutes(draw.integer(1, 90));
        if (draw.chance(0.1)) decision.checkpoint_on_notice = draw.chance(0.5);
        return decision;
    }

    policies::KnobSet knobs_;
};

struct RandomWorld {
    sim::MarketData market;
    sim::JobSpec job;
    std::vector<std::string> policies;  // names; "chaos" is ours
};

sim::ZoneData random_zone(RandomStream& draw, std::int64_t number) {
    traces::AvailabilitySeries series;
    Instant now;
    const std::int64_t steps = draw.integer(1, 60);
    for (std::int64_t step = 0; step < steps; ++step) {
        const auto value = static_cast<std::int32_t>(draw.chance(0.3) ? 0 : draw.integer(0, 9));
        if (series.steps.empty() || series.steps.back().value != value) {
            series.steps.push_back({now, value});
        }
        now = now + (draw.chance(0.1) ? seconds(draw.exponential(20)) + nanoseconds(1)
                                      : seconds(draw.exponential(4000)) + nanoseconds(1));
    }
    series.end = now;
    traces::PriceSeries prices;
    now = Instant{};
    for (std::int64_t step = draw.integer(1, 10); step > 0; --step) {
        const Price value = Price::of(draw.integer(0, 5'000'000'000));
        if (prices.steps.empty() || prices.steps.back().value != value) {
            prices.steps.push_back({now, value});
        }
        now = now + seconds(draw.exponential(20'000)) + nanoseconds(1);
    }
    prices.end = now;
    sim::ZoneData data = zone(fmt::format("z{}", number), series, prices);
    data.on_demand_price = Price::of(draw.integer(1, 9'000'000'000));
    return data;
}

sim::JobSpec random_job(RandomStream& draw) {
    const auto most = static_cast<std::int32_t>(draw.integer(1, 12));
    const auto least = static_cast<std::int32_t>(draw.integer(1, most));
    sim::JobSpec spec = job(minutes(draw.integer(1, 3000)), least, most);
    if (draw.chance(0.5)) {
        // Real steps: 1 to 200 s each, faster with more machines.
        const Duration step = seconds(1 + 199 * draw.uniform());
        spec.samples_total = draw.integer(1, 3000);
        spec.profile.throughput = {{1, {1, step}}, {most + 1, {draw.integer(1, most + 1), step}}};
    } else {
        spec.profile.throughput = {{1, {1, nanoseconds(1)}},
                                   {most + 1, {draw.integer(1'000, 9'000), nanoseconds(1000)}}};
    }
    spec.profile.restart = whole_seconds(draw.integer(0, 900));
    spec.profile.resize = whole_seconds(draw.integer(0, 300));
    spec.profile.lossless = draw.chance(0.3);
    spec.profile.checkpoint = whole_seconds(draw.integer(0, 200));
    spec.profile.restore = whole_seconds(draw.integer(0, 200));
    spec.profile.sharded = draw.chance(0.3);
    if (draw.chance(0.5)) spec.plan.checkpoint_interval = minutes(draw.integer(1, 200));
    spec.plan.checkpoint_on_notice = draw.chance(0.5);
    if (draw.chance(0.4)) spec.tick = minutes(draw.integer(1, 30));
    spec.completion_after_decision = draw.chance(0.5);
    spec.deadline = at(hours(draw.integer(1, 200)));
    spec.give_up_at = at(days(20));
    return spec;
}

// What providers may make rules of, in half of all worlds.
void add_random_rules(sim::MarketData& market_data, RandomStream& draw) {
    sim::MarketRules& rules = market_data.rules;
    if (draw.chance(0.5)) {
        rules.spot_billing = {.granularity = whole_seconds(draw.integer(1, 3600)),
                              .minimum = minutes(1)};
        rules.on_demand_billing = rules.spot_billing;
        rules.spot_billing.last_part_free_if_taken = draw.chance(0.5);
        rules.spot_billing.price_at_beginning = draw.chance(0.5);
    }
    if (draw.chance(0.3)) rules.spot_billing.free_if_taken_within = minutes(draw.integer(1, 90));
    if (draw.chance(0.5)) return;
    rules.bidding = draw.chance(0.5);
    if (draw.chance(0.5)) {
        rules.lifetime_max = market_data.notice + minutes(draw.integer(1, 2000));
    }
    if (draw.chance(0.5)) rules.notice_arrives = draw.uniform();
    if (draw.chance(0.5)) rules.blockout = minutes(draw.integer(1, 200));
    if (draw.chance(0.5)) rules.launch_failure = 0.9 * draw.uniform();
    rules.launch_retry = whole_seconds(draw.integer(1, 2000));
    if (draw.chance(0.5)) {
        market_data.transfer.size = mebibytes(draw.integer(1, 100'000));
        market_data.transfer.rows = {{"z0", "*", EgressPrice::of(draw.integer(0, 100'000'000)),
                                      gigabits_per_second(1), draw.chance(0.5)}};
    }
    for (sim::ZoneData& one : market_data.zones) {
        if (draw.chance(0.5)) {
            one.speed_per_mille = static_cast<std::int32_t>(draw.integer(100, 4000));
        }
    }
}

RandomWorld random_world(std::uint64_t seed) {
    RandomStream draw(seed, "swarm");
    RandomWorld world;
    const std::int64_t zones = draw.integer(1, 4);
    for (std::int64_t number = 0; number < zones; ++number) {
        world.market.zones.push_back(random_zone(draw, number));
    }
    world.market.after_last_row = static_cast<sim::AfterLastRow>(draw.integer(0, 2));
    world.market.notice = draw.chance(0.5) ? whole_seconds(draw.integer(1, 600)) : Duration{};
    world.market.provisioning = draw.chance(0.5) ? whole_seconds(draw.integer(1, 600)) : Duration{};
    sim::prepare(world.market);
    world.job = random_job(draw);
    add_random_rules(world.market, draw);
    const std::vector<std::vector<std::string>> lists{
        {"chaos"},
        {"greedy", "follow_capacity", "daly_checkpoint"},
        {"uniform_progress", "young_checkpoint", "checkpoint_on_notice"},
        {"time_sliced", "periodic_checkpoint"},
        {"rc_threshold", "follow_capacity"},
        {"spot_only", "follow_capacity", "checkpoint_on_notice"},
        {"ideal_no_overhead", "daly_checkpoint"},
        {"on_demand"}};
    // Half of all worlds are chaos.
    const auto last = static_cast<std::int64_t>(lists.size()) - 1;
    world.policies = lists[static_cast<std::size_t>(draw.chance(0.5) ? 0 : draw.integer(0, last))];
    return world;
}

records::RunResult run_world(const RandomWorld& world, std::uint64_t seed) {
    sim::WorldSetup world_setup = setup(world.market, world.job);
    world_setup.seed = seed;
    world_setup.keep_timeline = true;
    for (const std::string& name : world.policies) {
        if (name == "chaos") {
            world_setup.policies.push_back(std::make_unique<Chaos>(policies::KnobSet{
                policies::Knob::market, policies::Knob::zone, policies::Knob::count,
                policies::Knob::checkpoint_interval, policies::Knob::checkpoint_on_notice}));
        } else {
            world_setup.policies.push_back(policy(name));
        }
    }
    sim::World simulated(std::move(world_setup));
    return simulated.run();
}

// The recorded capacity over all zones at a moment, straight from the series.
std::int64_t capacity_at(const sim::MarketData& market_data, Instant now) {
    std::int64_t sum = 0;
    for (const sim::ZoneData& one : market_data.zones) {
        sim::CapacityCursor cursor(one.capacity, market_data.after_last_row, true);
        while (cursor.next_at() <= now) cursor.advance();
        sum += cursor.value();
    }
    return sum;
}

// What must hold of any run, whatever its policies did. Empty, or what is wrong.
std::string broken_rule(const RandomWorld& world, const records::RunResult& result) {
    if (result.causes.time_sum() != result.held) return "the causes do not add up to the time held";
    if (result.causes.cost_sum() + result.egress != result.cost)
        return "the causes do not add up to the bill";
    // Time held, a third time: the integral of what the timeline shows, less what was paid after
    // release.
    Int128 held = 0;
    Instant before;
    std::int64_t machines = 0;
    bool waits = false;
    Instant waits_since;
    for (const records::TimelineRow& row : result.timeline) {
        held += static_cast<Int128>((row.at - before).raw()) * machines;
        before = row.at;
        machines = row.spot_held + row.on_demand_held;
        if (row.spot_held > capacity_at(world.market, row.at)) {
            return fmt::format("{} spot instances held at {} s, where the market has {}",
                               row.spot_held, to_seconds(row.at.since_start()),
                               capacity_at(world.market, row.at));
        }
        if (row.workers > row.spot_held + row.on_demand_held) return "more workers than machines";
        if (row.samples_done < 0) return "negative progress";
        if (waits && row.at > waits_since) {
            return fmt::format("enough machines wait at {} s and do not train",
                               to_seconds(waits_since.since_start()));
        }
        waits = row.phase == policies::JobPhase::waiting && machines >= world.job.workers_min;
        waits_since = row.at;
    }
    if (machines != 0) return "machines are held after the end";
    const sim::MarketRules& rules = world.market.rules;
    const bool exact_billing = rules.spot_billing == records::BillingRule{} && !rules.bidding;
    // Only a group trains and saves; who waits is in none.
    const records::CauseTotals& causes = result.causes;
    const Duration in_groups = causes.time_of(records::Cause::useful) +
                               causes.time_of(records::Cause::redone) +
                               causes.time_of(records::Cause::checkpoint);
    if (result.worker_time < in_groups) return "more time in groups than workers have";
    if (result.worker_time > result.held - causes.time_of(records::Cause::idle)) {
        return "machines that idle are counted as workers";
    }
    if (exact_billing && held != result.held.raw()) {
        return fmt::format("held {} s by the timeline, {} s by the ledger",
                           static_cast<double>(held) / 1e9, to_seconds(result.held));
    }
    if (exact_billing && !result.timeline.empty()) {
        // Bills are rounded once each.
        const auto difference = result.timeline.back().spent - result.cost;
        if (std::abs(difference.raw()) > result.launches + 1) return "bills differ from the meter";
    }
    if (result.finished && result.samples_done < result.samples_total) return "finished too early";
    if (result.causes.time_of(records::Cause::useful) < Duration{}) return "negative useful time";
    return {};
}

}  // namespace

TEST_CASE("swarm: no random world breaks a rule", "[swarm][property]") {
    std::int64_t events = 0;
    std::map<std::string, int> outcomes;
    SwarmSeeds seeds("test_sim [swarm]", 3.0, 200);
    while (seeds.more()) {
        const std::uint64_t seed = seeds.now();
        const RandomWorld world = random_world(seed);
        const records::RunResult result = run_world(world, seed);
        CAPTURE(seed, world.policies);
        REQUIRE(broken_rule(world, result) == "");
        if (seed % 16 == 0) REQUIRE(run_world(world, seed).event_hash == result.event_hash);
        events += result.events;
        ++outcomes[result.finished ? "finished" : "gave up"];
    }
    fmt::print("swarm: {} worlds, {} events, {} finished, {} gave up\n", seeds.looked_at(), events,
               outcomes["finished"], outcomes["gave up"]);
    if (seeds.one_alone()) return;
    CHECK(outcomes["finished"] > 0);
    CHECK(outcomes["gave up"] > 0);
}

TEST_CASE("swarm: the canary, a world that holds more than there is, is found out", "[swarm]") {
    // After the market was prepared its recorded capacity is lowered: the world now holds machines
    // that the record says it cannot have.
    std::uint64_t found = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        RandomWorld world = random_world(seed);
        world.policies = {"spot_only"};
        for (sim::ZoneData& one : world.market.zones) {
            for (auto& step : one.capacity.steps) step.value = std::max(0, step.value - 1);
        }
        const std::string rule = broken_rule(world, run_world(world, seed));
        if (rule.find("where the market has") != std::string::npos) ++found;
    }
    CHECK(found >= 10);
}

}  // namespace ukemi
