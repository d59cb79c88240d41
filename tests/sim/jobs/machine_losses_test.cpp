// machine_losses_test.cpp — machines that cost something and are taken away while jobs share them:
// worked out by hand, and what holds for any workload and market.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/rng.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using records::Cause;
using sim::HeldSpan;
using sim::SharingJob;

Duration spent_on(const sim::JobOutcome& job, Cause cause) {
    return nanoseconds(static_cast<std::int64_t>(job.gpu_time[static_cast<std::size_t>(cause)]));
}

Duration sum_of(const sim::GpuTimes& times) {
    Int128 sum = 0;
    for (const Int128 time : times) sum += time;
    return nanoseconds(static_cast<std::int64_t>(sum));
}

// Announced as a market announces it, and at one price.
sim::GroupMarket market_of(std::vector<traces::Step<std::int32_t>> capacity, Duration notice,
                           Price price) {
    const Instant end = capacity.back().at + whole_seconds(1);
    sim::GroupMarket market;
    market.notice = notice;
    market.launchable = sim::announced({std::move(capacity), end}, notice, sim::AfterLastRow::hold);
    market.price = {{{Instant{}, price}}, end};
    return market;
}

Instant at_s(std::int64_t time_s) { return Instant::at(whole_seconds(time_s)); }

sim::ScheduleOutcome outcome_on(const sim::SharedCluster& cluster,
                                const std::vector<SharingJob>& jobs, std::string_view name,
                                Duration round = {}) {
    const auto scheduler = scheduler_named(name);
    return sim::run_schedule({cluster, round, jobs}, *scheduler);
}

constexpr Price milli_dollar_a_second = Price::of(3'600'000'000);

}  // namespace

TEST_CASE("machine losses: one that hits two jobs, by hand", "[jobs]") {
    // Two jobs of 2 GPUs on one machine that is taken without a notice from 95 to 160 s. Each
    // starts for 10 s, computes 40 s, saves 5 s, computes 40 s: half of 80 s is lost. At 160 s it
    // starts anew; 160 s are left to compute, with three saves: it ends at 170 + 160 + 15 = 345 s.
    sim::SharedCluster cluster(1, 4);
    cluster.markets = {
        market_of({{at_s(0), 1}, {at_s(95), 0}, {at_s(160), 1}}, {}, milli_dollar_a_second)};
    std::vector<SharingJob> jobs = {plain_job({}, 2, whole_seconds(200)),
                                    plain_job({}, 2, whole_seconds(200))};
    for (SharingJob& job : jobs) {
        job.restart = whole_seconds(10);
        job.saves = {whole_seconds(40), whole_seconds(5), {}};
    }
    for (const char* name : {"fifo", "srtf", "tiresias"}) {
        CAPTURE(name);
        const sim::ScheduleOutcome outcome = outcome_on(cluster, jobs, name);
        CHECK(outcome.machines_lost == 1);
        CHECK(outcome.shared_losses == 1);
        for (const sim::JobOutcome& job : outcome.jobs) {
            CHECK(job.completion == at_s(345));
            CHECK(job.losses == 1);
            CHECK(spent_on(job, Cause::useful) == 2 * whole_seconds(200));
            CHECK(spent_on(job, Cause::redone) == 2 * whole_seconds(40));
            CHECK(spent_on(job, Cause::transition) == 2 * whole_seconds(20));
            CHECK(spent_on(job, Cause::checkpoint) == 2 * whole_seconds(20));
            CHECK(sum_of(job.gpu_time) == 2 * whole_seconds(95 + 185));
            CHECK(job.cost == nano_dollars(140'000'000));
        }
        CHECK(outcome.fleet_cost == nano_dollars(280'000'000));
        CHECK(outcome.unused_cost == Dollars{});
        CHECK(outcome.machine_time == whole_seconds(280));
    }
}

