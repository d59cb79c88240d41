// outcome_order_test.cpp — who is told of jobs while a run goes hears the same as who is given the
// outcome at its end, in the order of the workload; and what is kept meanwhile does not grow with
// the workload.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "base/rng.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using sim::SharingJob;

// Notes what it is told, and how much of what begins is not over.
class NotingSink final : public sim::ScheduleSink {
public:
    void over(std::size_t job, const sim::JobOutcome& outcome) override {
        CHECK(job == outcomes.size());
        outcomes.push_back(outcome);
    }
    void held(const sim::HeldSpan& span) override {
        CHECK(span.job >= outcomes.size());
        spans.push_back(span);
    }

    std::vector<sim::JobOutcome> outcomes;
    std::vector<sim::HeldSpan> spans;
};

// Counts only.
class CountingSink final : public sim::ScheduleSink {
public:
    void over(std::size_t, const sim::JobOutcome& outcome) override {
        complete += outcome.is_complete() ? 1U : 0U;
    }
    void held(const sim::HeldSpan&) override {}

    std::size_t complete = 0;
};

bool same_span(const sim::HeldSpan& one, const sim::HeldSpan& other) {
    return one.job == other.job && one.begin == other.begin && one.end == other.end &&
           one.held.share == other.held.share && one.held.machines == other.held.machines;
}

struct World {
    sim::SharedCluster cluster{4, 4};
    std::vector<SharingJob> jobs;
};

// Long jobs among short ones; some ask for money that runs out.
World random_world(std::uint64_t seed, bool costs) {
    RandomStream random(seed, "test/sink");
    World world;
    Duration at;
    for (int i = 0; i < 60; ++i) {
        at += seconds(static_cast<double>(random.integer(0, 20)));
        const bool is_long = random.chance(0.1);
        SharingJob& job = world.jobs.emplace_back(
            plain_job(at, static_cast<std::int32_t>(random.integer(1, 8)),
                      milliseconds(random.integer(1, is_long ? 900'000 : 60'000))));
        job.restart = milliseconds(random.chance(0.5) ? random.integer(0, 3000) : 0);
        if (costs && random.chance(0.3)) job.budget = dollars(0.02);
    }
    if (costs) {
        sim::GroupMarket& market = world.cluster.markets.emplace_back();
        market.price.steps = {{Instant{}, dollars_per_hour(2)}};
    }
    return world;
}

// Forty jobs that come within ten minutes, and a rest in which all of them end; again and again.
std::vector<SharingJob> repeated_load(std::size_t times) {
    std::vector<SharingJob> jobs;
    for (std::size_t time = 0; time < times; ++time) {
        RandomStream random(7, "test/load");
        for (int i = 0; i < 40; ++i) {
            const Duration at =
                hours(static_cast<std::int64_t>(time)) + seconds(static_cast<double>(15 * i));
            jobs.push_back(
                plain_job(at, static_cast<std::int32_t>(random.integer(1, 4)),
                          milliseconds(random.integer(1000, i == 3 ? 900'000 : 90'000))));
        }
    }
    return jobs;
}

}  // namespace

TEST_CASE("sink: it hears in the order of the workload what the outcome would hold", "[jobs]") {
    for (const bool costs : {false, true}) {
        for (const std::string_view name : {"fifo", "srtf", "tiresias", "optimus"}) {
            for (const Duration round : {Duration{}, minutes(1)}) {
                for (std::uint64_t seed = 1; seed <= 5; ++seed) {
                    CAPTURE(costs, name, round.raw(), seed);
                    const World world = random_world(seed, costs);
                    const auto one = scheduler_named(name);
                    const sim::ScheduleOutcome whole =
                        sim::run_schedule({world.cluster, round, world.jobs}, *one);
                    sim::PackedJobs packed;
                    for (const SharingJob& job : world.jobs) packed.add(job);
                    NotingSink sink;
                    sim::ScheduledWorkload workload{world.cluster, round, packed};
                    workload.sink = &sink;
                    const auto other = scheduler_named(name);
                    const sim::ScheduleOutcome told = sim::run_schedule(workload, *other);
                    REQUIRE(sink.outcomes == whole.jobs);
                    REQUIRE(std::ranges::equal(sink.spans, whole.spans, same_span));
                    REQUIRE(told.jobs.empty());
                    REQUIRE(told.spans.empty());
                    REQUIRE(told.end == whole.end);
                    REQUIRE(told.fleet_cost == whole.fleet_cost);
                }
            }
        }
    }
}

TEST_CASE("sink: a job that waits for ever is told of at the end", "[jobs]") {
    std::vector<SharingJob> jobs = {plain_job({}, 4, hours(1)), plain_job({}, 1, hours(1)),
                                    plain_job(hours(2), 1, hours(1))};
    sim::SharedCluster cluster{1, 4};
    sim::GroupMarket& market = cluster.markets.emplace_back();
    market.launchable.emplace();
    market.launchable->steps = {{Instant{}, 1}, {Instant::at(minutes(10)), 0}};
    market.launchable->end = Instant::at(minutes(20));
    NotingSink sink;
    sim::ScheduledWorkload workload{cluster, {}, jobs};
    workload.sink = &sink;
    const auto fifo = scheduler_named("fifo");
    sim::run_schedule(workload, *fifo);
    REQUIRE(sink.outcomes.size() == 3);
    for (const sim::JobOutcome& outcome : sink.outcomes) CHECK(outcome.stuck);
}

