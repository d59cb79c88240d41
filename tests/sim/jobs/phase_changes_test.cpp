// phase_changes_test.cpp — transitions by phase of jobs that share a cluster: by hand, and as one
// flat number, which changes nothing.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using policies::TransitionPhase;
using records::Cause;
using sim::GroupChange;
using sim::SharingJob;

policies::TimeBySize always(std::int64_t time_s) { return {{1, whole_seconds(time_s)}}; }

sim::ChangeCosts& of(sim::TransitionCosts& costs, GroupChange change) {
    return costs.changes[static_cast<std::size_t>(change)];
}

// A start meets for 10 s; who grows spawns 5 s and meets for 3; who shrinks meets for 2.
sim::TransitionCosts costs_by_hand(bool overlaps) {
    sim::TransitionCosts costs;
    of(costs, GroupChange::start).rendezvous = always(10);
    of(costs, GroupChange::grow).rendezvous = always(3);
    of(costs, GroupChange::shrink).rendezvous = always(2);
    if (overlaps) {
        costs.overlapped_spawn = whole_seconds(5);
    } else {
        of(costs, GroupChange::grow).spawn = always(5);
    }
    return costs;
}

double gpu_s(const sim::JobOutcome& job, Cause cause) {
    return static_cast<double>(job.gpu_time[static_cast<std::size_t>(cause)]) / 1e9;
}
double gpu_s(const sim::JobOutcome& job, TransitionPhase phase) {
    return static_cast<double>(job.phase_time[static_cast<std::size_t>(phase)]) / 1e9;
}

// Of all phases but draining: by cause they are transition.
Int128 changes_of(const sim::JobOutcome& job) {
    Int128 sum = 0;
    for (const Int128 time : job.phase_time) sum += time;
    return sum - job.phase_time[static_cast<std::size_t>(TransitionPhase::drain)];
}

// a: 300 s of work at speed 1, on 1 or 2 GPUs; b comes at 100 s with 40 s of work for one.
std::vector<SharingJob> elastic_pair(const sim::TransitionCosts& costs) {
    std::vector<SharingJob> jobs = {plain_job({}, 1, whole_seconds(300)),
                                    plain_job(whole_seconds(100), 1, whole_seconds(40))};
    jobs[0].speeds = {0, 1'000'000, 2'000'000};
    for (SharingJob& job : jobs) {
        job.transition = std::make_shared<const sim::TransitionCosts>(costs);
    }
    return jobs;
}

sim::ScheduleOutcome two_machines(const std::vector<SharingJob>& jobs, std::string_view name) {
    const auto scheduler = scheduler_named(name);
    return sim::run_schedule({{2, 1}, {}, jobs}, *scheduler);
}

}  // namespace

TEST_CASE("phase changes: start, shrink and grow, by hand", "[jobs]") {
    // a computes from 10 s on 2 GPUs: 120 s of work are left at 100 s. It shrinks for 2 s, and has
    // 72 s left at 150 s, when b (10 s start, 40 s work) ends. It grows for 8 s: 158 + 36 s.
    const sim::ScheduleOutcome outcome =
        two_machines(elastic_pair(costs_by_hand(false)), "optimus");
    CHECK(outcome.jobs[1].completion == Instant::at(whole_seconds(150)));
    CHECK(outcome.jobs[0].completion == Instant::at(whole_seconds(194)));
    const sim::JobOutcome& a = outcome.jobs[0];
    CHECK(gpu_s(a, TransitionPhase::spawn) == 10);
    CHECK(gpu_s(a, TransitionPhase::rendezvous) == 20 + 2 + 6);
    CHECK(gpu_s(a, Cause::transition) == 38);
    CHECK(gpu_s(a, Cause::useful) == 300);
}

