// genetic_search_test.cpp — bred allocations beside all that there are, and what none may break.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "base/rng.hpp"
#include "schedulers/genetic_search.hpp"

namespace ukemi {

namespace {

using schedulers::GpuGrid;
using schedulers::SearchedJob;

struct Case {
    std::int32_t machines = 2;
    std::int32_t each = 2;
    std::vector<SearchedJob> jobs;
    GpuGrid present;
};

Case random_case(std::uint64_t seed, std::int32_t machines, std::int32_t each, int jobs) {
    RandomStream random(seed, "test/genetic");
    Case one{machines, each, {}, GpuGrid(static_cast<std::size_t>(jobs * machines), 0)};
    for (int i = 0; i < jobs; ++i) {
        const double power = 0.5 + random.uniform() / 2;
        const double apart = 0.6 + 0.4 * random.uniform();
        one.jobs.push_back({static_cast<schedulers::JobId>(i),
                            static_cast<std::int32_t>(random.integer(1, machines * each)),
                            0.5 + random.uniform() / 2, [=](std::int32_t on, std::int32_t gpus) {
                                return std::pow(gpus, power) * std::pow(apart, on - 1);
                            }});
    }
    return one;
}

// The sum that the harmonic mean of speedups is made from, or nothing if it breaks a rule.
std::optional<double> worth(const Case& one, const GpuGrid& gpus) {
    const auto machines = static_cast<std::size_t>(one.machines);
    std::vector<std::int32_t> used(machines);
    std::vector<int> spanning(machines);
    double reciprocals = 0;
    for (std::size_t job = 0; job < one.jobs.size(); ++job) {
        const auto row = gpus.begin() + static_cast<std::ptrdiff_t>(job * machines);
        const auto on = static_cast<std::int32_t>(
            std::count_if(row, row + one.machines, [](auto some) { return some > 0; }));
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < machines; ++i) {
            const std::int32_t some = gpus[job * machines + i];
            sum += some;
            used[i] += some;
            spanning[i] += some > 0 && on > 1 ? 1 : 0;
        }
        if (sum > one.jobs[job].gpus_most) return std::nullopt;
        const bool changes =
            !std::equal(row, row + one.machines, one.present.begin() + (row - gpus.begin()));
        const double speedup = sum > 0 ? one.jobs[job].speedup(on, sum) : 0;
        reciprocals +=
            1 / (speedup / one.each * (changes ? one.jobs[job].left_by_change : 1) + 1e-3);
    }
    if (std::ranges::max(used) > one.each || std::ranges::max(spanning) > 1) return std::nullopt;
    return 1 / reciprocals;
}

double best_of_all(const Case& one) {
    GpuGrid gpus(one.present.size(), 0);
    double best = 0;
    for (std::size_t at = 0; at < gpus.size();) {
        best = std::max(best, worth(one, gpus).value_or(0));
        for (at = 0; at < gpus.size() && ++gpus[at] > one.each; ++at) gpus[at] = 0;
    }
    return best;
}

GpuGrid bred(const Case& one, std::int64_t seed) {
    schedulers::GeneticSearch search({seed, 100, 100}, one.machines, one.each);
    return search.best(one.jobs, one.present);
}

}  // namespace

TEST_CASE("genetic search: finds the best of all allocations of small clusters",
          "[jobs][property]") {
    int best = 0;
    constexpr int cases = 20;
    for (std::uint64_t seed = 1; seed <= cases; ++seed) {
        CAPTURE(seed);
        const Case one = random_case(seed, 3, 2, 3);
        const std::optional<double> found = worth(one, bred(one, 1));
        REQUIRE(found);
        const double most = best_of_all(one);
        CHECK(*found >= 0.95 * most);
        best += *found >= most * (1 - 1e-12) ? 1 : 0;
    }
    CHECK(best >= cases - 2);
}

TEST_CASE("genetic search: no rule is broken on a large cluster, and a seed repeats itself",
          "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        const Case one = random_case(seed, 16, 4, 20);
        const GpuGrid first = bred(one, 1);
        CHECK(worth(one, first));
        CHECK(first == bred(one, 1));
        CHECK(first != bred(one, 2));
    }
}

}  // namespace ukemi
