// sampling_test.cpp — markets sampled at any interval: generated, fitted, written and generated
// again, each to its end.
//
// Three seconds of random intervals in every test run, most of which do not divide the hour;
// UKEMI_SWARM_SECONDS makes it longer. What fails is replayed by the seed that is printed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "base/unit_text.hpp"
#include "tests/recorded.hpp"
#include "tests/swarm_seeds.hpp"
#include "tests/traces/fixture.hpp"
#include "traces/group_chain.hpp"
#include "traces/market_file.hpp"
#include "traces/market_fit.hpp"

using namespace ukemi;
using namespace ukemi::traces;

namespace {

// From a second to a day, to the nanosecond; often a number of seconds that people choose.
Duration random_sampling(RandomStream& random) {
    static constexpr std::array<std::int64_t, 9> usual{7, 60, 66, 195, 210, 300, 600, 2700, 5000};
    if (random.chance(0.5)) {
        return whole_seconds(usual[static_cast<std::size_t>(
            random.integer(0, static_cast<std::int64_t>(usual.size()) - 1))]);
    }
    const double logarithm = random.uniform() * std::log(86'400.0);
    return std::clamp(seconds(std::exp(logarithm)), market_sampling_min, market_sampling_max);
}

// How much happens from tick `now` to `ticks` later, in average ticks: hour by hour, apart from
// DailyClock's own sums.
long double happened(const DailyCycle& cycle, Duration sampling, std::int64_t since_midnight,
                     std::int64_t ticks, bool often) {
    constexpr long double hour_ns = 3.6e12L;
    long double at = static_cast<long double>(since_midnight) * sampling.raw();
    const long double end = at + static_cast<long double>(ticks) * sampling.raw();
    long double sum = 0;
    for (auto hour = static_cast<std::int64_t>(std::floor(at / hour_ns)); at < end; ++hour) {
        const long double next = std::min(end, static_cast<long double>(hour + 1) * hour_ns);
        const long double from_worst =
            static_cast<long double>(((hour % 24) + 24) % 24) + 0.5L - cycle.worst_hour_utc;
        const long double rate = 1 + cycle.depth * std::cos(from_worst * std::acos(-1.0L) / 12);
        sum += (next - at) * (often ? rate : 1 / rate);
        at = next;
    }
    return sum / sampling.raw();
}

// A group that is lost and comes back some times a day, more often at one hour than at others.
MarketParameters random_market(RandomStream& random) {
    MarketParameters market{};
    market.name = "random";
    market.capacity = static_cast<std::int32_t>(random.integer(1, 8));
    market.sampling = random_sampling(random);
    market.has_losses = true;
    const double tick_h = to_hours(market.sampling);
    market.quiet = {0.6, 2 * tick_h + random.uniform(), 5 * tick_h + 4 * random.uniform()};
    market.total_loss_share = random.uniform();
    market.burst_share_mean = 0.1 + random.uniform();
    market.outage = {0.5, tick_h + random.uniform(), 2 * tick_h + 2 * random.uniform()};
    market.full_refill_share = random.uniform();
    market.refill_step_mean = 1 + 2 * random.uniform();
    market.refill_gap_h_mean = tick_h + random.uniform();
    market.daily = {random.chance(0.8) ? 0.9 * random.uniform() : 0.0, 24 * random.uniform()};
    if (random.chance(0.3)) market.shared = {2, 24 * random.uniform(), random.uniform(), 1.5};
    return market;
}

bool falls_on_ticks(const TraceSeries& series, Duration sampling) {
    return std::ranges::all_of(series.availability->steps, [&](const auto& step) {
        return step.at.raw() % sampling.raw() == 0;
    });
}

// Series that say when they begin, so that a daily cycle and shared losses are looked for.
std::vector<TraceSeries> recorded_from(const MarketParameters& market, std::uint64_t seed) {
    auto series = generate_market(market, seed, 2, days(40));
    series[0].zone = "us-west-2a";
    series[1].zone = "us-west-2b";
    for (TraceSeries& one : series) one.start = "2023-02-15T22:08:16Z";
    return series;
}

void check_market(std::uint64_t seed) {
    RandomStream random(seed, "test/sampling");
    const MarketParameters market = random_market(random);
    CAPTURE(seed, to_json(market));
    const auto recorded = recorded_from(market, seed);
    FitOptions options;
    options.name = options.source = "random";
    if (random.chance(0.7)) options.sampling = market.sampling;
    const MarketFit fit = fit_market(recorded, {}, options);
    CHECK(fit.parameters.sampling >= market_sampling_min);
    const std::string text = to_json(fit.parameters);
    const MarketParameters again = read_market_parameters_text(text, "m.json");
    REQUIRE(to_json(again) == text);
    const auto before = generate_market(fit.parameters, seed, 2, days(20));
    const auto after = generate_market(again, seed, 2, days(20));
    for (std::size_t zone = 0; zone < 2; ++zone) {
        REQUIRE(before[zone].availability == after[zone].availability);
        REQUIRE(falls_on_ticks(after[zone], again.sampling));
    }
}

}  // namespace

TEST_CASE("sampling: a wait in a day with a cycle ends at the tick at which enough has happened",
          "[fit][generator][property]") {
    RandomStream random(1, "test/daily_clock");
    for (int i = 0; i < 2000; ++i) {
        const DailyCycle cycle{0.9 * random.uniform(), 24 * random.uniform()};
        const Duration sampling = random_sampling(random);
        const std::int64_t midnight = random.integer(0, 50'000);
        const std::int64_t now = random.integer(0, 100'000);
        const std::int64_t a_day = days(1).raw() / sampling.raw();
        const std::int64_t average = random.integer(1, std::max<std::int64_t>(1, a_day - 1));
        const bool often = random.chance(0.5);
        CAPTURE(i, format_duration(sampling), cycle.depth, cycle.worst_hour_utc, now - midnight,
                average, often);
        const DailyClock clock(cycle, sampling, midnight);
        const std::int64_t ticks = clock.ticks(now, average, often);
        const auto until = [&](std::int64_t end) {
            return happened(cycle, sampling, now - midnight, end, often);
        };
        REQUIRE(ticks >= 1);
        REQUIRE(until(ticks) > static_cast<long double>(average) - 1e-6L);
        if (ticks > 1) REQUIRE(until(ticks - 1) < static_cast<long double>(average) + 1e-6L);
    }
}

TEST_CASE("sampling: hours that no tick ends are passed", "[fit][generator]") {
    for (const std::int64_t sampled : {7, 195, 210, 5000}) {
        const DailyClock clock({0.35, 17.5}, whole_seconds(sampled), 0);
        std::int64_t before = 0;
        for (std::int64_t now = 0; now < 2 * 86'400 / sampled; ++now) {
            const std::int64_t end = now + clock.ticks(now, 3 * 3600 / sampled + 1, true);
            REQUIRE(end >= before);  // who waits as long from later on ends later
            before = end;
        }
    }
}

TEST_CASE("sampling: a wait beyond all time ends the series, not the program", "[fit][generator]") {
    RandomStream random(1, "test/never");
    MarketParameters market = random_market(random);
    market.sampling = days(1);
    market.quiet = {0.5, 1e9, 1e9};
    const auto made = generate_market(market, 1, 1, days(30));
    CHECK(made[0].availability->end == Instant::at(days(30)));
}

TEST_CASE("sampling swarm: random markets are fitted, written and generated again",
          "[fit][generator][property][swarm]") {
    SwarmSeeds seeds("test_traces [swarm]", 3.0, 6);
    while (seeds.more()) check_market(seeds.now());
    fmt::print("sampling: {} markets\n", seeds.looked_at());
}

TEST_CASE("sampling: zones recorded every 195 s with a daily cycle", "[fit][recorded]") {
    const auto data = recorded_data();
    if (!data) {
        WARN("skipped: no recorded data");
        return;
    }
    std::vector<TraceSeries> zones;
    FitOptions options;
    options.name = options.source = "us-west-2";
    for (const char* zone : {"us-west-2a", "us-west-2b"}) {
        const Trace trace = read_trace(*data / "skynomad/v100_aws_1node_avail" /
                                       fmt::format("{}_v100_1.csv.gz", zone));
        options.sampling = std::max(options.sampling, trace.report.sampling);
        for (TraceSeries one : trace.series) {
            one.zone = zone;
            zones.push_back(std::move(one));
        }
    }
    const MarketFit fit = fit_market(zones, {}, options);
    CHECK(fit.parameters.daily.depth > 0);
    CHECK_FALSE(fit.parameters.price);
    CHECK(generate_market(fit.parameters, 1, 2, days(60)).size() == 2);
}