TEST_CASE("phase changes: who is kept computes on while others spawn, by hand", "[jobs]") {
    // As before until 150 s; then one GPU computes for 5 s more: 67 s are left, from 158 s at
    // speed 2.
    const sim::ScheduleOutcome outcome = two_machines(elastic_pair(costs_by_hand(true)), "optimus");
    // The first start waits for a spawn, too: nobody trains meanwhile.
    const Duration later = whole_seconds(5);
    const sim::JobOutcome& a = outcome.jobs[0];
    // b starts 5 s later, ends at 155 s. a: from 15 s at speed 2 to 100 s: 170 done. From 102 s to
    // 155 s: 53; until 160 s: 5 more; 72 left from 163 s at speed 2.
    CHECK(outcome.jobs[1].completion == Instant::at(whole_seconds(150) + later));
    CHECK(a.completion == Instant::at(whole_seconds(163 + 36)));
    CHECK(gpu_s(a, TransitionPhase::spawn) == 2 * 5 + 5);
    CHECK(gpu_s(a, TransitionPhase::rendezvous) == 2 * 10 + 2 + 2 * 3);
    CHECK(gpu_s(a, Cause::transition) == 15 + 28);
    CHECK(gpu_s(a, Cause::useful) == 300);
    CHECK(a.gpu_s == 2 * 100 + 55 + 2 * (199 - 155));
}

TEST_CASE("phase changes: a move drains, starts and reads back, by hand", "[jobs]") {
    // One job on one of two machines; the first is announced at 90 s. 80 s are done and not saved.
    sim::SharedCluster cluster(2, 1);
    cluster.markets.resize(1);
    sim::GroupMarket& market = cluster.markets.front();
    market.notice = whole_seconds(10);
    market.launchable = {{{Instant{}, 2}, {Instant::at(whole_seconds(90)), 1}},
                         Instant::at(whole_seconds(91))};
    market.after_last_row = sim::AfterLastRow::hold;
    std::vector<SharingJob> jobs = {plain_job({}, 1, whole_seconds(200))};
    sim::TransitionCosts costs = costs_by_hand(false);
    jobs[0].saves = {{}, whole_seconds(4), whole_seconds(6)};
    jobs[0].transition = std::make_shared<const sim::TransitionCosts>(costs);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        cluster.seed = seed;
        const auto fifo = scheduler_named("fifo");
        const sim::ScheduleOutcome outcome = sim::run_schedule({cluster, {}, jobs}, *fifo);
        const sim::JobOutcome& job = outcome.jobs[0];
        if (outcome.jobs[0].starts == 1) {  // the other one goes
            CHECK(job.completion == Instant::at(whole_seconds(210)));
            continue;
        }
        CHECK(job.completion == Instant::at(whole_seconds(90 + 4 + 10 + 6 + 120)));
        CHECK(gpu_s(job, TransitionPhase::drain) == 4);
        CHECK(gpu_s(job, TransitionPhase::transfer) == 6);
        CHECK(gpu_s(job, Cause::checkpoint) == 4);
        CHECK(gpu_s(job, Cause::transition) == 26);
        CHECK(gpu_s(job, Cause::redone) == 0);
    }
}

TEST_CASE("phase changes: a program that starts anew and does not save begins again", "[jobs]") {
    // b takes one of a's GPUs at 100 s: what a had done since its last save (at 60 s) is gone.
    sim::TransitionCosts costs;
    costs.whole_program = true;
    costs.saves_first = false;
    for (sim::ChangeCosts& change : costs.changes) change.spawn = always(10);
    std::vector<SharingJob> jobs = elastic_pair(costs);
    for (SharingJob& job : jobs) job.saves.every = whole_seconds(50);
    const sim::ScheduleOutcome outcome = two_machines(jobs, "optimus");
    // 10 s start; saves at 60 and 110 s: 80 of 180 are redone (at speed 2 from 60 to 100 s).
    CHECK(gpu_s(outcome.jobs[0], Cause::redone) > 0);
    CHECK(gpu_s(outcome.jobs[0], TransitionPhase::spawn) > 20);
    costs.saves_first = true;
    jobs = elastic_pair(costs);
    for (SharingJob& job : jobs) job.saves.every = whole_seconds(50);
    CHECK(gpu_s(two_machines(jobs, "optimus").jobs[0], Cause::redone) == 0);
}

