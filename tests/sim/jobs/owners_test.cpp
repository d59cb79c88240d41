// owners_test.cpp — whose jobs are: priorities that schedulers weigh, and budgets at which jobs are
// stopped, by hand and on random markets.
#include <algorithm>
#include <catch2/catch.hpp>
#include <type_traits>

#include "analysis/scheduled_runs.hpp"
#include "base/rng.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using sim::SharingJob;

constexpr Price cent_a_second = Price::of(36'000'000'000);

SharingJob with_priority(SharingJob job, std::int64_t priority) {
    job.priority = priority;
    return job;
}
SharingJob with_budget(SharingJob job, double usd) {
    job.budget = dollars(usd);
    return job;
}

sim::SharedCluster priced(std::int32_t machines, std::int32_t gpus_per_machine,
                          std::vector<traces::Step<Price>> prices) {
    sim::SharedCluster cluster(machines, gpus_per_machine);
    sim::GroupMarket market;
    const Instant end = prices.back().at + hours(1);
    market.price = {std::move(prices), end};
    market.paid_in_use = true;
    cluster.markets = {market};
    return cluster;
}

sim::ScheduleOutcome run_on(const sim::SharedCluster& cluster, const std::vector<SharingJob>& jobs,
                            std::string_view name, Duration round = {}) {
    const auto scheduler = scheduler_named(name);
    return sim::run_schedule({cluster, round, jobs}, *scheduler);
}

double completion_s(const sim::ScheduleOutcome& outcome, std::size_t job) {
    return to_seconds(outcome.jobs[job].completion.since_start());
}

}  // namespace

TEST_CASE("owners: what became of a job is kept once, and stays with its run", "[jobs]") {
    static_assert(!std::is_copy_constructible_v<analysis::ScheduledRun>);
    std::vector<scenarios::ScheduleScenario> variants;
    variants.push_back(scenarios::schedule_scenario_from_text(R"({"name": "two",
        "cluster": {"gpus_per_machine": 1},
        "jobs": [{"name": "a", "service": "20 s"}, {"name": "b", "service": "10 s"}],
        "schedulers": [{"name": "fifo"}, {"name": "srtf"}]})",
                                                              "two.json"));
    const std::vector<analysis::ScheduledRun> runs = analysis::run_schedules(variants);
    REQUIRE(runs.size() == 2);
    for (const analysis::ScheduledRun& run : runs) {
        REQUIRE(run.jobs.size() == 2);
        for (std::size_t i = 0; i < run.jobs.size(); ++i) {
            CHECK(run.jobs[i].outcome == &run.outcome.jobs[i]);
        }
    }
    CHECK(runs[0].jobs[0].outcome->completion == Instant::at(whole_seconds(20)));
    CHECK(runs[1].jobs[0].outcome->completion == Instant::at(whole_seconds(30)));
}

TEST_CASE("priorities: max_min shares by weight what small jobs leave, by hand", "[jobs]") {
    // Of 8 GPUs c has the one it asks for, and 7 are shared 3 to 1: a does 5.25 / 8 of a second's
    // work in one. When c is done at 100 s it has 6 and b 2: 34.375 s of a's work are left, which
    // take 45.83 s; then b has all, and did a third of its 100 s.
    const std::vector<SharingJob> jobs = {with_priority(plain_job({}, 8, whole_seconds(100)), 3),
                                          plain_job({}, 8, whole_seconds(100)),
                                          plain_job({}, 1, whole_seconds(100))};
    const sim::ScheduleOutcome outcome = scheduled(jobs, 8, "max_min");
    CHECK(completion_s(outcome, 2) == Approx(100));
    CHECK(completion_s(outcome, 0) == Approx(100 + 34.375 / 0.75));
    CHECK(completion_s(outcome, 1) == Approx(100 + 34.375 / 0.75 + 200.0 / 3));
}