TEST_CASE("sink: what is kept at once does not grow with the workload", "[jobs]") {
    for (const std::string_view name : {"fifo", "srtf", "tiresias"}) {
        std::vector<std::size_t> live;
        std::vector<std::size_t> waiting;
        for (const std::size_t times : {1U, 4U, 16U}) {
            CAPTURE(name, times);
            const std::vector<SharingJob> jobs = repeated_load(times);
            CountingSink sink;
            sim::ScheduledWorkload workload{{2, 4}, {}, jobs};
            workload.sink = &sink;
            const auto scheduler = scheduler_named(name);
            const sim::ScheduleOutcome outcome = sim::run_schedule(workload, *scheduler);
            CHECK(sink.complete == jobs.size());
            CHECK(outcome.jobs.empty());
            live.push_back(outcome.live_most);
            waiting.push_back(outcome.waiting_most);
        }
        CHECK(live == std::vector<std::size_t>(3, live.front()));
        CHECK(waiting == std::vector<std::size_t>(3, waiting.front()));
        CHECK(waiting.front() > 1);
        CHECK(waiting.front() < 40);
    }
}

TEST_CASE("packed jobs: what was packed comes out again", "[jobs]") {
    RandomStream random(3, "test/packed");
    const traces::RecordedBatch recorded{};
    const auto costs = std::make_shared<const sim::TransitionCosts>();
    for (const bool alike : {true, false}) {
        std::vector<SharingJob> jobs;
        for (int i = 0; i < 50; ++i) {
            SharingJob job = plain_job(seconds(static_cast<double>(i / 3)), 2, hours(1));
            job.name = std::string(static_cast<std::size_t>(random.integer(0, 40)), 'n');
            if (!alike && random.chance(0.5)) {
                job.gpus = static_cast<std::int32_t>(random.integer(1, 9));
                job.restart = seconds(3);
                job.transition = costs;
                job.deadline = job.arrival + hours(random.integer(1, 9));
                job.speeds = {0, random.integer(1, 3)};
                job.speed_of_group = {random.integer(1, 3), 5};
                job.batch = random.integer(1, 3);
                job.predictor = sim::JobPredictor::fitted;
                job.recorded_batches = {&recorded, 1};
                job.saves = {minutes(1), seconds(2), seconds(3)};
                job.step = sim::LinkedStep{1, seconds(2)};
                job.trains = 2;
                job.samples = random.integer(1, 100);
                job.user = random.chance(0.5) ? "ada" : "a user with a name that is no short text";
                job.priority = random.integer(1, 9);
                job.budget = dollars(static_cast<double>(random.integer(1, 9)));
            }
            jobs.push_back(job);
        }
        sim::PackedJobs packed;
        for (const SharingJob& job : jobs) packed.add(job);
        REQUIRE(packed.size() == jobs.size());
        CHECK(packed.have_budgets() == !alike);
        CHECK_FALSE(packed.have_applications());
        SharingJob used = jobs.back();  // whatever it was before
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            CAPTURE(alike, i);
            packed.read(i, used);
            const SharingJob& asked = jobs[i];
            CHECK(used.name == asked.name);
            CHECK(packed.name(i) == asked.name);
            CHECK(used.arrival == asked.arrival);
            CHECK(used.gpus == asked.gpus);
            CHECK(used.restart == asked.restart);
            CHECK(used.transition == asked.transition);
            CHECK(used.deadline == asked.deadline);
            CHECK(used.service == asked.service);
            CHECK(used.speeds == asked.speeds);
            CHECK(used.speed_of_group == asked.speed_of_group);
            CHECK(used.batch == asked.batch);
            CHECK(used.predictor == asked.predictor);
            CHECK(used.recorded_batches.data() == asked.recorded_batches.data());
            CHECK(used.recorded_batches.size() == asked.recorded_batches.size());
            CHECK(used.saves == asked.saves);
            CHECK(used.step == asked.step);
            CHECK(used.trains == asked.trains);
            CHECK(used.samples == asked.samples);
            CHECK(used.user == asked.user);
            CHECK(used.priority == asked.priority);
            CHECK(used.budget == asked.budget);
        }
    }
}

TEST_CASE("packed jobs: they are put in the order of arrival, and of one instant stay", "[jobs]") {
    sim::PackedJobs packed;
    for (const int s : {30, 10, 30, 20, 10}) {
        SharingJob job = plain_job(seconds(s), 1, hours(1));
        job.name = std::to_string(packed.size());
        if (s == 20) job.deadline = Instant::at(seconds(50));
        packed.add(job);
    }
    packed.set_clock_back(seconds(10));
    packed.sort_by_arrival();
    std::string names;
    for (const SharingJob& job : packed) names += job.name;
    CHECK(names == "14302");
    CHECK(packed.arrival(0) == Instant{});
    CHECK(packed[2].deadline == Instant::at(seconds(40)));
    CHECK(packed[3].deadline == Instant::never());
    packed.change([](SharingJob& job) { job.deadline = Instant::never(); });
    CHECK(packed[2].deadline == Instant::never());
    CHECK(packed.arrival(4) == Instant::at(seconds(20)));
}

}  // namespace ukemi
