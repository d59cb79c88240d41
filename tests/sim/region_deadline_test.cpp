// region_deadline_test.cpp — the promise of deadline policies over several regions: a deadline that
// on-demand alone could meet is met, wherever the gang wanders.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

struct RegionCase {
    sim::MarketData market;
    sim::JobSpec job;
};

sim::ZoneData flickering_zone(RandomStream& draw, std::int32_t machines, Duration tick) {
    traces::AvailabilitySeries series;
    traces::PriceSeries prices;
    Instant now;
    std::int32_t value = draw.chance(0.5) ? machines : 0;
    for (std::int64_t step = draw.integer(1, 60); step > 0; --step) {
        series.steps.push_back({now, value});
        value = value == 0 ? machines : 0;
        now = now + round_up_to(seconds(1 + draw.exponential(6000)), tick);
    }
    series.end = now;
    Instant price_at;
    for (std::int64_t step = draw.integer(1, 20); step > 0; --step) {
        prices.steps.push_back({price_at, dollars_per_hour(0.5 + draw.uniform())});
        price_at = price_at + minutes(draw.integer(10, 300));
    }
    prices.end = price_at;
    return zone(fmt::format("z{}", draw.bits()), series, prices, 2.5 + draw.uniform());
}

RegionCase random_region(std::uint64_t seed) {
    RandomStream draw(seed, "regions");
    const Duration tick = draw.chance(0.3) ? minutes(draw.integer(1, 20)) : Duration{};
    const auto machines = static_cast<std::int32_t>(draw.integer(1, 4));
    std::vector<sim::ZoneData> zones;
    for (std::int64_t left = draw.integer(2, 4); left > 0; --left) {
        zones.push_back(flickering_zone(draw, machines, tick));
    }
    RegionCase one;
    one.market = market(std::move(zones),
                        draw.chance(0.5) ? sim::AfterLastRow::repeat : sim::AfterLastRow::end);
    one.market.notice = draw.chance(0.5) ? minutes(2) : Duration{};
    one.market.provisioning = draw.chance(0.5) ? whole_seconds(draw.integer(1, 300)) : Duration{};
    sim::prepare(one.market);
    const Duration work = minutes(draw.integer(60, 1500));
    one.job = job(work, machines, machines);
    policies::JobProfile& profile = one.job.profile;
    profile.restart = profile.resize = whole_seconds(draw.integer(0, 600));
    profile.provisioning = one.market.provisioning;
    profile.lossless = draw.chance(0.5);
    profile.sharded = draw.chance(0.5);
    profile.checkpoint = whole_seconds(draw.integer(1, 120));
    profile.restore = whole_seconds(draw.integer(0, 120));
    Duration needed = work;
    if (!profile.lossless) {
        one.job.plan.checkpoint_interval = minutes(draw.integer(5, 60));
        needed += (work.raw() / one.job.plan.checkpoint_interval.raw()) * profile.checkpoint;
    }
    needed += 3 * (profile.restart + profile.provisioning + profile.checkpoint + profile.restore);
    one.job.tick = tick;
    needed += 3 * tick + minutes(draw.integer(1, 1500));
    one.job.deadline = at(round_up_to(needed, tick));
    return one;
}

// 10 h of work; on-demand in a zone of 1.5 times the speed without spot, spot in a zone of 1.
records::RunResult run_beside_fast_zone(std::string_view rule, Duration deadline, bool lossless) {
    std::vector<sim::ZoneData> zones{
        zone("fast", capacity({{Duration{}, 0}}, hours(60)), price(1)),
        zone("slow", capacity({{Duration{}, 1}}, hours(60)), price(1))};
    zones.front().speed_per_mille = 1500;
    sim::JobSpec spec = job(hours(10));
    spec.profile.restart = spec.profile.resize = minutes(1);
    spec.profile.lossless = lossless;
    spec.profile.checkpoint = whole_seconds(10);
    if (!lossless) spec.plan.checkpoint_interval = minutes(30);
    spec.deadline = at(deadline);
    return run(market(std::move(zones)), spec,
               {{"cheapest_region_net", fmt::format(R"({{"rule": "{}"}})", rule)}});
}

}  // namespace

TEST_CASE("deadline: spot in a slow region is left in time for on-demand in a fast one",
          "[deadline]") {
    const auto* rule = GENERATE("greedy", "time_sliced", "uniform_progress", "rc_threshold");
    for (const Duration deadline : {minutes(450), hours(9), minutes(594)}) {
        for (const bool lossless : {false, true}) {
            CAPTURE(rule, to_hours(deadline), lossless);
            const auto result = run_beside_fast_zone(rule, deadline, lossless);
            CHECK(result.deadline_met);
            CHECK(result.transitions < 20);
        }
    }
}

TEST_CASE("deadline: a zone that is slower than the profile needs on-demand sooner", "[deadline]") {
    const auto* rule = GENERATE("greedy", "time_sliced", "uniform_progress", "rc_threshold");
    std::vector<sim::ZoneData> zones{
        zone("z", capacity({{Duration{}, 1}, {hours(2), 0}}, hours(60)), price(1))};
    zones.front().speed_per_mille = 800;
    sim::JobSpec spec = job(hours(10));
    spec.profile.restart = spec.profile.resize = minutes(1);
    spec.deadline = at(minutes(810));
    CHECK(run(market(std::move(zones)), spec, {{rule, "{}"}}).deadline_met);
}

TEST_CASE("deadline: cheapest_region_net keeps the promise, with every rule and way of saving",
          "[deadline][property]") {
    const auto* rule = GENERATE("greedy", "time_sliced", "uniform_progress", "rc_threshold");
    const auto* saving = GENERATE("", "daly_checkpoint", "hazard_checkpoint");
    const std::string parameters = fmt::format(R"({{"rule": "{}"}})", rule);
    std::string late;
    std::int64_t late_count = 0;
    Dollars cost;
    Dollars one_region_cost;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const RegionCase one = random_region(seed);
        std::vector<std::pair<std::string, std::string>> list{{"cheapest_region_net", parameters}};
        std::vector<std::pair<std::string, std::string>> staying{{rule, "{}"}};
        if (*saving != '\0') {
            list.emplace_back(saving, "{}");
            staying.emplace_back(saving, "{}");
        }
        const records::RunResult result = run(one.market, one.job, list);
        cost += result.cost;
        one_region_cost += run(one.market, one.job, staying).cost;
        if (result.deadline_met) continue;
        if (late_count++ == 0) {
            late = fmt::format("seed {}: {} of {} h, lossless {}, sharded {}, tick {} s", seed,
                               to_hours(result.duration), to_hours(one.job.deadline.since_start()),
                               one.job.profile.lossless, one.job.profile.sharded,
                               to_seconds(one.job.tick));
        }
    }
    INFO(rule << "+" << saving << ", first late: " << late);
    CHECK(late_count == 0);
    CHECK(cost < one_region_cost);  // and going about pays
}

}  // namespace ukemi