TEST_CASE("priorities: multiplied by one number they change nothing", "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/priorities");
        std::vector<SharingJob> jobs;
        Duration arrival;
        for (std::int64_t i = random.integer(1, 12); i > 0; --i) {
            arrival += milliseconds(random.integer(0, 3000));
            jobs.push_back(plain_job(arrival, static_cast<std::int32_t>(random.integer(1, 6)),
                                     milliseconds(random.integer(1, 9000))));
            jobs.back().priority = random.integer(1, 4);
        }
        const auto times = [&](const char* name, std::int64_t factor) {
            std::vector<SharingJob> scaled = jobs;
            for (SharingJob& job : scaled) job.priority *= factor;
            std::vector<Instant> all;
            const sim::ScheduleOutcome outcome = scheduled(scaled, 6, name);
            for (const auto& job : outcome.jobs) all.push_back(job.completion);
            return all;
        };
        for (const char* name : {"max_min", "fifo", "fifo_skip"}) {
            CAPTURE(name);
            REQUIRE(times(name, 7) == times(name, 1));
        }
    }
}

TEST_CASE("priorities: who waits longest goes first only among equals", "[jobs]") {
    std::vector<SharingJob> jobs;
    for (const std::int64_t priority : {1, 1, 5, 5, 2}) {
        const auto number = static_cast<std::int64_t>(jobs.size());
        jobs.push_back(
            with_priority(plain_job(whole_seconds(number), 1, whole_seconds(10)), priority));
    }
    for (const char* name : {"fifo", "fifo_skip"}) {
        CAPTURE(name);
        const sim::ScheduleOutcome outcome = scheduled(jobs, 1, name);
        CHECK(completion_s(outcome, 0) == 10);  // nobody is paused for another
        CHECK(completion_s(outcome, 2) == 20);
        CHECK(completion_s(outcome, 3) == 30);
        CHECK(completion_s(outcome, 4) == 40);
        CHECK(completion_s(outcome, 1) == 50);
    }
}

TEST_CASE("priorities: Gavel's max-min gives time by weight", "[jobs]") {
    const auto first_end_h = [](std::int64_t priority) {
        const std::vector<SharingJob> jobs = {with_priority(plain_job({}, 1, hours(10)), priority),
                                              plain_job({}, 1, hours(10))};
        const sim::ScheduleOutcome outcome = scheduled(jobs, 1, "gavel_max_min");
        CHECK(completion_s(outcome, 1) / 3600 == Approx(20).margin(0.2));
        return completion_s(outcome, 0) / 3600;
    };
    CHECK(first_end_h(1) == Approx(20).margin(0.2));
    CHECK(first_end_h(3) == Approx(10 / 0.75).margin(0.2));  // three quarters of the time
    CHECK(first_end_h(9) == Approx(10 / 0.9).margin(0.2));
}

TEST_CASE("budgets: a job is stopped when its part of the bill is its budget, by hand", "[jobs]") {
    // A cent a second: 50 s, then the next job has the machine.
    const std::vector<SharingJob> jobs = {with_budget(plain_job({}, 1, whole_seconds(100)), 0.5),
                                          plain_job({}, 1, whole_seconds(30))};
    const sim::SharedCluster one = priced(1, 1, {{Instant{}, cent_a_second}});
    const sim::ScheduleOutcome outcome = run_on(one, jobs, "fifo");
    CHECK(outcome.jobs[0].out_of_budget);
    CHECK(!outcome.jobs[0].is_complete());
    CHECK(!outcome.jobs[0].refused());
    CHECK(outcome.jobs[0].cost == dollars(0.5));
    CHECK(outcome.jobs[0].gpu_s == 50);
    CHECK(completion_s(outcome, 1) == 80);
    CHECK(!outcome.jobs[1].out_of_budget);
    // Of a machine of four GPUs it pays for those that it has.
    const sim::SharedCluster four = priced(1, 4, {{Instant{}, cent_a_second}});
    CHECK(run_on(four, {with_budget(plain_job({}, 2, whole_seconds(1000)), 0.5)}, "fifo")
              .jobs[0]
              .gpu_s == 200);
    // The price doubles at 20 s: 20 cents are spent then, and 30 last 15 s.
    const sim::SharedCluster dearer = priced(
        1, 1, {{Instant{}, cent_a_second}, {Instant::at(whole_seconds(20)), 2 * cent_a_second}});
    CHECK(run_on(dearer, jobs, "fifo").jobs[0].gpu_s == 35);
    // What is done in time is done, also at that very moment.
    CHECK(completion_s(run_on(one, {with_budget(plain_job({}, 1, whole_seconds(50)), 0.5)}, "fifo"),
                       0) == 50);
}

