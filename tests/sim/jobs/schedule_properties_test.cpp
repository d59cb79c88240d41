// schedule_properties_test.cpp — what holds for every scheduler on every workload.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/rng.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using sim::HeldSpan;
using sim::SharingJob;

struct RandomWorkload {
    sim::SharedCluster cluster;
    std::vector<SharingJob> jobs;
};

RandomWorkload random_workload(std::uint64_t seed, bool with_deadlines = false) {
    RandomStream random(seed, "test/workload");
    RandomWorkload workload;
    sim::MachineGroup& group = workload.cluster.groups.front();
    group.machines = static_cast<std::int32_t>(random.integer(1, 4));
    group.gpus_per_machine = static_cast<std::int32_t>(random.integer(1, 4));
    Duration at;
    const std::int64_t count = random.integer(1, 20);
    for (std::int64_t i = 0; i < count; ++i) {
        if (!random.chance(0.3)) at += milliseconds(random.integer(0, 4000));
        const auto gpus = static_cast<std::int32_t>(random.integer(1, workload.cluster.gpus()));
        SharingJob& job =
            workload.jobs.emplace_back(plain_job(at, gpus, milliseconds(random.integer(1, 9000))));
        if (!with_deadlines) continue;
        job.deadline = job.arrival + milliseconds(random.integer(1000, 30'000));
        job.speeds = {0};
        for (std::int32_t k = 1; k <= gpus; ++k) {
            job.speeds.push_back(job.speeds.back() + random.integer(200'000, 1'000'000));
        }
    }
    return workload;
}

sim::ScheduleOutcome outcome_of(const RandomWorkload& workload, std::string_view name,
                                std::string_view parameters, Duration round = {}) {
    const auto scheduler = scheduler_named(name, parameters);
    return sim::run_schedule({workload.cluster, round, workload.jobs}, *scheduler);
}

double gpus_of(const HeldSpan& span) {
    return static_cast<double>(span.held.share.parts) / static_cast<double>(span.held.share.of);
}

// At the beginning of every span, where the sum may have grown.
void check_capacity(const RandomWorkload& workload, const sim::ScheduleOutcome& outcome) {
    for (const HeldSpan& first : outcome.spans) {
        double all = 0;
        std::map<std::int32_t, std::int32_t> on_machine;
        for (const HeldSpan& span : outcome.spans) {
            if (span.begin > first.begin || span.end <= first.begin) continue;
            all += gpus_of(span);
            for (const auto& [machine, gpus] : span.held.machines) on_machine[machine] += gpus;
        }
        REQUIRE(all <= workload.cluster.gpus() + 1e-9);
        for (const auto& [machine, gpus] : on_machine) {
            REQUIRE(machine < workload.cluster.machines());
            REQUIRE(gpus <= workload.cluster.groups.front().gpus_per_machine);
        }
    }
}

// What a job had is what it needed, if its speed is its share of what it asked for.
void check_work(const RandomWorkload& workload, const sim::ScheduleOutcome& outcome) {
    std::vector<double> done_s(workload.jobs.size());
    std::vector<Instant> last(workload.jobs.size());
    for (const HeldSpan& span : outcome.spans) {
        const SharingJob& job = workload.jobs[span.job];
        REQUIRE(span.begin >= std::max(job.arrival, last[span.job]));
        REQUIRE(span.end >= span.begin);
        last[span.job] = span.end;
        done_s[span.job] += to_seconds(span.end - span.begin) * gpus_of(span) / job.gpus;
    }
    for (std::size_t i = 0; i < done_s.size(); ++i) {
        REQUIRE(!outcome.jobs[i].refused());
        REQUIRE(outcome.jobs[i].completion == last[i]);
        REQUIRE(std::abs(done_s[i] - to_seconds(workload.jobs[i].service)) < 1e-6);
    }
}

constexpr std::pair<const char*, const char*> with_known_service[] = {
    {"fifo", "{}"},
    {"fifo_skip", "{}"},
    {"srtf", "{}"},
    {"tiresias", R"({"demote_after": "6 s"})"},
    {"optimus", "{}"},
    {"max_min", "{}"},
    {"finish_time_fairness", R"({"round": "700 ms"})"},
    {"themis", R"({"lease": "700 ms"})"},
    {"pollux", R"({"round": "700 ms"})"},
    {"sia", R"({"round": "700 ms"})"},
    {"gavel_max_sum", R"({"round": "700 ms"})"},
    {"gavel_max_min", R"({"round": "700 ms"})"},
    {"gavel_finish_time", R"({"round": "700 ms"})"},
    {"gavel_makespan", R"({"round": "700 ms"})"},
    {"spot_shares", "{}"}};

}  // namespace

TEST_CASE("schedulers: GPUs are never given twice, and every job gets its work",
          "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const RandomWorkload workload = random_workload(seed);
        for (const auto& [name, parameters] : with_known_service) {
            CAPTURE(seed, name);
            const sim::ScheduleOutcome outcome = outcome_of(workload, name, parameters);
            check_capacity(workload, outcome);
            check_work(workload, outcome);
        }
    }
}

TEST_CASE("schedulers: with rounds, jobs start at their ends alone", "[jobs][property]") {
    constexpr Duration round = milliseconds(500);
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const RandomWorkload workload = random_workload(seed);
        for (const auto& [name, parameters] : with_known_service) {
            if (std::string_view(parameters).find("round") != std::string_view::npos) continue;
            CAPTURE(seed, name);
            const sim::ScheduleOutcome outcome = outcome_of(workload, name, parameters, round);
            check_capacity(workload, outcome);
            check_work(workload, outcome);
            for (const HeldSpan& span : outcome.spans) {
                REQUIRE(span.begin.raw() % round.raw() == 0);
                REQUIRE(span.begin >= Instant::at(round));
            }
        }
    }
}

TEST_CASE("schedulers: the most live jobs at once are counted", "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        const RandomWorkload workload = random_workload(seed);
        const sim::ScheduleOutcome outcome = outcome_of(workload, "fifo", "{}");
        std::size_t most = 0;  // once those that arrive at an instant have come
        for (const SharingJob& at : workload.jobs) {
            std::size_t live = 0;
            for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
                const bool has_come = workload.jobs[i].arrival <= at.arrival;
                live += has_come && outcome.jobs[i].completion > at.arrival ? 1U : 0U;
            }
            most = std::max(most, live);
        }
        CHECK(outcome.live_most == most);
    }
}