TEST_CASE("machine losses: told in time, jobs move and lose nothing", "[jobs]") {
    // Of two machines one is taken at 100 s, which is known at 70 s. The job that started last
    // makes room: the other moves if it has to, which takes 10 s, and loses nothing.
    sim::SharedCluster cluster(2, 4);
    cluster.markets = {
        market_of({{at_s(0), 2}, {at_s(100), 1}}, whole_seconds(30), milli_dollar_a_second)};
    std::vector<SharingJob> jobs = {plain_job({}, 4, whole_seconds(200)),
                                    plain_job({}, 4, whole_seconds(200))};
    for (SharingJob& job : jobs) job.restart = whole_seconds(10);
    const sim::ScheduleOutcome outcome = outcome_on(cluster, jobs, "fifo");
    const std::int64_t moved = outcome.jobs[0].starts - 1;
    CHECK(outcome.jobs[0].completion == at_s(210 + 10 * moved));
    CHECK(outcome.jobs[1].starts == 2);
    // 60 of 200 s were done by 70 s; it starts again where the first ended.
    CHECK(outcome.jobs[1].completion == outcome.jobs[0].completion + whole_seconds(150));
    for (const sim::JobOutcome& job : outcome.jobs) {
        CHECK(job.losses == 0);
        CHECK(spent_on(job, Cause::redone) == Duration{});
    }
    CHECK(outcome.machines_lost == 1);
    // The machine that goes is paid for until then, though nobody has it after 70 s.
    CHECK(outcome.unused_cost == nano_dollars(30 * 1'000'000));
}

TEST_CASE("machine losses: within a round the job saves in the notice", "[jobs]") {
    // Rounds of 60 s, the first decision at 60 s. Told at 70 s that the machine goes at 90 s, the
    // job computes to 85 s and saves for 5 s. The machine is back at 100 s, the job at 120 s.
    sim::SharedCluster cluster(1, 1);
    cluster.markets = {market_of({{at_s(0), 1}, {at_s(90), 0}, {at_s(100), 1}}, whole_seconds(20),
                                 milli_dollar_a_second)};
    std::vector<SharingJob> jobs = {plain_job({}, 1, whole_seconds(100))};
    jobs[0].saves = {whole_seconds(1000), whole_seconds(5), {}};
    const sim::ScheduleOutcome told = outcome_on(cluster, jobs, "srtf", whole_seconds(60));
    CHECK(told.jobs[0].completion == at_s(120 + 75));
    CHECK(told.jobs[0].losses == 1);
    CHECK(spent_on(told.jobs[0], Cause::redone) == Duration{});
    CHECK(spent_on(told.jobs[0], Cause::checkpoint) == whole_seconds(5));
    // A save of 25 s does not fit into the notice: all 30 s are done again.
    jobs[0].saves.takes = whole_seconds(25);
    const sim::ScheduleOutcome too_late = outcome_on(cluster, jobs, "srtf", whole_seconds(60));
    CHECK(too_late.jobs[0].completion == at_s(120 + 100));
    CHECK(spent_on(too_late.jobs[0], Cause::redone) == whole_seconds(30));
}

TEST_CASE("machine losses: a notice that is too short for a save is a loss at once", "[jobs]") {
    sim::SharedCluster cluster(1, 1);
    cluster.markets = {market_of({{at_s(0), 1}, {at_s(90), 0}, {at_s(100), 1}}, whole_seconds(4),
                                 milli_dollar_a_second)};
    std::vector<SharingJob> jobs = {plain_job({}, 1, whole_seconds(100))};
    jobs[0].saves = {whole_seconds(50), whole_seconds(5), {}};
    const sim::ScheduleOutcome outcome = outcome_on(cluster, jobs, "fifo");
    // Saved at 55 s; what it did until 86 s is lost. From 100 s on 50 s are left, without a save.
    CHECK(outcome.jobs[0].completion == at_s(150));
    CHECK(outcome.jobs[0].losses == 1);
    CHECK(spent_on(outcome.jobs[0], Cause::redone) == whole_seconds(31));
}

