// programmes_test.cpp — the two solvers against brute force, and the schedulers that ask them on
// cases worked out by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "schedulers/linear_programme.hpp"
#include "schedulers/multiple_choice.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/sim/jobs/scheduled.hpp"
#include "traces/step_times.hpp"

namespace ukemi {

namespace {

using schedulers::ChoiceOption;
using schedulers::JobChoice;

// Every way to give each job one of its options, or none.
std::optional<std::int64_t> least_by_trying(const std::vector<JobChoice>& jobs, std::size_t at,
                                            std::vector<std::int32_t> gpus) {
    if (at == jobs.size()) return 0;
    std::optional<std::int64_t> least;
    const auto consider = [&](std::optional<std::int64_t> rest, std::int64_t cost) {
        if (rest && (!least || *rest + cost < *least)) least = *rest + cost;
    };
    if (jobs[at].cost_of_none) {
        consider(least_by_trying(jobs, at + 1, gpus), *jobs[at].cost_of_none);
    }
    for (const ChoiceOption& option : jobs[at].options) {
        if (option.gpus > gpus[option.group]) continue;
        std::vector<std::int32_t> left = gpus;
        left[option.group] -= option.gpus;
        consider(least_by_trying(jobs, at + 1, left), option.cost);
    }
    return least;
}

sim::SharingJob job_on_types(Duration service, std::int64_t first, std::int64_t second) {
    sim::SharingJob job = plain_job({}, 1, service);
    job.speed_of_group = {first * 1'000'000, second * 1'000'000};
    return job;
}

sim::SharedCluster two_types() {
    sim::SharedCluster cluster;
    cluster.groups = {{"quick", 1, 1}, {"slow", 1, 1}};
    return cluster;
}

sim::ScheduleOutcome on_two_types(const std::vector<sim::SharingJob>& jobs,
                                  std::string_view scheduler, std::string_view parameters) {
    const auto made = scheduler_named(scheduler, parameters);
    return sim::run_schedule({two_types(), {}, jobs}, *made);
}

Duration time_on(const sim::ScheduleOutcome& outcome, std::size_t job, std::int32_t group) {
    Duration sum;
    for (const sim::HeldSpan& span : outcome.spans) {
        if (span.job == job && span.held.share.group == group) sum += span.end - span.begin;
    }
    return sum;
}

}  // namespace

TEST_CASE("cheapest choices: the least cost of all ways, and choices that cost it",
          "[jobs][property]") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/choices");
        const auto below = [&](std::int64_t most) { return random.integer(0, most); };
        const std::vector<std::int32_t> gpus = {static_cast<std::int32_t>(below(5)),
                                                static_cast<std::int32_t>(below(3))};
        std::vector<JobChoice> jobs(static_cast<std::size_t>(below(5)));
        for (JobChoice& job : jobs) {
            if (below(5) > 0) job.cost_of_none = below(20);
            for (std::int64_t i = below(4); i > 0; --i) {
                job.options.push_back({static_cast<std::size_t>(below(1)),
                                       static_cast<std::int32_t>(below(4)), below(20)});
            }
        }
        const auto found = schedulers::cheapest_choices(gpus, jobs);
        const auto least = least_by_trying(jobs, 0, gpus);
        REQUIRE(found.has_value() == least.has_value());
        if (!found) continue;
        CHECK(found->cost == *least);
        std::int64_t cost = 0;
        std::vector<std::int32_t> left = gpus;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (!found->chosen[i]) {
                cost += *jobs[i].cost_of_none;
                continue;
            }
            const ChoiceOption& option = jobs[i].options[*found->chosen[i]];
            cost += option.cost;
            left[option.group] -= option.gpus;
            CHECK(left[option.group] >= 0);
        }
        CHECK(cost == found->cost);
    }
}

TEST_CASE("linear programmes: a corner by hand, no bound, and no better point nearby",
          "[jobs][property]") {
    // 3x + 5y with x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18: 36 at (2, 6), a textbook's example (Hillier).
    schedulers::LinearProgramme by_hand(2);
    by_hand.maximise(0, 3);
    by_hand.maximise(1, 5);
    by_hand.at_most({{0, 1}}, 4);
    by_hand.at_most({{1, 2}}, 12);
    by_hand.at_most({{0, 3}, {1, 2}}, 18);
    const auto corner = by_hand.solve();
    REQUIRE(corner);
    CHECK((*corner)[0] == Approx(2));
    CHECK((*corner)[1] == Approx(6));
    schedulers::LinearProgramme unbounded(1);
    unbounded.maximise(0, 1);
    CHECK(!unbounded.solve());
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/programmes");
        schedulers::LinearProgramme programme(2);
        const double a = random.uniform();
        const double b = random.uniform();
        programme.maximise(0, a);
        programme.maximise(1, b);
        std::vector<std::array<double, 3>> rows;
        for (int i = 0; i < 5; ++i) {
            const auto& row = rows.emplace_back(
                std::array{0.1 + random.uniform(), 0.1 + random.uniform(), random.uniform()});
            programme.at_most({{0, row[0]}, {1, row[1]}}, row[2]);
        }
        const auto x = programme.solve();
        REQUIRE(x);
        // The best point of the border, in each direction from the origin.
        double best = 0;
        for (int i = 0; i <= 2000; ++i) {
            const double part = i / 2000.0;
            double most = std::numeric_limits<double>::max();
            for (const auto& row : rows) {
                most = std::min(most, row[2] / (row[0] * part + row[1] * (1 - part)));
            }
            best = std::max(best, most * (a * part + b * (1 - part)));
        }
        const double found = a * (*x)[0] + b * (*x)[1];
        CHECK(found >= best - 1e-9);
        CHECK(found <= best * 1.001 + 1e-9);
    }
}