TEST_CASE("max_min: nobody is slower than alone on an equal part of the cluster",
          "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        CAPTURE(seed);
        const RandomWorkload workload = random_workload(seed);
        const sim::ScheduleOutcome outcome = outcome_of(workload, "max_min", "{}");
        for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
            const SharingJob& job = workload.jobs[i];
            const double part =
                job.gpus * static_cast<double>(workload.jobs.size()) / workload.cluster.gpus();
            const double fair_s = to_seconds(job.service) * std::max(1.0, part);
            REQUIRE(to_seconds(outcome.jobs[i].completion - job.arrival) <= fair_s + 1e-6);
        }
    }
}

TEST_CASE("max_min: nobody has less than the part that his priority is of all",
          "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        CAPTURE(seed);
        RandomWorkload workload = random_workload(seed);
        RandomStream random(seed, "test/weights");
        std::int64_t weights = 0;
        for (SharingJob& job : workload.jobs) weights += job.priority = random.integer(1, 5);
        const sim::ScheduleOutcome outcome = outcome_of(workload, "max_min", "{}");
        for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
            const SharingJob& job = workload.jobs[i];
            const double part = static_cast<double>(job.gpus * weights) /
                                static_cast<double>(workload.cluster.gpus() * job.priority);
            const double fair_s = to_seconds(job.service) * std::max(1.0, part);
            REQUIRE(to_seconds(outcome.jobs[i].completion - job.arrival) <= fair_s + 1e-6);
        }
    }
}

// Whose time on an equal part of the cluster is at most T are all done by the largest ratio of
// completion time to it, times T: their work together cannot be done sooner, nor anybody's alone.
TEST_CASE("schedulers: no largest finish-time ratio is below what work and GPUs allow",
          "[jobs][property]") {
    constexpr std::pair<const char*, const char*> fair[] = {
        {"fifo", "{}"},
        {"srtf", "{}"},
        {"max_min", "{}"},
        {"finish_time_fairness", R"({"round": "700 ms"})"}};
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        RandomWorkload workload = random_workload(seed);
        const double gpus = workload.cluster.gpus();
        std::vector<std::pair<double, double>> jobs;  // time on an equal part, work
        double least = 0;
        for (SharingJob& job : workload.jobs) {
            job.arrival = {};
            const double service_s = to_seconds(job.service);
            const double part = job.gpus * static_cast<double>(workload.jobs.size()) / gpus;
            jobs.emplace_back(service_s * std::max(1.0, part), service_s * job.gpus);
            least = std::max(least, service_s / jobs.back().first);
        }
        std::vector<std::pair<double, double>> by_time = jobs;
        std::ranges::sort(by_time);
        double work = 0;
        for (const auto& [equal_s, own] : by_time) {
            least = std::max(least, (work += own) / (gpus * equal_s));
        }
        for (const auto& [name, parameters] : fair) {
            CAPTURE(seed, name);
            const sim::ScheduleOutcome outcome = outcome_of(workload, name, parameters);
            double largest = 0;
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                const double time_s = to_seconds(outcome.jobs[i].completion.since_start());
                largest = std::max(largest, time_s / jobs[i].first);
            }
            REQUIRE(largest >= least - 1e-6);
            // With an equal part of the cluster each job is in time.
            if (std::string_view(name) == "max_min") REQUIRE(largest <= 1 + 1e-6);
        }
    }
}

