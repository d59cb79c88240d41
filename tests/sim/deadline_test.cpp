// deadline_test.cpp — the promise of the deadline policies: a deadline that on-demand alone could
// meet is met, whatever the spot market does.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

struct DeadlineCase {
    sim::MarketData market;
    sim::JobSpec job;
};

// A flickering market and a gang; the deadline leaves room for the work and a few changeovers.
DeadlineCase random_deadline(std::uint64_t seed) {
    RandomStream draw(seed, "deadline");
    traces::AvailabilitySeries series;
    Instant now;
    // With a clock, capacity changes and the deadline lie on its ticks, as in the published worlds.
    const Duration tick = draw.chance(0.4) ? minutes(draw.integer(1, 20)) : Duration{};
    std::int32_t value = draw.chance(0.5) ? 4 : 0;
    for (std::int64_t step = draw.integer(1, 80); step > 0; --step) {
        series.steps.push_back({now, value});
        value = value == 0 ? 4 : 0;
        now = now + round_up_to(seconds(1 + draw.exponential(5000)), tick);
    }
    series.end = now;
    DeadlineCase one;
    one.market = market({zone("a", series, price(1))},
                        draw.chance(0.5) ? sim::AfterLastRow::repeat : sim::AfterLastRow::end);
    one.market.notice = draw.chance(0.5) ? minutes(2) : Duration{};
    one.market.provisioning = draw.chance(0.5) ? whole_seconds(draw.integer(1, 300)) : Duration{};
    sim::prepare(one.market);
    const auto machines = static_cast<std::int32_t>(draw.integer(1, 4));
    const Duration work = minutes(draw.integer(30, 1500));
    one.job = job(work, machines, machines);
    policies::JobProfile& profile = one.job.profile;
    profile.restart = profile.resize = whole_seconds(draw.integer(0, 600));
    profile.provisioning = one.market.provisioning;
    profile.lossless = draw.chance(0.5);
    profile.checkpoint = whole_seconds(draw.integer(1, 120));
    profile.restore = whole_seconds(draw.integer(0, 120));
    Duration needed = work;
    if (!profile.lossless) {
        one.job.plan.checkpoint_interval = minutes(draw.integer(5, 60));
        needed += (work.raw() / one.job.plan.checkpoint_interval.raw()) * profile.checkpoint;
    }
    needed += 3 * (profile.restart + profile.provisioning + profile.checkpoint + profile.restore);
    if (draw.chance(0.3)) {  // real steps, of up to ten minutes
        const Duration step = whole_seconds(draw.integer(1, 600));
        one.job.samples_total = std::max<std::int64_t>(1, work.raw() / step.raw());
        profile.throughput = {{1, {1, step}}};
        needed += 3 * step;
    }
    one.job.tick = tick;
    needed += 3 * one.job.tick + minutes(draw.integer(1, 1500));
    one.job.deadline = at(round_up_to(needed, tick));
    return one;
}

// 20 h of work in 26 h that saves in a minute; spot from then on, at a third of on-demand's price.
records::RunResult run_with_spot_from(Duration spot_from, Duration provisioning,
                                      std::string_view policy_name) {
    sim::MarketData data =
        market({zone("a", capacity({{Duration{}, 0}, {spot_from, 1}}, hours(60)), price(1))});
    data.provisioning = provisioning;
    sim::prepare(data);
    sim::JobSpec spec = job(hours(20));
    spec.profile.provisioning = provisioning;
    spec.profile.restart = spec.profile.resize = minutes(5);
    spec.profile.checkpoint = minutes(1);
    spec.profile.lossless = false;
    spec.deadline = at(hours(26));
    return run(data, spec, {{std::string(policy_name), "{}"}, {"daly_checkpoint", "{}"}});
}

}  // namespace

TEST_CASE("deadline: the save before a planned change to spot is no reason to stay on on-demand",
          "[deadline]") {
    // Behind the line at once, so six hours on on-demand, where Daly's policy saves nothing: with
    // the start 18 USD. The other 14.1 h on spot, two starts, saves: less than 15 USD.
    for (const char* policy_name : {"uniform_progress", "cheapest_region_net"}) {
        for (const Duration provisioning : {Duration{}, whole_seconds(1), minutes(2)}) {
            CAPTURE(policy_name, to_seconds(provisioning));
            const auto result = run_with_spot_from(hours(6), provisioning, policy_name);
            CHECK(result.deadline_met);
            CHECK(result.cost < dollars(33));
        }
    }
    // At the end of its first slice it gives on-demand back, with five hours not saved.
    const auto sliced = run_with_spot_from(minutes(500), minutes(2), "time_sliced");
    CHECK(sliced.deadline_met);
    CHECK(sliced.cost < dollars(32));
}

TEST_CASE("deadline: with a clock, too, the first answer knows how often the list saves",
          "[deadline]") {
    // 10 h, and 23 saves of five minutes: on on-demand from the first moment on, or late.
    const Duration tick = GENERATE(Duration{}, minutes(1));
    const std::string policy = GENERATE("on_demand", "greedy", "uniform_progress");
    CAPTURE(tick.raw(), policy);
    sim::MarketData data =
        market({zone("a", capacity({{Duration{}, 1}, {minutes(5), 0}}, hours(28)), price(1))});
    sim::prepare(data);
    sim::JobSpec spec = job(hours(10));
    spec.profile.checkpoint = minutes(5);
    spec.profile.lossless = false;
    spec.deadline = at(seconds(43'000));
    spec.tick = tick;
    const auto result =
        run(data, spec, {{policy, "{}"}, {"periodic_checkpoint", R"({"interval": "25 min"})"}});
    CHECK(result.deadline_met == true);
    CHECK(result.duration == seconds(42'900));
}

TEST_CASE("deadline: greedy, uniform progress, rc_threshold and time slices keep the promise",
          "[deadline][property]") {
    const auto* name = GENERATE("greedy", "uniform_progress", "rc_threshold", "time_sliced");
    const auto* saving = GENERATE("", "daly_checkpoint", "young_checkpoint");
    std::string late;
    std::int64_t late_count = 0;
    Dollars cost;
    Dollars on_demand_cost;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const DeadlineCase one = random_deadline(seed);
        std::vector<std::pair<std::string, std::string>> list{{name, "{}"}};
        if (*saving != '\0') list.emplace_back(saving, "{}");
        const records::RunResult result = run(one.market, one.job, list);
        cost += result.cost;
        on_demand_cost += run(one.market, one.job, {{"on_demand", "{}"}}).cost;
        if (result.deadline_met) continue;
        if (late_count++ == 0) {
            late = fmt::format("seed {}: {} of {} h, lossless {}, tick {} s", seed,
                               to_hours(result.duration), to_hours(one.job.deadline.since_start()),
                               one.job.profile.lossless, to_seconds(one.job.tick));
        }
    }
    INFO(name << "+" << saving << ", first late: " << late);
    CHECK(late_count == 0);
    CHECK(cost < on_demand_cost);  // and it is worth it
}

}  // namespace ukemi
