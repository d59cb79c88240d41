// tiny_cases_test.cpp — small workloads worked out by hand, as exact fractions, under each
// scheduler.
//
// Exactly means: every second of a case is made as long as 720720² ns. That has all denominators
// that occur on the way, so every instant of a run is a whole number of nanoseconds, nothing is
// rounded, and the answers are compared as integers.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "analysis/schedule_results.hpp"
#include "base/read_file.hpp"
#include "tests/recorded.hpp"

namespace ukemi {

namespace {

using nlohmann::json;

constexpr std::int64_t second = std::int64_t{720720} * 720720;  // lcm(1 … 16), squared

struct Fraction {
    std::int64_t parts = 0;
    std::int64_t of = 1;
    double value() const { return static_cast<double>(parts) / static_cast<double>(of); }
};

Fraction fraction_in(const json& value) {
    if (value.is_number_integer()) return {value.get<std::int64_t>(), 1};
    const std::string text = value.get<std::string>();
    const std::size_t slash = text.find('/');
    return {std::stoll(text.substr(0, slash)), std::stoll(text.substr(slash + 1))};
}

// A time of a case in nanoseconds.
std::int64_t scaled(const json& value) {
    const Fraction time = fraction_in(value);
    REQUIRE(second % time.of == 0);
    return second / time.of * time.parts;
}

std::string duration_text(const json& value) { return std::to_string(scaled(value)) + " ns"; }

json job_of(const json& job, bool by_speeds) {
    json one = {{"name", job["id"]}, {"arrival", duration_text(job["arrival"])}};
    if (!by_speeds) {
        one["gpus"] = job["gpus"];
        one["service"] = duration_text(job["service_s"]);
        return one;
    }
    one["service"] = duration_text(job["work"]);
    one["deadline"] = duration_text(job["deadline"]);
    for (const json& speed : job["speed"]) one["speeds"].push_back(fraction_in(speed).value());
    return one;
}

json scenario_of(const json& tiny, bool by_speeds) {
    json scenario = {{"name", tiny["name"]}, {"cluster", {{"gpus_per_machine", tiny["gpus"]}}}};
    for (const json& job : tiny["jobs"]) scenario["jobs"].push_back(job_of(job, by_speeds));
    if (by_speeds) {
        scenario["schedulers"] = {{{"name", "elasticflow_mss"}, {"slot", duration_text(1)}}};
        return scenario;
    }
    scenario["schedulers"] = {
        {{"name", "fifo"}},
        {{"name", "fifo_skip"}},
        {{"name", "srtf"}},
        {{"name", "tiresias_2queue"}, {"demote_after", duration_text(tiny["las_threshold"])}},
        {{"name", "max_min"}},
        {{"name", "finish_time_fairness"}, {"round", duration_text(tiny["round_s"])}}};
    return scenario;
}

// With the scenario that they are of.
struct TinyRuns {
    std::vector<scenarios::ScheduleScenario> scenarios;
    std::vector<analysis::ScheduledRun> runs;
};
TinyRuns runs_of(const json& scenario) {
    TinyRuns all;
    all.scenarios.push_back(scenarios::schedule_scenario_from_text(scenario.dump(), "tiny.json"));
    all.runs = analysis::run_schedules(all.scenarios);
    return all;
}

std::optional<json> tiny_cases() {
    const auto file = *peer_outputs() / "cluster/tiny_cases.json";
    if (!std::filesystem::exists(file)) return std::nullopt;
    return json::parse(read_file(file));
}

void check_times(const analysis::ScheduledRun& run, const json& expected) {
    std::int64_t sum = 0;
    for (const analysis::ScheduledJob& one : run.jobs) {
        CAPTURE(one.job->name);
        REQUIRE(expected["jct"].contains(one.job->name) == !one.outcome->refused());
        if (one.outcome->refused()) continue;
        CHECK(one.completion_time.raw() == scaled(expected["jct"][one.job->name]));
        sum += one.completion_time.raw();
        if (!expected.contains("finish_time_ratio")) continue;
        REQUIRE(one.finish_time_ratio.has_value());
        CHECK(*one.finish_time_ratio ==
              Approx(fraction_in(expected["finish_time_ratio"][one.job->name]).value())
                  .epsilon(1e-14));
    }
    if (!expected.contains("mean_jct")) return;
    const Fraction mean = fraction_in(expected["mean_jct"]);
    const auto jobs = static_cast<std::int64_t>(run.jobs.size());
    CHECK(static_cast<Int128>(sum) * mean.of == static_cast<Int128>(mean.parts) * jobs * second);
    CHECK(run.outcome.end.raw() == scaled(expected["makespan"]));
}

// The GPUs of each job in each slot are those of the plan, and nobody else has any.
void check_plan(const analysis::ScheduledRun& run, const json& plan) {
    std::map<std::pair<std::int64_t, std::string>, std::int64_t> held;
    for (const sim::HeldSpan& span : run.outcome.spans) {
        for (std::int64_t slot = span.begin.raw() / second; slot * second < span.end.raw();
             ++slot) {
            held[{slot, run.jobs[span.job].job->name}] = span.held.share.parts;
        }
    }
    CHECK(held.size() == plan.size());
    for (const json& row : plan) {
        CAPTURE(row);
        CHECK(held[{row[0].get<std::int64_t>(), row[1].get<std::string>()}] ==
              row[3].get<std::int64_t>());
    }
}

}  // namespace

TEST_CASE("tiny cases: six schedulers give the times worked out by hand", "[jobs]") {
    const auto all = tiny_cases();
    if (!all) {
        WARN("skipped: no recorded data: reference/peers/cluster/tiny_cases.json");
        return;
    }
    std::size_t compared = 0;
    for (const json& tiny : (*all)["cases"]) {
        const TinyRuns done = runs_of(scenario_of(tiny, false));
        const json& least = tiny["expected"]["least_possible_max_ratio_fluid"];
        for (const analysis::ScheduledRun& run : done.runs) {
            CAPTURE(tiny["name"].get<std::string>(), run.scheduler);
            const bool other_name = run.scheduler == "tiresias";
            check_times(run, tiny["expected"][other_name ? "tiresias_2queue" : run.scheduler]);
            if (!least.is_null()) {
                CHECK(*run.finish_time_ratio_max >= fraction_in(least).value() - 1e-14);
            }
            ++compared;
        }
    }
    CHECK(compared >= 66);
}

TEST_CASE("tiny cases: elasticflow plans, admits and refuses as worked out by hand", "[jobs]") {
    const auto all = tiny_cases();
    if (!all) {
        WARN("skipped: no recorded data: reference/peers/cluster/tiny_cases.json");
        return;
    }
    std::size_t compared = 0;
    for (const json& tiny : (*all)["cases"]) {
        if (!tiny["expected"].contains("elasticflow_mss")) continue;
        CAPTURE(tiny["name"].get<std::string>());
        const json& expected = tiny["expected"]["elasticflow_mss"];
        const TinyRuns done = runs_of(scenario_of(tiny, true));
        REQUIRE(done.runs.size() == 1);
        check_times(done.runs.front(), expected);
        check_plan(done.runs.front(), expected["plan"]);
        CHECK(done.runs.front().late == 0);
        ++compared;
    }
    CHECK(compared >= 2);
}

}  // namespace ukemi
