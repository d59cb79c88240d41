// assignment_test.cpp — matchings beside all there are, and AlloX beside every order of jobs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

#include "base/rng.hpp"
#include "schedulers/assignment.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using sim::SharingJob;

// The least sum of completion times of jobs that all are there at first: each on one of the GPUs,
// in any order.
std::int64_t least_sum_ms(const std::vector<std::vector<std::int64_t>>& times_ms) {
    std::vector<std::size_t> order(times_ms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t gpus = times_ms.front().size();
    std::size_t places = 1;
    for (std::size_t i = 0; i < order.size(); ++i) places *= gpus;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    do {
        for (std::size_t code = 0; code < places; ++code) {
            std::vector<std::int64_t> end(gpus, 0);
            std::int64_t sum = 0;
            std::size_t rest = code;
            for (const std::size_t job : order) {
                const std::size_t gpu = rest % gpus;
                rest /= gpus;
                end[gpu] += times_ms[job][gpu];
                sum += end[gpu];
            }
            best = std::min(best, sum);
        }
    } while (std::ranges::next_permutation(order).found);
    return best;
}

}  // namespace

TEST_CASE("assignment: none is cheaper among all that there are", "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/assignment");
        const auto rows = static_cast<std::size_t>(random.integer(1, 5));
        const auto columns = rows + static_cast<std::size_t>(random.integer(0, 2));
        std::vector<std::int64_t> costs(rows * columns);
        for (std::int64_t& cost : costs) cost = random.integer(-20, 100);
        const auto cost = [&](std::size_t row, std::size_t column) {
            return costs[row * columns + column];
        };
        const auto chosen = schedulers::cheapest_assignment(rows, columns, cost);
        std::int64_t sum = 0;
        for (std::size_t row = 0; row < rows; ++row) sum += cost(row, chosen[row]);
        std::vector<std::size_t> order(columns);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        do {
            std::int64_t other = 0;
            for (std::size_t row = 0; row < rows; ++row) other += cost(row, order[row]);
            least = std::min(least, other);
        } while (std::ranges::next_permutation(order).found);
        CHECK(sum == least);
        std::vector<std::size_t> once = chosen;
        std::ranges::sort(once);
        CHECK(std::ranges::adjacent_find(once) == once.end());
    }
}

TEST_CASE("allox: two jobs on two types, by hand", "[jobs]") {
    // On type a both take 4 s, on type b x takes 6 s and y 20 s. y first on a and x on b: 4 + 6 s;
    // x first on a and y behind it: 4 + 8 s; in order of arrival with the faster GPU first: x on a,
    // y on b, 4 + 20 s.
    sim::SharedCluster cluster;
    cluster.groups = {{"a", 1, 1}, {"b", 1, 1}};
    std::vector<SharingJob> jobs = {plain_job({}, 1, whole_seconds(12)),
                                    plain_job({}, 1, whole_seconds(20))};
    jobs[0].speed_of_group = {3'000'000, 2'000'000};
    jobs[1].speed_of_group = {5'000'000, 1'000'000};
    const auto scheduler = scheduler_named("allox");
    const sim::ScheduleOutcome outcome = sim::run_schedule({cluster, {}, jobs}, *scheduler);
    CHECK(outcome.jobs[0].completion == Instant::at(whole_seconds(6)));
    CHECK(outcome.jobs[1].completion == Instant::at(whole_seconds(4)));
}

TEST_CASE("allox: jobs that are all there at first have the least mean of all orders",
          "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/allox");
        const auto count = static_cast<std::size_t>(random.integer(1, 5));
        const auto of_a = static_cast<std::int32_t>(random.integer(1, 2));
        sim::SharedCluster cluster;
        cluster.groups = {{"a", 1, of_a}, {"b", 1, 1}};
        std::vector<SharingJob> jobs;
        std::vector<std::vector<std::int64_t>> times_ms;
        for (std::size_t i = 0; i < count; ++i) {
            // Speeds that divide the work: all times are whole.
            const std::int64_t work = 12 * random.integer(1, 400);
            const std::int64_t on_a = random.integer(1, 4);
            const std::int64_t on_b = random.integer(1, 4);
            jobs.push_back(plain_job({}, 1, milliseconds(work)));
            jobs.back().speed_of_group = {on_a * 1'000'000, on_b * 1'000'000};
            times_ms.emplace_back(static_cast<std::size_t>(of_a), work / on_a);
            times_ms.back().push_back(work / on_b);
        }
        const auto scheduler = scheduler_named("allox");
        const sim::ScheduleOutcome outcome = sim::run_schedule({cluster, {}, jobs}, *scheduler);
        std::int64_t sum_ms = 0;
        for (const sim::JobOutcome& job : outcome.jobs) sum_ms += job.completion.raw() / 1'000'000;
        CHECK(sum_ms == least_sum_ms(times_ms));
    }
}

}  // namespace ukemi