TEST_CASE("budgets: also within a round", "[jobs]") {
    const sim::SharedCluster one = priced(1, 1, {{Instant{}, cent_a_second}});
    const std::vector<SharingJob> jobs = {with_budget(plain_job({}, 1, whole_seconds(100)), 0.5),
                                          with_budget(plain_job({}, 1, whole_seconds(40)), 0.5)};
    const sim::ScheduleOutcome outcome = run_on(one, jobs, "fifo", minutes(1));
    // The first decision is at the end of the first round; the GPU is idle from 110 to 120 s.
    CHECK(outcome.jobs[0].out_of_budget);
    CHECK(outcome.jobs[0].gpu_s == 50);
    CHECK(outcome.jobs[0].cost == dollars(0.5));
    CHECK(completion_s(outcome, 1) == 160);
    CHECK(outcome.jobs[1].cost == dollars(0.4));
    // Who is stopped gives the machine back then; that a job was done is seen at the round's end.
    CHECK(outcome.unused_cost == dollars(0.2));
    CHECK(outcome.fleet_cost == dollars(1.1));
}

TEST_CASE("budgets: spot_shares refuses at once whom his own does not cover", "[jobs]") {
    const sim::SharedCluster one = priced(1, 1, {{Instant{}, cent_a_second}});
    const auto outcome_with = [&](double usd) {
        return run_on(one, {with_budget(plain_job({}, 1, whole_seconds(100)), usd)}, "spot_shares")
            .jobs[0];
    };
    CHECK(outcome_with(1.05).refused());  // a dollar and a tenth: `allowance`
    CHECK(outcome_with(1.05).cost == Dollars{});
    CHECK(outcome_with(1.2).is_complete());
}

TEST_CASE("workloads of Gavel: weights are priorities, and an SLO is a deadline", "[jobs]") {
    const ScratchFolder scratch;
    scratch.file("rates.json", R"json({"v100": {"('A3C', 1)": {"null": 4.0}},
                                       "k80": {"('A3C', 1)": {"null": 1.0}}})json");
    scratch.file("weighed.trace",
                 "A3C\tpython3 main.py\trl\t--steps\t0\t400\t1\t1\t-1.000000\t0\n"
                 "A3C\tpython3 main.py\trl\t--steps\t0\t400\t1\t5\t1.500000\t20\n");
    const auto read = scenarios::schedule_scenario_from_text(
        R"({"name": "gavel", "cluster": [{"gpu_type": "v100", "gpus_per_machine": 1},
                                         {"gpu_type": "k80", "gpus_per_machine": 1}],
            "jobs": {"workload": "weighed.trace", "steps_per_s": "rates.json"},
            "schedulers": [{"name": "gavel_max_min"}]})",
        scratch.path() / "gavel.json");
    REQUIRE(read.jobs.size() == 2);
    CHECK(read.jobs[0].priority == 1);
    CHECK(read.jobs[0].deadline == Instant::never());
    CHECK(read.jobs[1].priority == 5);
    // 400 steps take 100 s on the first type: one and a half of that after 20 s.
    CHECK(read.jobs[1].deadline == Instant::at(whole_seconds(20 + 150)));
}

