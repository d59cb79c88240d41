// trace_ends_test.cpp — how a recorded series ends: a last row that rises, falls or says nothing
// new, with and without a notice, and whatever is to hold after it.
//
// What a market shows is compared with its definition, written apart and without a cursor; and a
// job on it ends: with its work done, or because it cannot go on. A second in every test run;
// UKEMI_SWARM_SECONDS makes it longer, UKEMI_SWARM_SEED replays one series.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "tests/sim/fixture.hpp"
#include "tests/swarm_seeds.hpp"

namespace ukemi {

namespace {

struct TraceEnd {
    sim::MarketData market;
    sim::JobSpec job;
};

TraceEnd random_trace_end(std::uint64_t seed) {
    RandomStream draw(seed, "trace ends");
    traces::AvailabilitySeries series;
    Instant now;
    for (std::int64_t step = draw.integer(1, 6); step > 0; --step) {
        const auto value = static_cast<std::int32_t>(draw.integer(0, 3));
        const bool news = series.steps.empty() || series.steps.back().value != value;
        if (news) series.steps.push_back({now, value});
        series.end = now;  // the last row may say nothing new
        now = now + whole_seconds(draw.integer(1, draw.chance(0.3) ? 200 : 5000));
    }
    if (draw.chance(0.5)) series.end = now;
    static constexpr std::array ends{sim::AfterLastRow::end, sim::AfterLastRow::repeat,
                                     sim::AfterLastRow::hold};
    TraceEnd one;
    one.market = market({zone("a", series, price(1))},
                        ends.at(static_cast<std::size_t>(draw.integer(0, 2))));
    one.market.notice = draw.chance(0.7)
                            ? whole_seconds(draw.integer(1, draw.chance(0.5) ? 120 : 9000))
                            : Duration{};
    sim::prepare(one.market);
    const auto least = static_cast<std::int32_t>(draw.integer(1, 3));
    one.job = job(whole_seconds(draw.integer(1, 30'000)), least, 3);
    one.job.profile.restart = whole_seconds(draw.integer(0, 60));
    one.job.profile.resize = whole_seconds(draw.integer(0, 60));
    if (draw.chance(0.3)) one.job.tick = whole_seconds(draw.integer(60, 600));
    one.job.give_up_at = at(days(3));
    return one;
}

// What the record says of this moment, by the rule and nothing else.
std::int32_t recorded_at(const sim::MarketData& data, Instant now) {
    const traces::AvailabilitySeries& series = data.zones[0].capacity;
    if (data.after_last_row == sim::AfterLastRow::end && now >= series.end) return 0;
    Duration into = now.since_start();
    if (data.after_last_row == sim::AfterLastRow::repeat && series.end > Instant{}) {
        into = Duration::of(into.raw() % series.end.since_start().raw());
    }
    std::int32_t value = series.steps.front().value;
    for (const auto& step : series.steps) {
        if (step.at.since_start() <= into) value = step.value;
    }
    return value;
}

// All moments at which something might change, and those beside them.
std::vector<Instant> moments_of(const sim::MarketData& data) {
    const traces::AvailabilitySeries& series = data.zones[0].capacity;
    std::vector<Instant> moments;
    for (std::int64_t round = 0; round < 3; ++round) {
        const Duration begin = round * series.end.since_start();
        std::vector<Duration> rows{series.end.since_start()};
        for (const auto& step : series.steps) rows.push_back(step.at.since_start());
        for (const Duration row : rows) {
            for (const Duration before : {Duration{}, data.notice}) {
                for (const std::int64_t beside : {-1, 0, 1}) {
                    const Duration when = begin + row - before + nanoseconds(beside);
                    if (when >= Duration{}) moments.push_back(at(when));
                }
            }
        }
    }
    std::ranges::sort(moments);
    return moments;
}

// The first moment at which the market shows something other than the least of what comes within
// the notice.
std::string first_difference(const sim::MarketData& data) {
    const std::vector<Instant> moments = moments_of(data);
    sim::CapacityCursor shown(data.zones[0].launchable, data.after_last_row, true);
    for (const Instant now : moments) {
        while (shown.next_at() <= now) shown.advance();
        std::int32_t least = recorded_at(data, now);
        for (const Instant later : moments) {
            if (later > now && later <= now + data.notice) {
                least = std::min(least, recorded_at(data, later));
            }
        }
        // The last moments look beyond those that were listed.
        if (now + data.notice > moments.back()) break;
        if (shown.value() != least) {
            return fmt::format("{} s: shown {}, to be had {}", to_seconds(now.since_start()),
                               shown.value(), least);
        }
    }
    return {};
}

std::string wrong_run(const TraceEnd& one) {
    const records::RunResult result = run(one.market, one.job, {{"spot_only", "{}"}});
    const std::int32_t last = one.market.zones[0].capacity.steps.back().value;
    const bool comes_back =
        one.market.after_last_row == sim::AfterLastRow::hold && last >= one.job.workers_min;
    if (comes_back && !result.finished) {
        return fmt::format("the last row carries the job, and it is not done at {} s{}",
                           to_seconds(result.duration), result.stuck ? ": stuck" : "");
    }
    if (one.market.after_last_row != sim::AfterLastRow::repeat && !result.finished &&
        !result.stuck) {
        return "it neither finished nor said that it cannot go on";
    }
    if (result.finished && result.stuck) return "finished, and could not go on";
    return {};
}

}  // namespace

TEST_CASE("swarm: however a trace ends, what it shows is true and every job on it ends",
          "[swarm][trace_ends][property]") {
    std::map<std::string, int> seen;
    SwarmSeeds seeds("test_sim [trace_ends]", 1.0, 500);
    while (seeds.more()) {
        const TraceEnd one = random_trace_end(seeds.now());
        CAPTURE(seeds.now());
        REQUIRE(first_difference(one.market) == "");
        REQUIRE(wrong_run(one) == "");
        const auto& steps = one.market.zones[0].capacity.steps;
        const bool at_end = steps.back().at == one.market.zones[0].capacity.end;
        const bool level = steps.size() < 2;
        const bool rises = !level && steps.back().value > steps[steps.size() - 2].value;
        ++seen[level ? "level" : rises ? "rise" : "fall"];
        if (at_end) ++seen["at the very end"];
    }
    if (seeds.one_alone()) return;
    for (const char* kind : {"level", "rise", "fall", "at the very end"}) CHECK(seen[kind] > 20);
}

}  // namespace ukemi
