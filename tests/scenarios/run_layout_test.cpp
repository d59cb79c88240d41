// run_layout_test.cpp — every run is in one group, whatever their number; a market is made once for
// all who need it.
#include "scenarios/experiment/run_layout.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <stdexcept>

#include "base/parallel_for.hpp"
#include "scenarios/experiment/recently_made.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

using namespace scenarios;

ExperimentCase case_of(std::size_t policies, std::size_t seeds) {
    ExperimentCase one;
    one.policies.resize(policies);
    one.seeds.resize(seeds);
    std::iota(one.seeds.begin(), one.seeds.end(), 100);
    return one;
}

std::vector<TraceWindow> windows(std::size_t count) {
    std::vector<TraceWindow> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back({hours(static_cast<std::int64_t>(i)), static_cast<std::int64_t>(i)});
    }
    return all;
}

struct Visited {
    std::size_t groups = 0;
    std::size_t largest = 0;
};

// Every number is visited once, and is what the order of the runs says.
Visited visited(const RunLayout& layout, std::span<const RunLayout::Part> parts) {
    Visited result;
    std::set<std::size_t> numbers;
    for (std::size_t group = 0; group < layout.group_count(); ++group) {
        std::size_t in_group = 0;
        std::set<std::tuple<std::size_t, std::size_t, std::uint64_t>> markets;
        layout.visit(group, [&](const PlannedRun& run) {
            ++in_group;
            REQUIRE(run.group == group);
            REQUIRE(numbers.insert(run.number).second);
            const auto part = std::ranges::find_if(parts, [&](const RunLayout::Part& one) {
                return one.case_number == run.case_number && one.trace == run.trace;
            });
            const auto policy = static_cast<std::size_t>(run.policies - run.of->policies.data());
            const std::size_t seeds = run.of->seeds.size();
            const std::size_t first =
                layout.first_run(static_cast<std::size_t>(part - parts.begin()));
            REQUIRE(run.number ==
                    first + (run.window_number * run.of->policies.size() + policy) * seeds +
                        (run.seed - 100));
            REQUIRE(run.window.start == part->windows[run.window_number].start);
            markets.emplace(run.trace, run.window_number, part->market_of_seed ? run.seed : 0);
            return true;
        });
        REQUIRE(markets.size() == 1);
        ++result.groups;
        result.largest = std::max(result.largest, in_group);
    }
    REQUIRE(numbers.size() == layout.run_count());
    return result;
}

}  // namespace

TEST_CASE("run layout: every run is in one group, and a group has one market", "[experiment]") {
    const ExperimentCase small = case_of(2, 3);
    const ExperimentCase large = case_of(3, 500);
    const std::vector<RunLayout::Part> parts{{&small, 0, 0, false, windows(4)},
                                             {&small, 0, 1, false, windows(1)},
                                             {&large, 1, 0, true, windows(2)},
                                             {&large, 1, 1, false, windows(5)}};
    const RunLayout layout(parts);
    CHECK(layout.run_count() == 2 * 3 * 5 + 3 * 500 * 7);
    const Visited all = visited(layout, parts);
    CHECK(all.largest <= 64);
    CHECK(all.groups >= 1000);  // of a market of each seed, one for each; else some runs together
}

TEST_CASE("run layout: few runs are as many groups as they can be", "[experiment]") {
    const ExperimentCase one = case_of(4, 10);
    const std::vector<RunLayout::Part> parts{{&one, 0, 0, false, windows(1)}};
    const RunLayout layout(parts);
    CHECK(visited(layout, parts).groups == 10);
    std::size_t seen = 0;
    layout.visit(3, [&](const PlannedRun&) { return ++seen < 2; });
    CHECK(seen == 2);  // until it says that it is enough
}

TEST_CASE("recently made: once for all who ask, again when it was forgotten", "[experiment]") {
    RecentlyMade<int, std::string> made(2);
    std::atomic<int> calls = 0;
    const auto get = [&](int key) {
        return *made.get(key, [&] {
            ++calls;
            return std::to_string(key);
        });
    };
    parallel_for(64, 4, [&](std::size_t) { get(7); });
    CHECK(calls == 1);
    CHECK(get(8) == "8");
    CHECK(get(7) == "7");
    CHECK(calls == 2);
    CHECK(get(9) == "9");  // 8 was asked for longest ago
    CHECK(get(7) == "7");
    CHECK(calls == 3);
    CHECK(get(8) == "8");
    CHECK(calls == 4);
    const auto fail = [&] {
        made.get(5, [&]() -> std::string { throw std::runtime_error("no such market"); });
    };
    CHECK_THROWS_AS(fail(), std::runtime_error);
    CHECK(get(5) == "5");  // tried again
}

}  // namespace ukemi
