// deadline_resize_test.cpp — the promise of the deadline policies for jobs that grow and shrink: a
// deadline that on-demand alone could meet is met, whatever the spot market leaves of the group.
//
// A world is a job whose speed depends on how many train, on a market that carries now more and
// now fewer of its machines, with and without a clock. A few seconds in every test run;
// UKEMI_SWARM_SECONDS makes it longer, UKEMI_SWARM_SEED replays one world.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"
#include "tests/support/profile_predictor.hpp"
#include "tests/swarm_seeds.hpp"

namespace ukemi {

namespace {

using PolicyNames = std::vector<std::pair<std::string, std::string>>;

struct ResizedJob {
    sim::MarketData market;
    sim::JobSpec job;
    PolicyNames policies;
};

// Anything from nothing to one machine more than the job can use, for seconds or for hours.
sim::ZoneData shrinking_zone(RandomStream& draw, std::string name, std::int32_t most,
                             Duration tick) {
    traces::AvailabilitySeries series;
    Instant now;
    for (std::int64_t step = draw.integer(1, 60); step > 0; --step) {
        const auto value = static_cast<std::int32_t>(draw.integer(0, most + 1));
        if (series.steps.empty() || series.steps.back().value != value) {
            series.steps.push_back({now, value});
        }
        const double mean_s = draw.chance(0.2) ? 60 : 6000;
        now = now + round_up_to(seconds(1 + draw.exponential(mean_s)), tick);
    }
    series.end = now;
    return zone(std::move(name), series, price(1));
}

// More machines never make a step slower, and at best in proportion to their number.
void draw_speeds(RandomStream& draw, sim::JobSpec& spec, bool has_steps) {
    const std::int64_t per_mille = 1000;
    std::int64_t speed = per_mille;  // of one machine
    const Duration step = has_steps ? whole_seconds(draw.integer(1, 600)) : nanoseconds(1000);
    const std::int64_t samples = has_steps ? 1 : 1000;
    spec.profile.throughput.clear();
    for (std::int32_t workers = 1; workers <= spec.plan.workers_max; ++workers) {
        if (workers > 1) speed += draw.integer(0, per_mille);
        spec.profile.throughput.push_back(
            {workers, {samples * speed, Duration::of(step.raw() * per_mille)}});
    }
}

ResizedJob random_resized_job(std::uint64_t seed) {
    RandomStream draw(seed, "deadline/resize");
    const Duration tick = draw.chance(0.4) ? minutes(draw.integer(1, 20)) : Duration{};
    const auto most = static_cast<std::int32_t>(draw.integer(1, 4));
    const auto least = static_cast<std::int32_t>(draw.integer(1, most));
    // As often as not the market knows nothing of the clock.
    const Duration grid = draw.chance(0.5) ? tick : Duration{};
    ResizedJob one;
    std::vector<sim::ZoneData> zones;
    for (std::int64_t number = draw.chance(0.3) ? 2 : 1; number > 0; --number) {
        zones.push_back(shrinking_zone(draw, fmt::format("z{}", number), most, grid));
    }
    static constexpr std::array ends{sim::AfterLastRow::end, sim::AfterLastRow::repeat,
                                     sim::AfterLastRow::hold};
    one.market = market(std::move(zones), ends.at(static_cast<std::size_t>(draw.integer(0, 2))));
    one.market.notice = draw.chance(0.5) ? minutes(2) : Duration{};
    one.market.provisioning = draw.chance(0.5) ? whole_seconds(draw.integer(1, 300)) : Duration{};
    sim::prepare(one.market);
    one.job = job(minutes(draw.integer(30, 1500)), least, most);
    policies::JobProfile& profile = one.job.profile;
    const bool has_steps = draw.chance(0.3);
    draw_speeds(draw, one.job, has_steps);
    profile.provisioning = one.market.provisioning;
    profile.restart = whole_seconds(draw.integer(0, 600));
    profile.resize = draw.chance(0.5) ? profile.restart : whole_seconds(draw.integer(0, 600));
    profile.lossless = draw.chance(0.6);
    profile.checkpoint = whole_seconds(draw.integer(0, 120));
    profile.restore = whole_seconds(draw.integer(0, 120));
    profile.sharded = draw.chance(0.3);
    if (!profile.lossless) one.job.plan.checkpoint_interval = minutes(draw.integer(5, 60));
    // So much work that the largest group has it done in the time that was drawn.
    const policies::StepRate fastest = profile.throughput.back().rate;
    const Duration work = nanoseconds(one.job.samples_total);
    one.job.samples_total = std::max<std::int64_t>(1, policies::steps_within(fastest, work));
    one.job.tick = tick;
    const auto predictor = test::make_profile_predictor(profile);
    // On-demand alone could do it: it begins once, and its end is seen at a tick.
    Duration needed = predictor->work_time(one.job.samples_total, one.job.plan, most);
    needed += profile.provisioning + profile.restart + tick + milliseconds(1);
    needed += minutes(draw.integer(0, 1) == 0 ? draw.integer(0, 20) : draw.integer(1, 1500));
    one.job.deadline = at(round_up_to(needed, tick));
    static constexpr std::array rules{"greedy", "uniform_progress", "rc_threshold", "time_sliced"};
    static constexpr std::array places{"follow_capacity", "spread_zones", "cheapest_zone"};
    one.policies = {{rules.at(static_cast<std::size_t>(draw.integer(0, 3))), "{}"}};
    if (draw.chance(0.8)) {
        one.policies.emplace_back(places.at(static_cast<std::size_t>(draw.integer(0, 2))), "{}");
    }
    if (draw.chance(0.2)) one.policies.emplace_back("daly_checkpoint", "{}");
    if (draw.chance(0.3)) one.policies = {{"fleet_progress", "{}"}, {"daly_checkpoint", "{}"}};
    return one;
}

std::string told(const ResizedJob& one, const records::RunResult& result) {
    std::string policies;
    for (const auto& [name, parameters] : one.policies) policies += name + " ";
    const policies::JobProfile& profile = one.job.profile;
    return fmt::format(
        "{}: {} s of {} s; {} to {} machines in {} zones, tick {} s, restart {} s, resize {} s, "
        "provisioning {} s, notice {} s, lossless {}, sharded {}, finished {}",
        policies, to_seconds(result.duration), to_seconds(one.job.deadline.since_start()),
        one.job.workers_min, one.job.plan.workers_max, one.market.zones.size(),
        to_seconds(one.job.tick), to_seconds(profile.restart), to_seconds(profile.resize),
        to_seconds(profile.provisioning), to_seconds(one.market.notice), profile.lossless,
        profile.sharded, result.finished);
}

// Two machines do 48 h of work in 48 h, one in 96 h; from 900 s on there is one.
sim::JobSpec two_machines() {
    sim::JobSpec spec = job(hours(48), 1, 2);
    spec.profile.throughput = {{1, {1, nanoseconds(2)}}, {2, {1, nanoseconds(1)}}};
    spec.profile.restart = spec.profile.resize = whole_seconds(120);
    spec.deadline = at(whole_seconds(173'580));
    return spec;
}

sim::MarketData shrinks_to_one() {
    return market(
        {zone("a", capacity({{Duration{}, 2}, {whole_seconds(900), 1}}, hours(1)), price(1))});
}

}  // namespace

TEST_CASE("deadline: a group that shrank goes over to on-demand in one change", "[deadline]") {
    const auto* rule = GENERATE("greedy", "uniform_progress", "rc_threshold", "time_sliced");
    const auto* place = GENERATE("follow_capacity", "cheapest_zone", "spread_zones");
    CAPTURE(rule, place);
    const records::RunResult result =
        run(shrinks_to_one(), two_machines(), {{rule, "{}"}, {place, "{}"}});
    CHECK(result.deadline_met);
    CHECK(result.transitions <= 3);  // the first, after the loss, and to on-demand
}

TEST_CASE("deadline: nothing moves for evenness or a price once there is no time for it",
          "[deadline]") {
    // Two zones in turn the cheaper one, by more than a move costs.
    const auto* place = GENERATE("cheapest_zone", "spread_zones");
    traces::PriceSeries one, other;
    for (std::int64_t hour = 0; hour < 60; ++hour) {
        one.steps.push_back({at(hours(hour)), dollars_per_hour(hour % 2 == 0 ? 1 : 2)});
        other.steps.push_back({at(hours(hour)), dollars_per_hour(hour % 2 == 0 ? 2 : 1)});
    }
    one.end = other.end = at(hours(60));
    const auto there = capacity({{Duration{}, 3}}, hours(60));
    const sim::MarketData data = market({zone("a", there, one), zone("b", there, other)});
    sim::JobSpec spec = two_machines();
    spec.plan.workers_max = 3;
    spec.plan.fleet[0].count = 3;
    spec.workers_min = 3;
    const records::RunResult result =
        run(data, spec,
            {{"greedy", "{}"},
             {place, place == std::string("cheapest_zone") ? R"({"holding_time": "1 h"})" : "{}"}});
    CHECK(result.deadline_met);
}

TEST_CASE("deadline: rc_threshold does not come and go without end where that is free",
          "[deadline]") {
    // 30 h of work in 60 h and never any spot; a launch is paid for a minute at least. Ten minutes
    // ahead of the line take 20 min on it, and are gone 20 min later.
    const sim::MarketData data = [] {
        sim::MarketData none =
            market({zone("a", capacity({{Duration{}, 0}}, hours(60)), price(1))});
        none.rules.on_demand_billing.minimum = minutes(1);
        return none;
    }();
    sim::JobSpec spec = job(hours(30));
    spec.profile.restart = spec.profile.resize = milliseconds(GENERATE(0, 1));
    spec.deadline = at(hours(60));
    const records::RunResult result = run(data, spec, {{"rc_threshold", "{}"}});
    CHECK(result.deadline_met);
    CHECK(result.launches <= 91);
    CHECK(result.cost <= dollars(91));  // 90 USD are the work alone
}

TEST_CASE("swarm: no job that grows and shrinks misses a deadline that on-demand could meet",
          "[swarm][deadline][property]") {
    std::int64_t with_clock = 0;
    std::int64_t resized = 0;
    SwarmSeeds seeds("test_sim 'swarm: no job that grows*'", 2.0, 4000);
    while (seeds.more()) {
        const ResizedJob one = random_resized_job(seeds.now());
        const records::RunResult result = run(one.market, one.job, one.policies);
        CAPTURE(seeds.now(), told(one, result));
        REQUIRE(result.deadline_met);
        with_clock += one.job.tick > Duration{};
        resized += result.transitions > 2;
    }
    if (seeds.one_alone()) return;
    CHECK(with_clock > 1000);
    CHECK(resized > 1000);
}

}  // namespace ukemi
