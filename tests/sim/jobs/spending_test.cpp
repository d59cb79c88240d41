// spending_test.cpp — schedulers that weigh dollars: by hand, and budgets on random markets.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using sim::SharingJob;

constexpr Price dollar_an_hour = Price::of(1'000'000'000);

sim::GroupMarket paid_in_use(Price price) {
    sim::GroupMarket market;
    market.price = {{{Instant{}, price}}, Instant::at(hours(1))};
    market.paid_in_use = true;
    return market;
}

// Machines of one GPU.
sim::GroupMarket spot_of(std::vector<traces::Step<std::int32_t>> capacity, Duration notice,
                         Price price) {
    const Instant end = capacity.back().at + whole_seconds(1);
    sim::GroupMarket market = paid_in_use(price);
    market.notice = notice;
    market.launchable = sim::announced({std::move(capacity), end}, notice, sim::AfterLastRow::hold);
    return market;
}

sim::ScheduleOutcome spent_on(const sim::SharedCluster& cluster,
                              const std::vector<SharingJob>& jobs, std::string_view name,
                              std::string_view parameters) {
    const auto scheduler = scheduler_named(name, parameters);
    return sim::run_schedule({cluster, {}, jobs}, *scheduler);
}

// Type a: 4 USD/h, twice as fast for x and eight times for y; type b: 1 USD/h.
sim::SharedCluster two_priced_types() {
    sim::SharedCluster cluster;
    cluster.groups = {{"a", 1, 1}, {"b", 1, 1}};
    cluster.markets = {paid_in_use(4 * dollar_an_hour), paid_in_use(dollar_an_hour)};
    return cluster;
}

}  // namespace

