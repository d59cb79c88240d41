// themis_test.cpp — auctions worked out by hand, and whether nobody is worse off than alone.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using sim::SharingJob;

std::int64_t gpus_at(const sim::ScheduleOutcome& outcome, std::size_t job, Duration since_start) {
    const Instant at = Instant::at(since_start);
    for (const sim::HeldSpan& span : outcome.spans) {
        if (span.job == job && span.begin <= at && at < span.end) return span.held.share.parts;
    }
    return 0;
}

// The largest of all (time it took) / (time alone on its part of the cluster).
double largest_ratio(const std::vector<SharingJob>& jobs, std::int32_t gpus,
                     const sim::ScheduleOutcome& outcome) {
    double largest = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const double part = jobs[i].gpus * static_cast<double>(jobs.size()) / gpus;
        const double fair_s = to_seconds(jobs[i].service) * std::max(1.0, part);
        const double took_s = to_seconds(outcome.jobs[i].completion - jobs[i].arrival);
        largest = std::max(largest, took_s / fair_s);
    }
    return largest;
}

}  // namespace

TEST_CASE("themis: twins who bid for all pay half, and have what is left in halves", "[jobs]") {
    // 1/ρ with k of 4 GPUs is k × 20 s / 40 s. 2 and 2 make the product largest; without the one
    // the other would have 2 instead of 1, so each pays half of its 2 GPUs. Nobody else is there
    // for the 2 that are left.
    const std::vector<SharingJob> jobs = {plain_job({}, 4, whole_seconds(10)),
                                          plain_job({}, 4, whole_seconds(10))};
    const sim::ScheduleOutcome outcome =
        scheduled(jobs, 4, "themis", R"({"lease": "1 s", "fairness": 0})");
    for (const sim::JobOutcome& job : outcome.jobs) {
        CHECK(job.completion == Instant::at(whole_seconds(20)));  // as alone on 2 GPUs
        CHECK(job.starts == 1);  // a lease that is won again moves nobody
    }
}

TEST_CASE("themis: hidden payments go to who did not bid", "[jobs]") {
    // A and B (10 s on 4 GPUs), C (5 s). At 0 all have ρ = 1/3; two of three bid: A and B, who came
    // first. They win 2 each and pay 1 each, which C has. At 1 s C has 4.5 s left and ρ = 5.5/15,
    // A 9.75 s and 10.75/30: C and A bid. 1/ρ is 15k/(k + 18) and 30k/(k + 39); 2 and 2 again.
    // C keeps (60/41)/(120/43) = 0.52 of its 2, A (30/20)/(60/22) = 0.55: a GPU each; B has 2.
    const std::vector<SharingJob> jobs = {plain_job({}, 4, whole_seconds(10)),
                                          plain_job({}, 4, whole_seconds(10)),
                                          plain_job({}, 4, whole_seconds(5))};
    const sim::ScheduleOutcome outcome =
        scheduled(jobs, 4, "themis", R"({"lease": "1 s", "fairness": 0.34})");
    const std::array<std::array<std::int64_t, 3>, 2> expected = {{{1, 1, 2}, {1, 2, 1}}};
    for (std::size_t second = 0; second < expected.size(); ++second) {
        for (std::size_t job = 0; job < jobs.size(); ++job) {
            CAPTURE(second, job);
            const Duration middle = milliseconds(1000 * static_cast<std::int64_t>(second) + 500);
            CHECK(gpus_at(outcome, job, middle) == expected[second][job]);
        }
    }
}

TEST_CASE("themis: who alone bids pays nothing, and keeps its lease to the end", "[jobs]") {
    // A has all 4 GPUs for 5 s; B comes at 1 s and waits for the end of the lease. Then B has
    // waited 4 s of its 3 and A has 5 s left of 10: ρ of B is (4 + 3) / (3 × 2), of A
    // (5 + 5) / (10 × 9/5), the mean number of jobs since it came. B bids alone, and wins all.
    const std::vector<SharingJob> jobs = {plain_job({}, 4, whole_seconds(10)),
                                          plain_job(whole_seconds(1), 4, whole_seconds(3))};
    const sim::ScheduleOutcome outcome =
        scheduled(jobs, 4, "themis", R"({"lease": "5 s", "fairness": 0.8})");
    CHECK(outcome.jobs[1].completion == Instant::at(whole_seconds(8)));
    CHECK(outcome.jobs[0].completion == Instant::at(whole_seconds(13)));
    CHECK(outcome.jobs[0].starts == 2);
}

TEST_CASE("themis: no GPU is idle that somebody asks for", "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/themis");
        std::vector<SharingJob> jobs;
        for (std::int64_t i = random.integer(1, 8); i > 0; --i) {
            jobs.push_back(plain_job({}, static_cast<std::int32_t>(random.integer(1, 8)),
                                     milliseconds(random.integer(100, 9000))));
        }
        const sim::ScheduleOutcome outcome = scheduled(jobs, 8, "themis", R"({"lease": "1 s"})");
        for (const sim::HeldSpan& at : outcome.spans) {
            std::int64_t held = 0;
            std::int64_t asked = 0;
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                held += gpus_at(outcome, i, at.begin.since_start());
                asked += outcome.jobs[i].completion > at.begin ? jobs[i].gpus : 0;
            }
            REQUIRE(held == std::min<std::int64_t>(8, asked));
        }
    }
}

TEST_CASE("themis: the worst off are better off than under others", "[jobs][property]") {
    // The mean of the largest finish-time ratios of 200 workloads; 1: nobody was slower than alone
    // on an equal part.
    const auto mean_of = [](const char* name, const char* parameters) {
        double sum = 0;
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            RandomStream random(seed, "test/themis");
            std::vector<SharingJob> jobs;
            for (int i = 0; i < 8; ++i) {
                jobs.push_back(plain_job({}, static_cast<std::int32_t>(random.integer(1, 8)),
                                         milliseconds(random.integer(1000, 20'000))));
            }
            sum += largest_ratio(jobs, 8, scheduled(jobs, 8, name, parameters));
        }
        return sum / 200;
    };
    const double themis = mean_of("themis", R"({"lease": "500 ms"})");
    CAPTURE(themis);
    CHECK(themis < 1.1);
    CHECK(themis < mean_of("tiresias", R"({"demote_after": "20 s"})"));
    CHECK(themis < mean_of("fifo_skip", "{}"));
    CHECK(themis < mean_of("fifo", "{}"));
}

}  // namespace ukemi
