// controlled_jobs_test.cpp — jobs with Controllers of their own on a shared cluster: alone they do
// what a replay does, together their ledgers and bills add up.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/rng.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "sim/jobs/controlled_work.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/sim/jobs/scheduled.hpp"

namespace ukemi {

namespace {

using nlohmann::json;
using records::Cause;

std::filesystem::path shipped(const char* name) {
    return std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios" / name;
}

// A job that learns by a law of the noise scale: its batch is turned.
json learning_job() {
    return json::parse(R"({"name": "learning", "seed": 3,
        "job": {"samples": 4000000, "batch": 256, "samples_per_epoch": 200000,
            "step_time": {"table": {"16": "87.7 ms", "32": "128.4 ms", "64": "227.8 ms"},
                "worker_batch_max": 64,
                "exchange": {"1": "0 s", "2": "20 ms", "4": "30 ms", "8": "40 ms"}},
            "restart": "90 s", "resize": "20 s",
            "checkpoint": {"cost": "10 s", "restore": "15 s"}},
        "learning": {"model": "noise_scale_law", "noise_scale": [
            {"samples": 0, "noise_scale": 300}, {"samples": 1500000, "noise_scale": 3000}]},
        "cluster": {"count_min": 1, "count_max": 4},
        "market": {"spot_price": "0.9 USD/h", "on_demand_price": "0.9 USD/h"},
        "policy_parameters": {"periodic_checkpoint": {"interval": "20 min"}},
        "replay": ["noise_scale_batch+spot_only+periodic_checkpoint"]})");
}

struct Conformed {
    records::RunResult replayed;
    sim::JobOutcome scheduled;
};

// The same scenario alone on a market that carries all that it asks for, and alone under FIFO.
Conformed conformed(const std::filesystem::path& file, const std::string& policies,
                    const std::vector<ConfigOverride>& settings = {}) {
    const scenarios::Scenario own = scenarios::read_scenario(file, settings);
    const auto lists = scenarios::parse_policies(policies, own, "test");
    scenarios::NamedMarket market = scenarios::make_market(own, own.seed);
    const auto most = own.job.plan.workers_max;
    Conformed both;
    both.replayed = scenarios::run_one(own, market, lists.front(), own.seed).result;
    json job = {
        {"name", "alone"}, {"scenario", file.string()}, {"policies", policies}, {"gpus", most}};
    for (const ConfigOverride& one : settings) job["set"][one.pointer] = one.value;
    json schedule = {{"name", "alone"},
                     {"cluster", {{"machines", most}, {"gpus_per_machine", 1}}},
                     {"jobs", json::array({job})},
                     {"schedulers", {{{"name", "fifo"}}}}};
    schedule["cluster"]["price"] = "0.9 USD/h";
    const auto read = scenarios::schedule_scenario_from_text(schedule.dump(), "alone.json");
    both.scheduled = sim::run_schedule(read.workload(), *read.schedulers.front()).jobs.front();
    return both;
}

void check_conformed(const Conformed& both) {
    REQUIRE(both.replayed.finished);
    REQUIRE(both.scheduled.is_complete());
    REQUIRE(both.scheduled.controlled != nullptr);
    const records::RunResult& inside = both.scheduled.controlled->result;
    CHECK(inside.event_hash == both.replayed.event_hash);
    CHECK(inside.events == both.replayed.events);
    CHECK(inside.plans == both.replayed.plans);
    CHECK(inside.duration == both.replayed.duration);
    CHECK(inside.cost == both.replayed.cost);
    CHECK(inside.causes == both.replayed.causes);
    CHECK(both.scheduled.completion.since_start() == both.replayed.duration);
}

}  // namespace

TEST_CASE("controlled jobs: alone under FIFO one does what its replay does", "[jobs]") {
    const ScratchFolder scratch;
    scratch.file("learning.json", learning_job().dump());
    const Conformed both = conformed(scratch.path() / "learning.json",
                                     "noise_scale_batch+spot_only+periodic_checkpoint");
    check_conformed(both);
    CHECK(both.replayed.plans > 2);                    // the batch was turned
    CHECK(both.replayed.checkpoints > 2);              // and it saved
    CHECK(both.scheduled.cost == both.replayed.cost);  // it had all of them until its end
    // By what is held they are the same times.
    for (std::size_t cause = 0; cause < records::cause_count; ++cause) {
        CHECK(both.scheduled.gpu_time[cause] == both.replayed.causes.time[cause].raw());
    }
}

TEST_CASE("controlled jobs: shipped scenarios of batches and sizes conform, too", "[jobs]") {
    const std::vector<ConfigOverride> at_once = {{"/market/provisioning", "0 s"},
                                                 {"/market/spot_price", "0.9 USD/h"},
                                                 {"/market/on_demand_price", "0.9 USD/h"},
                                                 {"/cluster/count_start", "16"}};
    for (const char* policies : {"on_demand", "gain_resize+on_demand",
                                 "throughput_resize+on_demand", "utilisation_resize+on_demand"}) {
        CAPTURE(policies);
        check_conformed(conformed(shipped("size/resize_costs.json"), policies, at_once));
    }
}