namespace {

struct RandomWorld {
    sim::SharedCluster cluster;
    std::vector<SharingJob> jobs;
};

RandomWorld world_of(std::uint64_t seed) {
    RandomStream random(seed, "test/owners");
    const auto machines = static_cast<std::int32_t>(random.integer(1, 5));
    RandomWorld world;
    std::vector<traces::Step<std::int32_t>> capacity = {{Instant{}, machines}};
    std::vector<traces::Step<Price>> prices = {{Instant{}, cent_a_second}};
    Duration at;
    for (int i = 0; i < 10; ++i) {
        at += milliseconds(random.integer(1, 3000));
        capacity.push_back(
            {Instant::at(at), static_cast<std::int32_t>(random.integer(0, machines))});
        prices.push_back({Instant::at(at), Price::of(random.integer(1, 100'000'000'000))});
    }
    capacity.push_back({Instant::at(at + whole_seconds(1)), machines});
    world.cluster =
        priced(machines, static_cast<std::int32_t>(random.integer(1, 3)), std::move(prices));
    world.cluster.seed = seed;
    sim::GroupMarket& market = world.cluster.markets.front();
    market.paid_in_use = random.chance(0.5);
    market.notice = milliseconds(random.integer(0, 500));
    market.launchable = sim::announced({std::move(capacity), Instant::at(at + whole_seconds(2))},
                                       market.notice, sim::AfterLastRow::hold);
    Duration arrival;
    for (std::int64_t i = random.integer(1, 8); i > 0; --i) {
        arrival += milliseconds(random.integer(0, 3000));
        world.jobs.push_back(
            plain_job(arrival, static_cast<std::int32_t>(random.integer(1, world.cluster.gpus())),
                      milliseconds(random.integer(1, 9000))));
        world.jobs.back().restart = milliseconds(random.integer(0, 300));
        world.jobs.back().saves = {milliseconds(random.integer(100, 2000)), {}, {}};
        world.jobs.back().priority = random.integer(1, 3);
    }
    return world;
}

Dollars sum_of_costs(const sim::ScheduleOutcome& outcome) {
    Dollars sum = outcome.unused_cost;
    for (const sim::JobOutcome& job : outcome.jobs) sum += job.cost;
    return sum;
}

}  // namespace

TEST_CASE("budgets: no job costs more, on random markets and with rounds", "[jobs][property]") {
    std::int64_t stopped = 0;
    std::int64_t complete = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        RandomWorld world = world_of(seed);
        RandomStream random(seed, "test/owners/budgets");
        for (SharingJob& job : world.jobs) {
            if (random.chance(0.7)) job.budget = nano_dollars(random.integer(1000, 200'000'000));
        }
        const Duration round = random.chance(0.3) ? milliseconds(700) : Duration{};
        for (const char* name :
             {"fifo", "fifo_skip", "srtf", "tiresias", "optimus", "spot_shares"}) {
            CAPTURE(seed, name);
            const sim::ScheduleOutcome outcome = run_on(world.cluster, world.jobs, name, round);
            REQUIRE(sum_of_costs(outcome) == outcome.fleet_cost);
            for (std::size_t i = 0; i < world.jobs.size(); ++i) {
                const sim::JobOutcome& job = outcome.jobs[i];
                REQUIRE(int{job.is_complete()} + int{job.out_of_budget} + int{job.stuck} +
                            int{job.refused()} ==
                        1);
                stopped += job.out_of_budget ? 1 : 0;
                complete += job.is_complete() ? 1 : 0;
                if (!world.jobs[i].budget) {
                    REQUIRE(!job.out_of_budget);
                    continue;
                }
                // A nano-dollar for each lease of a machine that is rounded.
                REQUIRE(job.cost.raw() <= world.jobs[i].budget->raw() + 100);
                // Stopped not before: what a GPU costs in a microsecond at the highest price.
                if (job.out_of_budget) {
                    REQUIRE(job.cost.raw() >= world.jobs[i].budget->raw() - 100'000);
                }
            }
        }
    }
    CHECK(stopped > 500);
    CHECK(complete > 500);
}

TEST_CASE("budgets: those that nobody spends change nothing", "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        RandomWorld world = world_of(seed);
        const Duration round = seed % 3 == 0 ? milliseconds(700) : Duration{};
        for (const char* name : {"fifo", "srtf", "optimus"}) {
            CAPTURE(seed, name);
            const sim::ScheduleOutcome without = run_on(world.cluster, world.jobs, name, round);
            std::vector<SharingJob> rich = world.jobs;
            for (SharingJob& job : rich) job.budget = dollars(1e6);
            const sim::ScheduleOutcome with = run_on(world.cluster, rich, name, round);
            REQUIRE(with.decisions == without.decisions);
            REQUIRE(with.fleet_cost == without.fleet_cost);
            for (std::size_t i = 0; i < rich.size(); ++i) {
                REQUIRE(with.jobs[i].completion == without.jobs[i].completion);
                REQUIRE(with.jobs[i].cost == without.jobs[i].cost);
            }
        }
    }
}

}  // namespace ukemi