TEST_CASE("machine losses: a job whose machines never come is stuck, and the run ends", "[jobs]") {
    sim::SharedCluster cluster(2, 1);
    cluster.markets = {market_of({{at_s(0), 2}, {at_s(50), 1}}, {}, milli_dollar_a_second)};
    const std::vector<SharingJob> jobs = {plain_job({}, 2, whole_seconds(100)),
                                          plain_job({}, 1, whole_seconds(10))};
    for (const Duration round : {Duration{}, whole_seconds(10)}) {
        const sim::ScheduleOutcome outcome = outcome_on(cluster, jobs, "fifo_skip", round);
        CHECK(outcome.jobs[0].stuck);
        CHECK(!outcome.jobs[0].refused());
        CHECK(!outcome.jobs[1].stuck);
        CHECK(outcome.jobs[1].is_complete());
    }
}

TEST_CASE("machine losses: a job that is never there for long enough is stuck, and the run ends",
          "[jobs]") {
    // Machines that are there for an hour of two, again and again.
    const auto flapping = [](std::int32_t machines, Duration notice) {
        sim::GroupMarket market = market_of({{at_s(0), machines}, {at_s(3600), 0}}, {}, Price{});
        market.launchable->end = at_s(7200);
        market.launchable = sim::announced(*market.launchable, notice, sim::AfterLastRow::repeat);
        market.after_last_row = sim::AfterLastRow::repeat;
        market.notice = notice;
        return market;
    };
    sim::SharedCluster cluster(1, 1);
    cluster.markets = {flapping(1, {})};
    const SharingJob long_one = plain_job({}, 1, hours(2));
    for (const Duration round : {Duration{}, minutes(10)}) {
        CAPTURE(to_seconds(round));
        const sim::ScheduleOutcome never = outcome_on(cluster, {long_one}, "fifo", round);
        CHECK(never.jobs[0].stuck);
        CHECK(never.jobs[0].losses > 366 * 12 - 2);  // for a year
        CHECK(never.jobs[0].losses < 366 * 12 + 2);
        SharingJob saving = long_one;
        saving.saves = {minutes(20), minutes(1), {}};
        CHECK(outcome_on(cluster, {saving}, "fifo", round).jobs[0].is_complete());
    }
    // Who saves in the notice gets on, for more than a year; who cannot waits for a year more.
    sim::SharedCluster two(2, 1);
    two.markets = {flapping(2, minutes(2))};
    std::vector<SharingJob> jobs = {plain_job({}, 1, days(300)), long_one};
    jobs[0].saves.takes = minutes(1);
    jobs[1].saves.takes = minutes(5);
    const sim::ScheduleOutcome outcome = outcome_on(two, jobs, "fifo");
    CHECK(outcome.jobs[0].completion > Instant::at(days(600)));
    CHECK(outcome.jobs[0].is_complete());
    CHECK(outcome.jobs[1].stuck);
}

TEST_CASE("machine losses: jobs that make way for each other before they have started are stuck",
          "[jobs]") {
    std::vector<SharingJob> jobs(2, plain_job({}, 1, hours(2)));
    for (SharingJob& job : jobs) job.restart = minutes(10);
    for (const bool has_started : {false, true}) {
        const auto scheduler = scheduler_named(
            "gavel_max_min", has_started ? R"({"round": "11 min"})" : R"({"round": "6 min"})");
        const sim::ScheduleOutcome outcome = sim::run_schedule({{1, 1}, {}, jobs}, *scheduler);
        for (const sim::JobOutcome& job : outcome.jobs) CHECK(job.is_complete() == has_started);
        for (const sim::JobOutcome& job : outcome.jobs) CHECK(job.stuck != has_started);
    }
}

TEST_CASE("machine losses: who gets on, or may yet, is not given up", "[jobs]") {
    // A stay that is long enough, in a record of more than a year.
    sim::SharedCluster cluster(1, 1);
    sim::GroupMarket rare =
        market_of({{at_s(0), 1}, {at_s(3600), 0}, {Instant::at(days(500)), 1}}, {}, Price{});
    rare.launchable->end = Instant::at(days(501));
    rare.after_last_row = sim::AfterLastRow::repeat;
    cluster.markets = {rare};
    const std::vector<SharingJob> long_one = {plain_job({}, 1, hours(2))};
    CHECK(outcome_on(cluster, long_one, "fifo").jobs[0].is_complete());
    // Three years on a machine that stays, of which the price changes.
    cluster.markets = {market_of({{at_s(0), 1}}, {}, Price{})};
    for (std::int64_t month = 0; month < 36; ++month) {
        cluster.markets[0].price.steps.push_back({Instant::at(days(30 * month)), Price::of(month)});
    }
    cluster.markets[0].price.end = Instant::at(days(30 * 36));
    CHECK(outcome_on(cluster, {plain_job({}, 1, days(3 * 365))}, "fifo").jobs[0].is_complete());
}