TEST_CASE("controlled jobs: one is stopped at its budget, and its ledger adds up", "[jobs]") {
    const ScratchFolder scratch;
    scratch.file("learning.json", learning_job().dump());
    const json schedule = {
        {"name", "stopped"},
        {"cluster",
         {{"machines", 4}, {"gpus_per_machine", 1}, {"price", "0.9 USD/h"}, {"paid", "in_use"}}},
        {"jobs",
         {{{"name", "own"},
           {"scenario", (scratch.path() / "learning.json").string()},
           {"gpus", 4},
           {"budget_usd", 0.5}},
          {{"name", "next"}, {"gpus", 4}, {"service", "10 min"}}}},
        {"schedulers", {{{"name", "fifo"}}}}};
    const auto read = scenarios::schedule_scenario_from_text(schedule.dump(), "stopped.json");
    const sim::ScheduleOutcome outcome =
        sim::run_schedule(read.workload(), *read.schedulers.front());
    const sim::JobOutcome& own = outcome.jobs[0];
    CHECK(own.out_of_budget);
    CHECK(!own.stuck);
    CHECK(!own.is_complete());
    CHECK(own.cost.raw() <= 500'000'000);
    CHECK(own.cost.raw() >= 499'990'000);
    CHECK(own.gpu_s == Approx(0.5 / 0.9 * 3600));  // a dollar is 4,000 s of a GPU
    REQUIRE(own.controlled != nullptr);
    CHECK(!own.controlled->result.finished);
    Int128 sum = 0;
    for (const Int128 time : own.gpu_time) sum += time;
    CHECK(static_cast<double>(sum) / 1e9 == Approx(own.gpu_s));
    // The next one begins at that moment.
    CHECK(to_seconds(outcome.jobs[1].completion.since_start()) ==
          Approx(0.5 / 3.6 * 3600 + 600).margin(1e-3));
    CHECK(own.cost + outcome.jobs[1].cost + outcome.unused_cost == outcome.fleet_cost);
}

namespace {

struct SharedRun {
    sim::SharedCluster cluster;
    sim::ScheduleOutcome outcome;
    std::vector<sim::SharingJob> jobs;
};

json other_job() {
    json other = learning_job();
    other["job"]["samples"] = 2000000;
    other["job"]["transition"] = {{"system", "or_et_al"}};
    other["job"].erase("restart");
    other["job"].erase("resize");
    other["cluster"] = {{"count_min", 1}, {"count_max", 6}};
    other["replay"] = json::array({"goodput_batch+follow_capacity+spot_only+checkpoint_on_notice"});
    return other;
}

// Two adaptive jobs and a plain one on spot machines of two GPUs.
json shared_spot(std::uint64_t seed) {
    RandomStream random(seed, "test/controlled");
    std::string there = "t_s,instances\n0,4\n";
    std::int64_t now_s = 0;
    for (int i = 0; i < 12; ++i) {
        now_s += random.integer(60, 3600);
        there += fmt::format("{},{}\n", now_s, random.integer(0, 4));
    }
    now_s += 3600;
    there = fmt::format("# duration_s={}\n{}{},4\n", now_s + 3600, there, now_s);
    return {{"name", "shared"},
            {"seed", seed},
            {"series", there},
            {"cluster",
             {{"machines", 4},
              {"gpus_per_machine", 2},
              {"market",
               {{"availability", "there.csv"},
                {"spot_price", "1.8 USD/h"},
                {"notice", random.chance(0.7) ? "2 min" : "0 s"},
                {"after_last_row", "hold"}}}}},
            {"restart", "60 s"},
            {"checkpoint", {{"every", "10 min"}, {"takes", "10 s"}}},
            {"jobs",
             {{{"name", "first"}, {"scenario", "learning.json"}},
              {{"name", "second"}, {"arrival", "20 min"}, {"scenario", "other.json"}},
              {{"name", "plain"}, {"arrival", "40 min"}, {"gpus", 2}, {"service", "1 h"}}}},
            {"schedulers", {{{"name", "fifo"}}}}};
}

sim::ScheduleOutcome run_shared(const ScratchFolder& scratch, json document,
                                const std::string& scheduler, bool rounds,
                                std::vector<sim::SharingJob>& jobs) {
    scratch.file("there.csv", document["series"].get<std::string>());
    document.erase("series");
    document["schedulers"] = {{{"name", scheduler}}};
    if (rounds) document["round"] = "6 min";
    const auto read =
        scenarios::schedule_scenario_from_text(document.dump(), scratch.path() / "shared.json");
    jobs = read.jobs.all();
    return sim::run_schedule(read.workload(), *read.schedulers.front());
}

// Each job's times by cause are those that it held; phases are what changes took; bills add up.
void check_adds_up(const sim::ScheduleOutcome& outcome) {
    std::vector<Int128> held(outcome.jobs.size());
    for (const sim::HeldSpan& span : outcome.spans) {
        CHECK(span.begin < span.end);
        held[span.job] +=
            static_cast<Int128>((span.end - span.begin).raw()) * span.held.share.parts;
    }
    Dollars sum = outcome.unused_cost;
    for (std::size_t i = 0; i < outcome.jobs.size(); ++i) {
        const sim::JobOutcome& job = outcome.jobs[i];
        Int128 causes = 0;
        for (const Int128 time : job.gpu_time) causes += time;
        CHECK(causes == held[i]);
        Int128 changes = 0;
        for (const Int128 time : job.phase_time) changes += time;
        changes -= job.phase_time[static_cast<std::size_t>(policies::TransitionPhase::drain)];
        CHECK(changes == job.gpu_time[static_cast<std::size_t>(Cause::transition)]);
        sum += job.cost;
    }
    CHECK(sum == outcome.fleet_cost);
}

}  // namespace