TEST_CASE("phase changes: one flat phase of a whole program is a flat restart",
          "[jobs][property]") {
    // Placing is the only difference: machines of one GPU, of which none is nearer.
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        RandomStream random(seed, "test/phases");
        std::vector<SharingJob> flat;
        Duration arrival;
        const Duration restart = milliseconds(random.integer(0, 900));
        for (int i = 0; i < 8; ++i) {
            arrival += milliseconds(random.integer(0, 3000));
            SharingJob& job =
                flat.emplace_back(plain_job(arrival, 1, milliseconds(random.integer(1, 9000))));
            job.speeds = {0, 1'000'000, 1'800'000, 2'500'000};
            job.restart = restart;
        }
        std::vector<SharingJob> by_phase = flat;
        sim::TransitionCosts costs;
        costs.whole_program = true;
        for (sim::ChangeCosts& change : costs.changes) change.spawn = {{1, restart}};
        for (SharingJob& job : by_phase) {
            job.transition = std::make_shared<const sim::TransitionCosts>(costs);
        }
        for (const char* name : {"fifo", "srtf", "tiresias", "optimus"}) {
            CAPTURE(seed, name);
            const auto one = scheduler_named(name);
            const auto other = scheduler_named(name);
            const sim::ScheduleOutcome first = sim::run_schedule({{4, 1}, {}, flat}, *one);
            const sim::ScheduleOutcome second = sim::run_schedule({{4, 1}, {}, by_phase}, *other);
            for (std::size_t i = 0; i < flat.size(); ++i) {
                REQUIRE(first.jobs[i].completion == second.jobs[i].completion);
                REQUIRE(first.jobs[i].gpu_time == second.jobs[i].gpu_time);
                REQUIRE(first.jobs[i].phase_time[0] == changes_of(second.jobs[i]));
            }
        }
    }
}

TEST_CASE("phase changes: phases add up to what changes took", "[jobs][property]") {
    std::int64_t grown = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        RandomStream random(seed, "test/phases");
        const auto some = [&](std::int64_t most) {
            return policies::TimeBySize{{1, milliseconds(random.integer(0, most))}};
        };
        sim::TransitionCosts costs;
        costs.whole_program = random.chance(0.2);
        costs.saves_first = random.chance(0.7);
        if (random.chance(0.5)) costs.overlapped_spawn = milliseconds(random.integer(1, 800));
        for (sim::ChangeCosts& change : costs.changes) {
            change = {some(500), some(300), some(200)};
            if (costs.overlapped_spawn > Duration{}) change.spawn.clear();
        }
        sim::SharedCluster cluster(3, 2);
        cluster.seed = seed;
        std::vector<SharingJob> jobs;
        Duration arrival;
        for (int i = 0; i < 8; ++i) {
            arrival += milliseconds(random.integer(0, 3000));
            SharingJob& job = jobs.emplace_back(
                plain_job(arrival, static_cast<std::int32_t>(random.integer(1, 3)),
                          milliseconds(random.integer(1, 9000))));
            job.speeds = {0, 1'000'000, 1'800'000, 2'500'000};
            job.saves = {milliseconds(random.integer(100, 2000)),
                         milliseconds(random.integer(0, 90)), milliseconds(random.integer(0, 90))};
            job.transition = std::make_shared<const sim::TransitionCosts>(costs);
        }
        const char* const name = random.chance(0.5) ? "optimus" : "tiresias";
        CAPTURE(seed, name);
        const auto scheduler = scheduler_named(name);
        const sim::ScheduleOutcome outcome = sim::run_schedule({cluster, {}, jobs}, *scheduler);
        std::vector<Int128> held(jobs.size());
        for (const sim::HeldSpan& span : outcome.spans) {
            held[span.job] +=
                static_cast<Int128>((span.end - span.begin).raw()) * span.held.share.parts;
        }
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const sim::JobOutcome& job = outcome.jobs[i];
            REQUIRE(job.is_complete());
            Int128 sum = 0;
            for (const Int128 time : job.gpu_time) sum += time;
            REQUIRE(sum == held[i]);
            REQUIRE(changes_of(job) == job.gpu_time[static_cast<std::size_t>(Cause::transition)]);
            REQUIRE(job.phase_time[static_cast<std::size_t>(TransitionPhase::drain)] <=
                    job.gpu_time[static_cast<std::size_t>(Cause::checkpoint)]);
            grown += job.starts > 2 ? 1 : 0;
        }
    }
    CHECK(grown > 100);
}

}  // namespace ukemi