TEST_CASE("gavel_max_sum: each type to the job that gains most there", "[jobs]") {
    // A is 4 times as fast on the quick GPU, B twice: 4 + 1 beats 1 + 2. A has 40 s of work.
    const auto outcome =
        on_two_types({job_on_types(whole_seconds(40), 4, 1), job_on_types(whole_seconds(10), 2, 1)},
                     "gavel_max_sum", R"({"round": "10 s"})");
    CHECK(outcome.jobs[0].completion == Instant::at(whole_seconds(10)));
    CHECK(outcome.jobs[1].completion == Instant::at(whole_seconds(10)));
    CHECK(time_on(outcome, 0, 0) == whole_seconds(10));
    CHECK(time_on(outcome, 1, 1) == whole_seconds(10));
}

TEST_CASE("gavel_max_min: time on a type in the parts that make the least gain largest", "[jobs]") {
    // With p of its time on the quick GPU A does 1 + 3p, B then 2 - p; equal parts give 2.5 and
    // 1.5. (1 + 3p) / 2.5 = (2 - p) / 1.5 at p = 1/2. In 200 rounds of a second both have half.
    const auto outcome = on_two_types(
        {job_on_types(whole_seconds(100'000), 4, 1), job_on_types(whole_seconds(300), 2, 1)},
        "gavel_max_min", R"({"round": "1 s"})");
    CHECK(std::abs(to_seconds(time_on(outcome, 1, 0)) - 100) <= 2);
    CHECK(std::abs(to_seconds(outcome.jobs[1].completion.since_start()) - 200) <= 2);
}

TEST_CASE("gavel_makespan: shares by the work that is left", "[jobs]") {
    // Alone on the quick GPU and the slow one 90 s and 30 s of work end together after 30 s if A
    // has the quick one: (3 a second), B the slow one (1 a second).
    const auto outcome =
        on_two_types({job_on_types(whole_seconds(90), 3, 1), job_on_types(whole_seconds(30), 3, 1)},
                     "gavel_makespan", R"({"round": "1 s"})");
    CHECK(outcome.end == Instant::at(whole_seconds(30)));
}

TEST_CASE("sia: one GPU at first, then at most twice as many as ever", "[jobs]") {
    std::vector<sim::SharingJob> jobs = {plain_job({}, 8, whole_seconds(60))};
    const auto made = scheduler_named("sia", R"({"round": "10 s"})");
    const auto outcome = sim::run_schedule({{2, 4}, {}, jobs}, *made);
    REQUIRE(outcome.spans.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(outcome.spans[i].held.share.parts == 1 << i);
    // 60 s on 8 GPUs are 480 GPU-seconds: 10 + 20 + 40 by 30 s, the other 410 in 51.25 s.
    CHECK(outcome.jobs[0].completion == Instant::at(milliseconds(81'250)));
}

TEST_CASE("recorded solutions: what is wrong or missing is said with its line", "[jobs]") {
    const ScratchFolder scratch;
    const auto complaint = [&](const char* text) -> std::string {
        const auto file = scratch.file("x.csv", text);
        const std::vector<sim::SharingJob> jobs = {plain_job({}, 1, whole_seconds(1))};
        try {
            const std::string parameters = R"({"round": "1 s", "solutions": ")" + file.string();
            on_two_types(jobs, "gavel_max_sum", parameters + "\"}");
        } catch (const InputError& error) {
            return error.what();
        }
        return "";
    };
    CHECK_THAT(complaint("time_s,job,x_a\n1,b\n"), Catch::Contains("x.csv:2: expected as many"));
    CHECK_THAT(complaint("time_s,job,x_a\n1,b,c\n"), Catch::Contains("x.csv:2: expected a number"));
    CHECK_THAT(complaint("what\n"), Catch::Contains("x.csv:1: expected a round (R and its time)"));
    CHECK_THAT(complaint("# nothing\n"), Catch::Contains("there is no solution in it"));
    CHECK_THAT(complaint("time_s,job,x_a\n1,b,1\n"),
               Catch::Contains("expected a solution for job \"\" at 0 s"));
}

TEST_CASE("step times: measured rows as they are, others near a law of the same form", "[jobs]") {
    const auto law = [](double machines, double gpus, double batch) {
        const double sync = 0.01 + 0.002 * (gpus - 1) + 0.03 * (machines - 1);
        return traces::ApplicationStep{0.05 + 0.001 * batch + sync, sync};
    };
    traces::StepTimes times;
    for (std::int32_t machines = 1; machines <= 4; ++machines) {
        for (const std::int64_t batch : {32, 64, 256}) {
            const std::vector<std::int32_t> each(static_cast<std::size_t>(machines), 4);
            times.add(each, batch, law(machines, 4.0 * machines, static_cast<double>(batch)));
        }
    }
    times.fit();
    const std::array measured = {4, 4};
    CHECK(times.find(measured, 64)->step_s == law(2, 8, 64).step_s);
    const std::array other = {4, 4, 2};
    CHECK(times.find(other, 64) == nullptr);
    CHECK(times.interpolated(other, 128).step_s == Approx(law(3, 10, 128).step_s).epsilon(0.05));
    CHECK(times.interpolated(measured, 100).step_s == Approx(law(2, 8, 100).step_s).epsilon(0.03));
}

}  // namespace ukemi