TEST_CASE("max_min: who has less than another has all it asked for", "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        CAPTURE(seed);
        const RandomWorkload workload = random_workload(seed);
        const sim::ScheduleOutcome outcome = outcome_of(workload, "max_min", "{}");
        for (const HeldSpan& one : outcome.spans) {
            for (const HeldSpan& other : outcome.spans) {
                const bool together =
                    std::max(one.begin, other.begin) < std::min(one.end, other.end);
                if (!together || gpus_of(one) >= gpus_of(other) - 1e-12) continue;
                REQUIRE(gpus_of(one) == Approx(workload.jobs[one.job].gpus));
            }
        }
    }
}

TEST_CASE("fifo: no job starts before one that came earlier", "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        const RandomWorkload workload = random_workload(seed);
        std::vector<Instant> starts(workload.jobs.size());
        for (const HeldSpan& span : outcome_of(workload, "fifo", "{}").spans) {
            starts[span.job] = span.begin;
        }
        REQUIRE(std::ranges::is_sorted(starts));
    }
}

TEST_CASE("srtf: on one GPU no other scheduler has a smaller mean", "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        RandomWorkload workload = random_workload(seed);
        workload.cluster = {1, 1};
        for (SharingJob& job : workload.jobs) job.gpus = 1;
        const auto sum_s = [&](const char* name, const char* parameters) {
            double sum = 0;
            const sim::ScheduleOutcome outcome = outcome_of(workload, name, parameters);
            for (const sim::JobOutcome& one : outcome.jobs) {
                sum += to_seconds(one.completion.since_start());
            }
            return sum;
        };
        const double least_s = sum_s("srtf", "{}");
        for (const auto& [name, parameters] : with_known_service) {
            CAPTURE(seed, name);
            REQUIRE(sum_s(name, parameters) >= least_s - 1e-6);
        }
    }
}

TEST_CASE("elasticflow: who is admitted is in time, who is refused never runs",
          "[jobs][property]") {
    std::size_t refused = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        const RandomWorkload workload = random_workload(seed, true);
        const auto outcome = outcome_of(workload, "elasticflow", R"({"slot": "250 ms"})");
        check_capacity(workload, outcome);
        for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
            refused += outcome.jobs[i].refused() ? 1 : 0;
            if (outcome.jobs[i].refused()) continue;
            REQUIRE(outcome.jobs[i].completion <= workload.jobs[i].deadline);
        }
        for (const HeldSpan& span : outcome.spans) REQUIRE(!outcome.jobs[span.job].refused());
    }
    CHECK(refused > 0);
}

TEST_CASE("restarts: each start holds GPUs for that long before it works", "[jobs]") {
    // A has 4 GPUs for 10 s; B, of 1 s on 1 GPU, comes at 1 s and stops it under srtf. With 2 s a
    // start: A works from 2 s on, B from 3 to 4 s; at 1 s A had done nothing. A starts again at 4 s
    // and works from 6 to 16 s.
    std::vector<SharingJob> jobs = {plain_job({}, 4, whole_seconds(10)),
                                    plain_job(whole_seconds(1), 1, whole_seconds(1))};
    for (SharingJob& job : jobs) job.restart = whole_seconds(2);
    const sim::ScheduleOutcome outcome = scheduled(jobs, 4, "srtf");
    CHECK(outcome.jobs[1].completion == Instant::at(whole_seconds(4)));
    CHECK(outcome.jobs[0].completion == Instant::at(whole_seconds(16)));
    CHECK(outcome.jobs[0].starts == 2);
    CHECK(outcome.jobs[1].starts == 1);
}

}  // namespace ukemi