TEST_CASE("gavel_cost: each job where its work is cheapest, by hand", "[jobs]") {
    // x costs 2 USD an hour of work on a and 1 on b; y half a dollar on a and 1 on b.
    std::vector<SharingJob> jobs = {plain_job({}, 1, hours(2)), plain_job({}, 1, hours(8))};
    jobs[0].speed_of_group = {2'000'000, 1'000'000};
    jobs[1].speed_of_group = {8'000'000, 1'000'000};
    const sim::ScheduleOutcome outcome =
        spent_on(two_priced_types(), jobs, "gavel_cost", R"({"round": "6 min"})");
    CHECK(outcome.jobs[0].cost == nano_dollars(2'000'000'000));
    CHECK(outcome.jobs[1].cost == nano_dollars(4'000'000'000));
    CHECK(outcome.jobs[0].completion == Instant::at(hours(2)));
    CHECK(outcome.jobs[1].completion == Instant::at(hours(1)));
}

TEST_CASE("gavel_cost: a deadline is worth the dearer type, as far as it needs it", "[jobs]") {
    // 2 h of work by 1.7 h, a round of 6 min kept back: a pace of 1.25, a quarter of the time on
    // a. All on a would cost 4 USD, all on b 2 USD and be late.
    std::vector<SharingJob> jobs = {plain_job({}, 1, hours(2))};
    jobs[0].speed_of_group = {2'000'000, 1'000'000};
    jobs[0].deadline = Instant::at(minutes(102));
    const sim::ScheduleOutcome outcome =
        spent_on(two_priced_types(), jobs, "gavel_cost", R"({"round": "6 min"})");
    CHECK(outcome.jobs[0].completion <= jobs[0].deadline);
    CHECK(to_dollars(outcome.jobs[0].cost) > 2.5);
    CHECK(to_dollars(outcome.jobs[0].cost) < 3.2);
    const sim::ScheduleOutcome fastest =
        spent_on(two_priced_types(), jobs, "gavel_max_sum", R"({"round": "6 min"})");
    CHECK(to_dollars(fastest.jobs[0].cost) == Approx(4));
}

TEST_CASE("spot_shares: a loss is shared by those who are there, by hand", "[jobs]") {
    // Two jobs of 400 GPU seconds have two of four GPUs each. Two go at 100 s, which is known at
    // 90 s: one of each. 220 GPU seconds are left to each.
    sim::SharedCluster cluster(4, 1);
    cluster.markets = {spot_of({{Instant{}, 4}, {Instant::at(whole_seconds(100)), 2}},
                               whole_seconds(10), dollar_an_hour)};
    const std::vector<SharingJob> jobs = {plain_job({}, 4, whole_seconds(100)),
                                          plain_job({}, 4, whole_seconds(100))};
    const sim::ScheduleOutcome outcome = spent_on(cluster, jobs, "spot_shares", "{}");
    for (const sim::JobOutcome& job : outcome.jobs) {
        CHECK(job.completion == Instant::at(whole_seconds(90 + 220)));
        CHECK(job.losses == 0);
    }
}

TEST_CASE("spot_shares: a job of priority 3 has three times as large a part, by hand", "[jobs]") {
    // Of four GPUs three and one. One goes at 100 s, which is known at 90 s: two and one, as nobody
    // is put off. The first has 130 of its 400 GPU seconds left then, until 155 s; the other did
    // 155 by then, and has all three for the 245 that are left.
    sim::SharedCluster cluster(4, 1);
    cluster.markets = {spot_of({{Instant{}, 4}, {Instant::at(whole_seconds(100)), 3}},
                               whole_seconds(10), dollar_an_hour)};
    std::vector<SharingJob> jobs = {plain_job({}, 4, whole_seconds(100)),
                                    plain_job({}, 4, whole_seconds(100))};
    jobs[0].priority = 3;
    const sim::ScheduleOutcome outcome = spent_on(cluster, jobs, "spot_shares", "{}");
    CHECK(to_seconds(outcome.jobs[0].completion.since_start()) == Approx(155));
    CHECK(to_seconds(outcome.jobs[1].completion.since_start()) == Approx(155 + 245.0 / 3));
}

TEST_CASE("spot_shares: a deadline moves a job to machines that stay, by hand", "[jobs]") {
    // Spot goes at 50 s, which is known at 45 s; 55 s are left of 100, to be done by 200 s with
    // 10 s to spare: it waits for spot until 135 s.
    sim::SharedCluster cluster;
    cluster.groups = {{"spot", 1, 1}, {"stays", 1, 1}};
    cluster.markets = {spot_of({{Instant{}, 1}, {Instant::at(whole_seconds(50)), 0}},
                               whole_seconds(5), dollar_an_hour),
                       paid_in_use(3 * dollar_an_hour)};
    std::vector<SharingJob> jobs = {plain_job({}, 1, whole_seconds(100))};
    jobs[0].deadline = Instant::at(whole_seconds(200));
    const sim::ScheduleOutcome outcome =
        spent_on(cluster, jobs, "spot_shares", R"({"margin": "10 s"})");
    CHECK(outcome.jobs[0].completion == Instant::at(whole_seconds(190)));
    Charge charge;
    charge.add(dollar_an_hour, whole_seconds(45));
    charge.add(3 * dollar_an_hour, whole_seconds(55));
    CHECK(outcome.jobs[0].cost == charge.rounded());
}

TEST_CASE("spot_shares: what is spent is never above the budget", "[jobs][property]") {
    std::int64_t refused = 0;
    std::int64_t complete = 0;
    std::int64_t stopped = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/budget");
        const auto machines = static_cast<std::int32_t>(random.integer(1, 6));
        sim::SharedCluster cluster(machines, 1);
        cluster.seed = seed;
        std::vector<traces::Step<std::int32_t>> capacity = {{Instant{}, machines}};
        std::vector<traces::Step<Price>> prices = {{Instant{}, 10 * dollar_an_hour}};
        Duration at;
        for (int i = 0; i < 10; ++i) {
            at += milliseconds(random.integer(1, 3000));
            const auto next = static_cast<std::int32_t>(random.integer(0, machines));
            if (next != capacity.back().value) capacity.push_back({Instant::at(at), next});
            prices.push_back({Instant::at(at), random.integer(1, 40) * dollar_an_hour});
        }
        capacity.push_back({Instant::at(at + whole_seconds(1)), machines + 1});
        sim::GroupMarket market =
            spot_of(std::move(capacity), milliseconds(random.integer(0, 500)), {});
        market.price = {std::move(prices), Instant::at(at + whole_seconds(1))};
        cluster.markets = {market};
        std::vector<SharingJob> jobs;
        Duration arrival;
        for (std::int64_t i = random.integer(1, 8); i > 0; --i) {
            arrival += milliseconds(random.integer(0, 3000));
            jobs.push_back(plain_job(arrival,
                                     static_cast<std::int32_t>(random.integer(1, machines)),
                                     milliseconds(random.integer(1, 9000))));
            jobs.back().restart = milliseconds(random.integer(0, 300));
            jobs.back().saves = {milliseconds(random.integer(100, 2000)), {}, {}};
        }
        const double budget_usd = 0.001 * static_cast<double>(random.integer(1, 300));
        const sim::ScheduleOutcome outcome = spent_on(
            cluster, jobs, "spot_shares", "{\"budget_usd\": " + std::to_string(budget_usd) + "}");
        // A nano-dollar a bill is rounded.
        REQUIRE(to_dollars(outcome.fleet_cost) <= budget_usd + 1e-6);
        for (const sim::JobOutcome& job : outcome.jobs) {
            REQUIRE(!job.stuck);
            refused += job.refused() ? 1 : 0;
            complete += job.is_complete() ? 1 : 0;
            stopped += job.refused() && job.cost > Dollars{} ? 1 : 0;
        }
    }
    CHECK(refused > 100);
    CHECK(complete > 100);
    CHECK(stopped > 10);
}

}  // namespace ukemi