TEST_CASE("machine losses: paid for in use, machines cost what jobs had of them", "[jobs]") {
    sim::SharedCluster cluster(2, 2);
    cluster.markets = {market_of({{at_s(0), 2}}, {}, milli_dollar_a_second)};
    const std::vector<SharingJob> jobs = {plain_job({}, 1, whole_seconds(100)),
                                          plain_job(whole_seconds(40), 2, whole_seconds(10))};
    const sim::ScheduleOutcome always = outcome_on(cluster, jobs, "fifo");
    CHECK(always.fleet_cost == nano_dollars(200'000'000));
    cluster.markets.front().paid_in_use = true;
    const sim::ScheduleOutcome in_use = outcome_on(cluster, jobs, "fifo");
    CHECK(in_use.fleet_cost == nano_dollars(110'000'000));
    CHECK(in_use.unused_cost == nano_dollars(50'000'000));  // the other GPU of the first
    CHECK(in_use.jobs[0].cost == nano_dollars(50'000'000));
    CHECK(in_use.jobs[1].cost == nano_dollars(10'000'000));
}

namespace {

struct RandomMarket {
    sim::SharedCluster cluster;
    std::vector<SharingJob> jobs;
    Duration round;
};

RandomMarket random_market(std::uint64_t seed) {
    RandomStream random(seed, "test/machines");
    RandomMarket one;
    const auto machines = static_cast<std::int32_t>(random.integer(1, 5));
    const auto gpus = static_cast<std::int32_t>(random.integer(1, 4));
    one.cluster = {machines, gpus};
    one.cluster.seed = seed;
    if (random.chance(0.5)) one.round = milliseconds(random.integer(300, 900));
    std::vector<traces::Step<std::int32_t>> capacity = {{Instant{}, machines}};
    std::vector<traces::Step<Price>> prices = {{Instant{}, Price::of(random.integer(1, 1 << 30))}};
    Duration at;
    for (int i = 0; i < 12; ++i) {
        at += milliseconds(random.integer(1, 3000));
        const auto next = static_cast<std::int32_t>(random.integer(0, machines));
        if (next != capacity.back().value) capacity.push_back({Instant::at(at), next});
        prices.push_back({Instant::at(at), Price::of(random.integer(1, 1 << 30))});
    }
    capacity.push_back({Instant::at(at + whole_seconds(1)), machines + 1});  // all can end
    sim::GroupMarket market =
        market_of(std::move(capacity), milliseconds(random.integer(0, 1000)), {});
    market.price = {std::move(prices), Instant::at(at + whole_seconds(1))};
    market.paid_in_use = random.chance(0.5);
    one.cluster.markets = {market};
    Duration arrival;
    for (std::int64_t i = random.integer(1, 12); i > 0; --i) {
        arrival += milliseconds(random.integer(0, 2000));
        const auto asked = static_cast<std::int32_t>(random.integer(1, machines * gpus));
        SharingJob& job =
            one.jobs.emplace_back(plain_job(arrival, asked, milliseconds(random.integer(1, 9000))));
        job.restart = milliseconds(random.integer(0, 500));
        if (!random.chance(0.7)) continue;
        job.saves = {
            milliseconds(random.integer(1, 2000)), milliseconds(random.integer(0, 300)), {}};
    }
    return one;
}

// No GPU is given twice, and none of a machine that is gone.
void check_machines(const RandomMarket& one, const sim::ScheduleOutcome& outcome) {
    const auto& launchable = *one.cluster.markets.front().launchable;
    const Duration notice = one.cluster.markets.front().notice;
    for (const HeldSpan& first : outcome.spans) {
        REQUIRE(first.begin < first.end);
        std::map<std::int32_t, std::int32_t> on_machine;
        for (const HeldSpan& span : outcome.spans) {
            if (span.begin > first.begin || span.end <= first.begin) continue;
            for (const auto& [machine, gpus] : span.held.machines) on_machine[machine] += gpus;
        }
        for (const auto& [machine, gpus] : on_machine) {
            REQUIRE(gpus <= one.cluster.groups.front().gpus_per_machine);
        }
        // Those that are there: the most that could be counted on within the last notice.
        std::int32_t most = 0;
        for (std::size_t i = 0; i < launchable.steps.size(); ++i) {
            const bool before = launchable.steps[i].at <= first.begin;
            const bool held = i + 1 == launchable.steps.size() ||
                              launchable.steps[i + 1].at + notice > first.begin;
            if (before && held) most = std::max(most, launchable.steps[i].value);
        }
        REQUIRE(static_cast<std::int32_t>(on_machine.size()) <= most);
    }
}

}  // namespace

