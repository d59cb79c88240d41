// starts_test.cpp — the windows of a trace, and a market that begins later.
#include "scenarios/experiment/starts.hpp"

#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi::scenarios {

namespace {

std::vector<TraceWindow> windows(std::string_view starts, Duration trace, Duration span,
                                 bool repeats = false) {
    return windows_of(parse_starts(starts, "--starts"), trace, repeats, span);
}

std::vector<double> start_hours(const std::vector<TraceWindow>& windows) {
    std::vector<double> all;
    for (const TraceWindow& window : windows) all.push_back(to_hours(window.start));
    return all;
}

std::vector<std::int64_t> stretches(const std::vector<TraceWindow>& windows) {
    std::vector<std::int64_t> all;
    for (const TraceWindow& window : windows) all.push_back(window.stretch);
    return all;
}

using Hours = std::vector<double>;
using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("starts: as many windows as do not overlap", "[starts]") {
    CHECK(start_hours(windows("apart", hours(182), hours(60))) == Hours{0, 61, 122});
    CHECK(start_hours(windows("apart", hours(180), hours(60))) == Hours{0, 60, 120});
    CHECK(start_hours(windows("apart", hours(179), hours(60))) == Hours{0, 119});
    CHECK(start_hours(windows("apart", hours(119), hours(60))) == Hours{0});
    CHECK(start_hours(windows("apart", hours(10), hours(60))) == Hours{0});
    CHECK(start_hours(windows("apart", Duration{}, hours(60))) == Hours{0});
    CHECK(windows("apart", hours(100'000), hours(60)).size() == 40);
    CHECK(stretches(windows("apart", hours(182), hours(60))) == Numbers{0, 1, 2});
    // Not on whole seconds: still apart.
    CHECK(stretches(windows("apart", seconds(10.7), seconds(3.1))) == Numbers{0, 1, 2});
}

TEST_CASE("starts: a number of beginnings is spread evenly", "[starts]") {
    CHECK(start_hours(windows("1", hours(182), hours(60))) == Hours{0});
    CHECK(start_hours(windows("3", hours(180), hours(60))) == Hours{0, 60, 120});
    const auto five = windows("5", hours(180), hours(60));
    CHECK(start_hours(five) == Hours{0, 30, 60, 90, 120});
    // They overlap: what begins within two spans is one unit.
    CHECK(stretches(five) == Numbers{0, 0, 0, 0, 1});
    CHECK(start_hours(windows("5", hours(50), hours(60))) == Hours{0});
    CHECK(windows("100", hours(60) + seconds(3), hours(60)).size() == 4);  // a second apart
}

TEST_CASE("starts: every so often, and at moments", "[starts]") {
    CHECK(start_hours(windows("every=50h", hours(182), hours(60))) == Hours{0, 50, 100});
    CHECK(start_hours(windows("every=61h", hours(182), hours(60))) == Hours{0, 61, 122});
    CHECK(stretches(windows("every=61h", hours(182), hours(60))) == Numbers{0, 1, 2});
    CHECK(stretches(windows("every=50h", hours(182), hours(60))) == Numbers{0, 0, 0});
    CHECK(start_hours(windows("at=100h,30h", hours(182), hours(60))) == Hours{30, 100});
    CHECK(start_hours(windows("at=170h", hours(182), hours(60))) == Hours{170});
}

TEST_CASE("starts: a trace that repeats has room everywhere", "[starts]") {
    CHECK(start_hours(windows("4", hours(100), hours(60), true)) == Hours{0, 25, 50, 75});
    CHECK(start_hours(windows("apart", hours(100), hours(40), true)) == Hours{0, 50});
    CHECK(stretches(windows("apart", hours(100), hours(40), true)) == Numbers{0, 1});
    CHECK(start_hours(windows("every=25h", hours(100), hours(40), true)) == Hours{0, 25, 50, 75});
    // The last meets the first again.
    CHECK(stretches(windows("at=0h,50h", hours(80), hours(40), true)) == Numbers{0, 0});
}

TEST_CASE("starts: what cannot be meant is one line", "[starts]") {
    const auto complaint = [](std::string_view text) {
        return complaint_of([&] { windows(text, hours(182), hours(60)); });
    };
    CHECK(complaint("0") ==
          "--starts: expected a number of beginnings from 1 to 10000, every=6h, "
          "at=0h,12h or apart, found \"0\"");
    CHECK_THAT(complaint("many"), Catch::EndsWith("found \"many\""));
    CHECK_THAT(complaint("10001"), Catch::EndsWith("found \"10001\""));
    CHECK_THAT(complaint("4x"), Catch::EndsWith("found \"4x\""));
    CHECK_THAT(complaint(""), Catch::EndsWith("found \"\""));
    CHECK_THAT(complaint("every=6"), Catch::StartsWith("--starts: expected a duration"));
    CHECK(complaint("every=0 s") == "--starts: expected beginnings at least 1 s apart");
    CHECK(complaint("every=1 s") ==
          "--starts: expected at most 10000 beginnings of a trace, found 439201");
    CHECK(complaint("at=1h,60 min") == "--starts: 1 h stands there twice");
    CHECK(complaint("at=182h") ==
          "--starts: expected beginnings within a trace of 182 h, found 182 h");
}

TEST_CASE("starts: a later market shows what the whole one does from then on", "[starts]") {
    RandomStream random(5, "test/starts");
    const auto whole_number = [&](std::int64_t end) {
        return static_cast<std::int64_t>(random.uniform() * static_cast<double>(end));
    };
    for (int round = 0; round < 300; ++round) {
        sim::MarketData market;
        sim::ZoneData& zone = market.zones.emplace_back();
        const auto series = [&](auto& made, auto value) {
            Instant at;
            for (int step = 0; step < 12; ++step) {
                const auto next = value();
                if (made.steps.empty() || made.steps.back().value != next) {
                    made.steps.push_back({at, next});
                }
                at = at + whole_seconds(1 + whole_number(20));
            }
            made.end = at;
        };
        series(zone.capacity, [&] { return static_cast<std::int32_t>(whole_number(3)); });
        series(zone.spot_price, [&] { return Price::of(1 + whole_number(4)); });
        market.after_last_row = static_cast<sim::AfterLastRow>(round % 3);
        market.notice = whole_seconds(whole_number(5));
        sim::prepare(market);
        const Duration start = whole_seconds(
            whole_number(zone.capacity.end.since_start().raw() / whole_seconds(1).raw()));
        const sim::MarketData later = begun_later(market, start);

        sim::SpotMarket from_zero(market);
        sim::SpotMarket from_start(later);
        const ZoneId only{0};
        const auto advance_to = [&](sim::SpotMarket& one, Instant now) {
            while (one.capacity_changes_at(only) <= now) one.advance_capacity(only);
            while (one.price_changes_at(only) <= now) one.advance_price(only, now);
        };
        const bool repeats = market.after_last_row == sim::AfterLastRow::repeat;
        // A repeating market's two series have periods of their own, so only one round is compared.
        const Duration shown =
            repeats ? std::min(zone.capacity.end, zone.spot_price.end).since_start() - start
                    : days(1);
        for (Duration at; at < shown; at += whole_seconds(1)) {
            advance_to(from_zero, Instant::at(start + at));
            advance_to(from_start, Instant::at(at));
            CAPTURE(round, to_seconds(start), to_seconds(at));
            REQUIRE(from_start.spot_capacity(only) == from_zero.spot_capacity(only));
            REQUIRE(from_start.spot_price(only) == from_zero.spot_price(only));
            if (at > whole_seconds(400)) break;
        }
    }
}

TEST_CASE("starts: a run from the middle is the run on the rest of the trace", "[starts]") {
    const ScratchFolder folder;
    const auto whole = write_text(folder.path() / "whole.csv",
                                  "# duration_s=360000\nt_s,instances\n0,1\n36000,0\n90000,1\n"
                                  "100000,0\n150000,1\n");
    const auto rest = write_text(folder.path() / "rest.csv",
                                 "# duration_s=300000\nt_s,instances\n0,0\n30000,1\n40000,0\n"
                                 "90000,1\n");
    const Scenario scenario = small_scenario(
        R"({"spot_price": "1 USD/h", "on_demand_price": "3 USD/h", "notice": "2 min"})",
        folder.path(), R"("replay": ["greedy", "uniform_progress"])");
    ExperimentSetup setup;
    setup.policies = scenario.policies;
    setup.seeds = {1, 2};
    setup.traces = {whole};
    setup.starts = parse_starts("at=0h,60000 s", "--starts");
    const auto both = run_experiment(scenario, setup);
    setup.traces = {rest};
    setup.starts = {};
    const auto cut = run_experiment(scenario, setup);
    REQUIRE(both.size() == 8);
    REQUIRE(cut.size() == 4);
    for (std::size_t i = 0; i < cut.size(); ++i) {
        CHECK(both[4 + i].result.event_hash == cut[i].result.event_hash);
        CHECK(both[4 + i].result.cost == cut[i].result.cost);
        CHECK(both[4 + i].result.start == whole_seconds(60'000));
        CHECK(both[4 + i].result.record == "whole");
        CHECK(both[i].result.start == Duration{});
        CHECK(both[i].result.event_hash != cut[i].result.event_hash);
    }
    CHECK(both[4].result.policy == "greedy");
    CHECK(both[5].result.seed == 2);
    CHECK(both[6].result.policy == "uniform_progress");
}

TEST_CASE("starts: windows are the same whatever the threads and the variants", "[starts]") {
    const ScratchFolder folder;
    const auto trace = write_text(folder.path() / "t.csv",
                                  "# duration_s=720000\nt_s,instances\n0,1\n36000,0\n90000,1\n"
                                  "100000,0\n150000,1\n");
    const Scenario early =
        small_scenario(R"({"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"})", folder.path());
    Scenario late = early;
    late.job.deadline = Instant::at(hours(40));
    late.varied = {{"/job/deadline", "40 h"}};
    const std::vector<ExperimentCase> cases{{&early, early.policies, {1}},
                                            {&late, late.policies, {1}}};
    ExperimentSetup setup;
    setup.traces = {trace};
    setup.starts = parse_starts("apart", "--starts");
    std::vector<std::string> hashes;
    for (const int threads : {1, 4}) {
        setup.threads = threads;
        const auto runs = run_experiment(cases, setup);
        REQUIRE(runs.size() == 10);  // five windows of the longer deadline, in both variants
        for (std::size_t i = 0; i < 5; ++i) {
            CHECK(runs[i].result.start == static_cast<std::int64_t>(i) * hours(40));
            CHECK(runs[i + 5].result.start == runs[i].result.start);
        }
        for (const FinishedRun& run : runs) hashes.push_back(run.result.event_hash);
    }
    for (std::size_t i = 0; i < 10; ++i) CHECK(hashes[i] == hashes[i + 10]);
}

}  // namespace ukemi::scenarios
