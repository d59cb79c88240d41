// optimum_swarm_test.cpp — whatever a market, a job and its policies are: nobody who is in time
// pays less than the optimum.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "scenarios/optimum/optimum.hpp"
#include "tests/sim/fixture.hpp"
#include "tests/swarm_seeds.hpp"

namespace ukemi {

namespace {

using scenarios::Optimum;
using scenarios::optimum_of;
using scenarios::OptimumKind;

// Turns market, places, counts and checkpoints at random, at random moments.
class Restless final : public policies::Policy {
public:
    std::string_view name() const override { return "restless"; }
    policies::KnobSet knobs() const override {
        return {policies::Knob::market, policies::Knob::zone, policies::Knob::count,
                policies::Knob::checkpoint_interval, policies::Knob::checkpoint_on_notice};
    }
    policies::HookSet hooks() const override {
        return {policies::Hook::before_train, policies::Hook::on_event};
    }
    policies::Decision before_train(const policies::PolicyView& view) override {
        return anything(view);
    }
    policies::Decision on_event(policies::EventKind, const policies::PolicyView& view) override {
        return anything(view);
    }

private:
    static policies::Decision anything(const policies::PolicyView& view) {
        policies::Decision decision;
        RandomStream& draw = view.random;
        if (draw.chance(0.3)) decision.ask_again_in = minutes(draw.integer(1, 300));
        if (draw.chance(0.6)) return decision;
        decision.market = static_cast<policies::Market>(draw.chance(0.1) ? 0 : draw.integer(1, 2));
        if (draw.chance(0.3)) {
            decision.zone_counts.emplace();
            std::int32_t left = view.plan.workers_max;
            for (const policies::ZoneView& zone : view.seen.zones) {
                const auto here = static_cast<std::int32_t>(draw.integer(0, left));
                if (here > 0) decision.zone_counts->push_back({zone.zone, here});
                left -= here;
            }
        } else if (draw.chance(0.2)) {
            decision.count = static_cast<std::int32_t>(draw.integer(0, view.plan.workers_max));
        }
        if (draw.chance(0.3)) decision.checkpoint_interval = minutes(draw.integer(1, 90));
        if (draw.chance(0.1)) decision.checkpoint_on_notice = draw.chance(0.5);
        return decision;
    }
};

sim::ZoneData random_zone(RandomStream& draw, std::int64_t number, std::int32_t most) {
    traces::AvailabilitySeries series;
    Instant now;
    for (std::int64_t step = draw.integer(1, 40); step > 0; --step) {
        const auto value =
            static_cast<std::int32_t>(draw.chance(0.25) ? 0 : draw.integer(0, most + 2));
        if (series.steps.empty() || series.steps.back().value != value) {
            series.steps.push_back({now, value});
        }
        now = now + seconds(draw.exponential(9000)) + nanoseconds(1);
    }
    series.end = now;
    traces::PriceSeries prices;
    now = Instant{};
    for (std::int64_t step = draw.integer(1, 20); step > 0; --step) {
        const Price value = Price::of(draw.integer(0, 4'000'000'000));
        if (prices.steps.empty() || prices.steps.back().value != value) {
            prices.steps.push_back({now, value});
        }
        now = now + seconds(draw.exponential(15'000)) + nanoseconds(1);
    }
    prices.end = now;
    sim::ZoneData data = zone(fmt::format("z{}", number), series, prices);
    data.on_demand_price = Price::of(draw.integer(1'000'000'000, 6'000'000'000));
    return data;
}

void add_random_rules(sim::MarketData& market_data, RandomStream& draw) {
    sim::MarketRules& rules = market_data.rules;
    records::BillingRule& spot = rules.spot_billing;
    if (draw.chance(0.5)) {
        spot = {.granularity = whole_seconds(draw.integer(1, 3600)), .minimum = minutes(1)};
        rules.on_demand_billing = spot;
        spot.last_part_free_if_taken = draw.chance(0.3);
        spot.price_at_beginning = draw.chance(0.3);
    }
    if (draw.chance(0.4)) spot.free_if_taken_within = minutes(draw.integer(1, 90));
    rules.bidding = draw.chance(0.2);
    if (draw.chance(0.2)) rules.lifetime_max = market_data.notice + minutes(draw.integer(1, 2000));
    if (draw.chance(0.2)) rules.notice_arrives = draw.uniform();
    if (draw.chance(0.2)) rules.blockout = minutes(draw.integer(1, 200));
    if (draw.chance(0.2)) rules.launch_failure = 0.9 * draw.uniform();
    rules.launch_retry = whole_seconds(draw.integer(1, 2000));
    if (draw.chance(0.2)) {
        rules.slow_share = draw.uniform();
        rules.slow_speed = static_cast<std::int32_t>(draw.integer(300, 1500));
    }
    if (draw.chance(0.4)) {
        market_data.transfer.size = mebibytes(draw.integer(1, 100'000));
        market_data.transfer.rows = {{"z0", "*", EgressPrice::of(draw.integer(0, 100'000'000)),
                                      gigabits_per_second(1), draw.chance(0.5)}};
    }
    for (sim::ZoneData& one : market_data.zones) {
        if (draw.chance(0.5)) continue;
        one.speed_per_mille = static_cast<std::int32_t>(draw.integer(300, 3000));
    }
}

struct LargeWorld {
    sim::MarketData market;
    sim::JobSpec job;
};

LargeWorld large_world(std::uint64_t seed) {
    RandomStream draw(seed, "large world");
    LargeWorld large;
    const auto most = static_cast<std::int32_t>(draw.chance(0.5) ? 1 : draw.integer(1, 9));
    const auto least = draw.chance(0.6) ? most : static_cast<std::int32_t>(draw.integer(1, most));
    std::vector<sim::ZoneData> zones;
    for (std::int64_t number = draw.integer(1, 3); number > 0; --number) {
        zones.push_back(random_zone(draw, number - 1, most));
    }
    large.market = market(zones, static_cast<sim::AfterLastRow>(draw.integer(0, 2)));
    if (draw.chance(0.5)) large.market.notice = whole_seconds(draw.integer(1, 900));
    if (draw.chance(0.5)) large.market.provisioning = whole_seconds(draw.integer(1, 900));
    if (draw.chance(0.6)) add_random_rules(large.market, draw);
    sim::prepare(large.market);
    const Duration work = minutes(draw.integer(30, 1500));
    large.job = job(work, least, most);
    policies::JobProfile& profile = large.job.profile;
    profile.throughput = {{1, {1, nanoseconds(1)}},
                          {most + 1, {draw.integer(800, 7'000), nanoseconds(1000)}}};
    if (draw.chance(0.3)) {
        const Duration step = seconds(1 + 199 * draw.uniform());
        large.job.samples_total = work.raw() / step.raw() + 1;
        profile.throughput = {{1, {1, step}}, {most + 1, {draw.integer(1, most + 1), step}}};
    }
    profile.restart = whole_seconds(draw.integer(0, 900));
    profile.resize = whole_seconds(draw.integer(0, 300));
    if (draw.chance(0.3)) profile.spawn = whole_seconds(draw.integer(1, 300));
    profile.lossless = draw.chance(0.3);
    if (!profile.lossless) {
        profile.checkpoint = whole_seconds(draw.integer(0, 200));
        profile.restore = whole_seconds(draw.integer(0, 200));
        profile.sharded = draw.chance(0.3);
        large.job.plan.checkpoint_interval = minutes(draw.integer(1, 200));
    }
    if (draw.chance(0.2)) large.job.tick = minutes(draw.integer(1, 30));
    if (draw.chance(0.8)) large.job.deadline = at(2 * work + minutes(draw.integer(0, 1500)));
    large.job.give_up_at = at(days(10));
    return large;
}

std::vector<std::vector<std::string>> lists_for(const LargeWorld& large, std::uint64_t seed) {
    std::vector<std::vector<std::string>> lists(6, {"restless"});
    lists.push_back({"on_demand"});
    lists.push_back({"spot_only", "follow_capacity", "daly_checkpoint"});
    lists.push_back({"spot_only", "cheapest_zone", "checkpoint_on_notice"});
    if (large.job.deadline == Instant::never()) return lists;
    const std::vector<std::vector<std::string>> others{
        {"greedy", "follow_capacity", "daly_checkpoint"},
        {"uniform_progress", "young_checkpoint", "checkpoint_on_notice"},
        {"time_sliced", "spread_zones", "periodic_checkpoint"},
        {"cheapest_region_net", "hazard_checkpoint"},
        {"ideal_no_overhead", "daly_checkpoint"}};
    lists.push_back(others[seed % others.size()]);
    lists.push_back(others[(seed / others.size()) % others.size()]);
    return lists;
}

}  // namespace

TEST_CASE("optimum: nobody who is in time pays less", "[optimum][swarm][property]") {
    SwarmSeeds seeds("test_scenarios [optimum]", 3.0, 300);
    std::int64_t compared = 0;
    std::int64_t exact = 0;
    while (seeds.more()) {
        const LargeWorld large = large_world(seeds.now());
        const Optimum optimum = optimum_of(large.market, large.job);
        exact += optimum.kind == OptimumKind::exact;
        std::uint64_t number = 0;
        for (const auto& names : lists_for(large, seeds.now())) {
            sim::WorldSetup world_setup = setup(large.market, large.job);
            world_setup.seed = seeds.now() * 100 + number++;
            for (const std::string& name : names) {
                if (name == "restless") {
                    world_setup.policies.push_back(std::make_unique<Restless>());
                } else {
                    world_setup.policies.push_back(policy(name));
                }
            }
            const records::RunResult result = sim::World(std::move(world_setup)).run();
            const bool in_time = result.finished && (!result.deadline || result.deadline_met);
            if (!in_time) continue;
            CAPTURE(seeds.now(), number, names, name_of(optimum.kind), to_hours(result.duration),
                    large.job.instances_max, large.job.workers_min, to_dollars(result.cost),
                    to_dollars(optimum.cost));
            REQUIRE(optimum.known());
            REQUIRE(optimum.cost <= result.cost);
            ++compared;
        }
    }
    fmt::print("optimum: {} worlds, {} of them exact, {} runs in time\n", seeds.looked_at(), exact,
               compared);
    if (seeds.one_alone()) return;
    CHECK(compared > 300);
    CHECK(exact > 10);
}

}  // namespace ukemi