TEST_CASE("machine losses: ledgers and bills add up on any workload and market",
          "[jobs][property]") {
    std::int64_t losses = 0;
    std::int64_t shared = 0;
    std::int64_t redone = 0;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        const RandomMarket one = random_market(seed);
        for (const char* name : {"fifo", "fifo_skip", "srtf", "tiresias", "optimus", "themis",
                                 "finish_time_fairness"}) {
            CAPTURE(seed, name);
            const bool rounds = std::string_view(name) == "finish_time_fairness";
            const auto scheduler = scheduler_named(name, rounds ? R"({"round": "700 ms"})" : "{}");
            const sim::ScheduleOutcome outcome = sim::run_schedule(
                {one.cluster, rounds ? Duration{} : one.round, one.jobs}, *scheduler);
            check_machines(one, outcome);
            std::vector<Duration> held(one.jobs.size());
            for (const HeldSpan& span : outcome.spans) {
                held[span.job] += span.held.share.parts * (span.end - span.begin);
            }
            Dollars sum = outcome.unused_cost;
            for (std::size_t i = 0; i < one.jobs.size(); ++i) {
                const sim::JobOutcome& job = outcome.jobs[i];
                REQUIRE(job.is_complete());
                REQUIRE(sum_of(job.gpu_time) == held[i]);
                REQUIRE(job.cost >= Dollars{});
                sum += job.cost;
                losses += job.losses;
                redone += spent_on(job, Cause::redone) > Duration{} ? 1 : 0;
                const bool shrinks =
                    name == std::string_view("optimus") || name == std::string_view("themis");
                if (shrinks) continue;
                const double useful_s = to_seconds(spent_on(job, Cause::useful)) / one.jobs[i].gpus;
                REQUIRE(useful_s == Approx(to_seconds(one.jobs[i].service)).margin(1e-6));
            }
            REQUIRE(sum == outcome.fleet_cost);
            REQUIRE(outcome.unused_cost >= Dollars{});
            shared += outcome.shared_losses;
        }
    }
    CHECK(losses > 100);
    CHECK(shared > 20);
    CHECK(redone > 100);
}

TEST_CASE("machine losses: a market that carries all and a price change no schedule",
          "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        RandomMarket one = random_market(seed);
        for (SharingJob& job : one.jobs) job.saves = {};
        one.cluster.markets.front().launchable = {{{Instant{}, 100}}, at_s(1)};
        sim::SharedCluster plain = one.cluster;
        plain.markets.clear();
        CAPTURE(seed);
        // fifo does not mind how often it is asked; prices that change ask it more often.
        const sim::ScheduleOutcome with = outcome_on(one.cluster, one.jobs, "fifo", one.round);
        const sim::ScheduleOutcome without = outcome_on(plain, one.jobs, "fifo", one.round);
        REQUIRE(with.spans.size() == without.spans.size());
        for (std::size_t i = 0; i < one.jobs.size(); ++i) {
            REQUIRE(with.jobs[i].completion == without.jobs[i].completion);
            REQUIRE(with.jobs[i].starts == without.jobs[i].starts);
        }
        REQUIRE(without.fleet_cost == Dollars{});
        REQUIRE(with.fleet_cost > Dollars{});
    }
}

}  // namespace ukemi
