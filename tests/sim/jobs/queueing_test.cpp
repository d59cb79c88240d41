// queueing_test.cpp — what queueing theory says in closed form, and FIFO against a simulator of ten
// lines. With UKEMI_QUEUE_JOBS=n of n jobs a form and seed, where intervals are the narrower.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "base/rng.hpp"
#include "base/statistics.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using ServiceLaw = double (*)(RandomStream&);  // seconds, mean 1

double exponential_service(RandomStream& random) { return random.exponential(1); }
double constant_service(RandomStream&) { return 1; }
// Two exponential phases with balanced means: squared coefficient of variation 4.
double varied_service(RandomStream& random) {
    const double often = 0.5 * (1 + std::sqrt(3.0 / 5.0));
    return random.chance(often) ? random.exponential(0.5 / often)
                                : random.exponential(0.5 / (1 - often));
}

struct QueueForm {
    const char* system;
    const char* scheduler;
    std::int32_t servers;
    double arrivals_per_s;
    ServiceLaw service;
    double mean_response_s;
    std::size_t jobs = 12'000;  // of a seed
};

// Erlang's C formula, Pollaczek and Khinchine's; the last two are integrals (Schrage and Miller).
constexpr QueueForm queue_forms[] = {
    {"M/M/1", "fifo", 1, 0.5, exponential_service, 2},
    {"M/M/1", "fifo", 1, 0.8, exponential_service, 5},
    {"M/M/1", "fifo", 1, 0.9, exponential_service, 10, 30'000},
    {"M/D/1", "fifo", 1, 0.5, constant_service, 1.5},
    {"M/D/1", "fifo", 1, 0.8, constant_service, 3},
    {"M/G/1", "fifo", 1, 0.5, varied_service, 3.5},
    {"M/G/1", "fifo", 1, 0.8, varied_service, 11, 30'000},
    {"M/M/4", "fifo", 4, 3, exponential_service, 1.509433962264151},
    {"M/M/8", "fifo", 8, 6.4, exponential_service, 1.28602807840126},
    {"M/M/16", "fifo", 16, 14.4, exponential_service, 1.3695896211702436},
    {"M/M/1 processor sharing", "max_min", 1, 0.5, exponential_service, 2},
    {"M/G/1 processor sharing", "max_min", 1, 0.5, varied_service, 2},
    {"M/G/1 processor sharing", "max_min", 1, 0.8, varied_service, 5},
    {"M/D/1 processor sharing", "max_min", 1, 0.8, constant_service, 5},
    {"M/M/1 shortest remaining", "srtf", 1, 0.5, exponential_service, 1.425373},
    {"M/M/1 shortest remaining", "srtf", 1, 0.8, exponential_service, 2.352773},
};

std::vector<sim::SharingJob> random_jobs(const QueueForm& form, std::uint64_t seed,
                                         std::size_t count) {
    RandomStream random(seed, "test/queue");
    std::vector<sim::SharingJob> jobs;
    Duration at;
    for (std::size_t i = 0; i < count; ++i) {
        at += seconds(random.exponential(1 / form.arrivals_per_s));
        jobs.push_back(plain_job(at, 1, std::max(nanoseconds(1), seconds(form.service(random)))));
    }
    return jobs;
}

// Jobs start in their order, each as soon as enough GPUs are free.
std::vector<Instant> fifo_ends(const std::vector<sim::SharingJob>& jobs, std::size_t gpus) {
    std::vector<Instant> free(gpus);
    std::vector<Instant> ends;
    Instant start;
    for (const sim::SharingJob& job : jobs) {
        const auto taken = static_cast<std::size_t>(job.gpus);
        std::ranges::sort(free);
        start = std::max({start, job.arrival, free[taken - 1]});
        ends.push_back(start + job.service);
        std::fill_n(free.begin(), taken, ends.back());
    }
    return ends;
}

}  // namespace

TEST_CASE("queueing: mean response times are those of the closed forms", "[jobs][queueing]") {
    const char* const asked = std::getenv("UKEMI_QUEUE_JOBS");
    constexpr std::size_t warm_up = 2'000;  // that find the system emptier than it is later
    constexpr std::uint64_t seeds = 10;
    for (const QueueForm& form : queue_forms) {
        CAPTURE(form.system, form.arrivals_per_s);
        const std::size_t jobs_each =
            asked == nullptr ? form.jobs : std::max<std::size_t>(form.jobs, std::stoull(asked));
        std::vector<double> means_s;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const auto jobs = random_jobs(form, seed, jobs_each);
            const auto outcome = scheduled(jobs, form.servers, form.scheduler);
            double sum_s = 0;
            for (std::size_t i = warm_up; i < jobs.size(); ++i) {
                sum_s += to_seconds(outcome.jobs[i].completion - jobs[i].arrival);
            }
            means_s.push_back(sum_s / static_cast<double>(jobs_each - warm_up));
        }
        const Summary mean = summarise(means_s);
        CAPTURE(mean.mean, form.mean_response_s);
        // Twice the interval of 95 %: a true mean is outside of it once in a thousand times.
        const double margin = mean.mean_high_95 - mean.mean_low_95;
        CHECK(std::abs(mean.mean - form.mean_response_s) < margin);
        CHECK(margin < 0.2 * form.mean_response_s);  // so that the check says something
    }
}

TEST_CASE("queueing: FIFO of gangs equals a simulator of ten lines to the nanosecond",
          "[jobs][queueing]") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/fifo");
        const auto gpus = static_cast<std::int32_t>(random.integer(1, 16));
        std::vector<sim::SharingJob> jobs;
        Duration at;
        for (int i = 0; i < 300; ++i) {
            if (!random.chance(0.2)) at += seconds(random.exponential(3));
            jobs.push_back(plain_job(at, static_cast<std::int32_t>(random.integer(1, gpus)),
                                     nanoseconds(random.integer(1, 8'000'000'000))));
        }
        const auto outcome = scheduled(jobs, gpus, "fifo");
        const auto ends = fifo_ends(jobs, static_cast<std::size_t>(gpus));
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            CAPTURE(i);
            REQUIRE(outcome.jobs[i].completion == ends[i]);
        }
    }
}

}  // namespace ukemi