TEST_CASE("controlled jobs: ledgers and bills add up on spot machines that they share", "[jobs]") {
    const ScratchFolder scratch;
    scratch.file("learning.json", learning_job().dump());
    scratch.file("other.json", other_job().dump());
    std::int64_t losses = 0;
    std::int64_t shared = 0;
    std::int64_t redone = 0;
    std::int64_t complete = 0;
    std::int64_t discarded = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        for (const char* name : {"fifo", "srtf", "tiresias", "optimus", "spot_shares"}) {
            const bool rounds = seed % 3 == 0 && std::string_view(name) == "tiresias";
            CAPTURE(seed, name, rounds);
            std::vector<sim::SharingJob> jobs;
            const sim::ScheduleOutcome outcome =
                run_shared(scratch, shared_spot(seed), name, rounds, jobs);
            check_adds_up(outcome);
            shared += outcome.shared_losses;
            for (const sim::JobOutcome& job : outcome.jobs) {
                losses += job.losses;
                complete += job.is_complete() ? 1 : 0;
                if (job.controlled == nullptr) continue;
                redone += job.gpu_time[static_cast<std::size_t>(Cause::redone)] > 0 ? 1 : 0;
                discarded += job.controlled->result.discarded;
            }
        }
    }
    CHECK(complete == 12 * 5 * 3);
    CHECK(losses > 100);
    CHECK(shared > 5);
    CHECK(redone > 5);
    CAPTURE(discarded);
}

TEST_CASE("controlled jobs: a run is the same again, and logs what was decided", "[jobs]") {
    const ScratchFolder scratch;
    scratch.file("learning.json", learning_job().dump());
    scratch.file("other.json", other_job().dump());
    std::vector<sim::SharingJob> jobs;
    const auto first = run_shared(scratch, shared_spot(5), "tiresias", false, jobs);
    const auto second = run_shared(scratch, shared_spot(5), "tiresias", false, jobs);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(first.jobs[i].controlled->result.event_hash ==
              second.jobs[i].controlled->result.event_hash);
        CHECK(first.jobs[i].completion == second.jobs[i].completion);
    }
    CHECK(first.decisions == second.decisions);
}

// A GPU is a machine there: a machine of eight cannot be one.
TEST_CASE("controlled jobs: simulated steps on machines of several GPUs are refused",
          "[controlled_jobs]") {
    const ScratchFolder scratch;
    const auto write = [&](const char* machine) {
        std::ofstream(scratch / "steps.json") << fmt::format(
            R"({{"name": "steps", "seed": 1, "cluster": {{"machine": "{}", "count": 2}},
                 "job": {{"model": "resnet50", "batch": 8, "collective": "ring", "steps": 2}}}})",
            machine);
    };
    std::ofstream(scratch / "own.json") << R"({"name": "own", "seed": 1,
        "job": {"samples": 1000, "batch": 64,
                "step_time": {"simulated": {"steps": "steps.json", "batches": [8]}}},
        "cluster": {"count_min": 1, "count_max": 2},
        "market": {"spot_price": "1 USD/h", "on_demand_price": "1 USD/h"},
        "replay": ["on_demand"]})";
    const auto read = [&](const char* how) {
        scenarios::schedule_scenario_from_text(
            fmt::format(R"({{"name": "jobs", "cluster": {{"machines": 2, "gpus_per_machine": 1}},
                "jobs": [{{"name": "a", "gpus": 2, {}: "own.json"}}],
                "schedulers": [{{"name": "fifo"}}]}})",
                        how),
            scratch / "jobs.json");
    };
    write("p3.16xlarge");
    CHECK_THROWS_WITH(read(R"("scenario")"),
                      Catch::Contains("at /jobs/0/scenario: its \"simulated\"") &&
                          Catch::Contains("machines of 8 GPUs"));
    CHECK_THROWS_WITH(read(R"("trains")"), Catch::Contains("at /jobs/0/trains: its \"simulated\""));
    write("p3.2xlarge");
    CHECK_NOTHROW(read(R"("scenario")"));
    CHECK_NOTHROW(read(R"("trains")"));
}

}  // namespace ukemi
