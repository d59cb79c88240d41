// run_json_test.cpp — results as JSON and CSV say the same, in the shortest exact numbers.
#include "records/run_json.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::records;
using nlohmann::ordered_json;

namespace {

RunResult example() {
    RunResult run;
    run.scenario = "demo";
    run.trace = "us-west-2a";
    run.policy = "greedy+daly";
    run.seed = 7;
    run.oracle = false;
    run.finished = true;
    run.deadline_met = true;
    run.duration = milliseconds(90'500);
    run.ticks = 3;
    run.samples_done = 1;
    run.samples_total = 3;
    run.causes.time[0] = whole_seconds(60);
    run.causes.time[5] = nanoseconds(1);
    run.causes.cost[0] = nano_dollars(300'000'000);
    run.held = whole_seconds(60) + nanoseconds(1);
    run.cost = nano_dollars(300'000'000);
    run.launches = 4;
    run.revocations = 2;
    run.events = 99;
    run.event_hash = "00ff";
    return run;
}

std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(csv);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        rows.emplace_back();
        for (std::string cell; std::getline(fields, cell, ',');) rows.back().push_back(cell);
        if (line.ends_with(',')) rows.back().emplace_back();
    }
    return rows;
}

}  // namespace

TEST_CASE("run json: JSON and CSV have the same columns in the same order", "[run_json]") {
    const std::vector<RunResult> runs{example(), RunResult{}};
    const auto document = ordered_json::parse(runs_json(runs));
    const auto rows = cells_of(runs_csv(runs));
    REQUIRE(rows.size() == 3);
    REQUIRE(document["runs"].size() == 2);
    for (std::size_t run = 0; run < 2; ++run) {
        std::size_t column = 0;
        REQUIRE(document["runs"][run].size() == rows[0].size());
        REQUIRE(rows[run + 1].size() == rows[0].size());
        for (const auto& [key, value] : document["runs"][run].items()) {
            CAPTURE(run, key);
            CHECK(key == rows[0][column]);
            const std::string& cell = rows[run + 1][column++];
            if (value.is_string()) {
                CHECK(cell == value.get<std::string>());
            } else if (value.is_null()) {
                CHECK(cell.empty());  // 0/0 samples: no progress to speak of
            } else if (value.is_number_float()) {
                CHECK(std::stod(cell) == value.get<double>());
            } else {
                CHECK(cell == value.dump());
            }
        }
    }
}

TEST_CASE("run json: values by hand", "[run_json]") {
    const auto run = ordered_json::parse(runs_json(std::vector{example()}))["runs"][0];
    CHECK(run["policy"] == "greedy+daly");
    CHECK(run["seed"] == 7);
    CHECK(run["finished"] == true);
    CHECK(run["cost_usd"] == 0.3);
    CHECK(run["cost_nano_usd"] == 300'000'000);
    CHECK(run["duration_s"] == 90.5);
    CHECK(run["progress"] == 1.0 / 3);
    CHECK(run["useful_s"] == 60);
    CHECK(run["wasted_s"] == 1e-9);
    CHECK(run["useful_usd"] == 0.3);
    CHECK(run["revocations"] == 2);
    CHECK(run["event_hash"] == "00ff");
    CHECK(run["spawn_phase_s"].is_null());  // no scenario told phases apart
    RunResult phased = example();
    phased.phases.emplace();
    cost_of(*phased.phases, TransitionPhase::spawn) = {2, whole_seconds(3), whole_seconds(12)};
    const auto told = ordered_json::parse(runs_json(std::vector{phased}))["runs"][0];
    CHECK(told["spawn_phase_s"] == 3);
    CHECK(told["spawn_phase_instance_s"] == 12);
    CHECK(told["drain_phase_s"] == 0);
    for (const std::string_view cause : cause_names()) {
        CHECK(run.contains(std::string(cause) + "_s"));
        CHECK(run.contains(std::string(cause) + "_usd"));
    }
}

TEST_CASE("run json: what a run cannot say is null and an empty field", "[run_json]") {
    RunResult run = example();
    const auto plain = ordered_json::parse(runs_json(std::vector{run}))["runs"][0];
    for (const char* key : {"steps", "step_s_mean", "loss", "accuracy"}) {
        CHECK(plain.at(key).is_null());
    }
    CHECK_THAT(
        runs_csv(std::vector{run}),
        Catch::EndsWith(",00ff,,,,,0,0,0,,,,,,,,,,,,,false,exact,,0,0,,,,,,,0,0,0,0,0,,,,,\n"));
    run.steps = 12;
    run.step_mean = milliseconds(250);
    run.loss = std::nan("");
    run.accuracy = 0.75;
    const auto full = ordered_json::parse(runs_json(std::vector{run}))["runs"][0];
    CHECK(full["steps"] == 12);
    CHECK(full["step_s_mean"] == 0.25);
    CHECK(full["loss"] == "nan");
    CHECK(full["accuracy"] == 0.75);
    CHECK_THAT(
        runs_csv(std::vector{run}),
        Catch::EndsWith(
            ",00ff,12,0.25,nan,0.75,0,0,0,,,,,,,,,,,,,false,exact,,0,0,,,,,,,0,0,0,0,0,,,,,\n"));
}

TEST_CASE("run json: numbers are written in the shortest form that reads back", "[run_json]") {
    const std::string csv = runs_csv(std::vector{example()});
    const std::string text = runs_json(std::vector{example()});
    CHECK_THAT(csv, Catch::Contains(",0.3,90.5,3,0.3333333333333333,1,"));
    CHECK_THAT(text, Catch::Contains("\"cost_usd\": 0.3,"));
    CHECK_THAT(text, Catch::Contains("\"progress\": 0.3333333333333333,"));
}

TEST_CASE("run json: no runs are an empty list and a header alone", "[run_json]") {
    CHECK(ordered_json::parse(runs_json({}))["runs"] == ordered_json::array());
    CHECK(cells_of(runs_csv({})).size() == 1);
}

TEST_CASE("run json: varied numbers have columns of numbers with their unit", "[run_json]") {
    RunResult one = example();
    one.deadline = hours(60);
    one.varied = {{"/job/restart", "2min"}, {"/cluster/count", "8"}, {"/seed", "1"}};
    RunResult two = example();
    two.varied = {{"/job/restart", "\"0.5 h\""}, {"/cluster/count", "16"}, {"/seed", "2"}};
    const std::string csv = runs_csv(std::vector{one, two});
    CHECK_THAT(csv, Catch::StartsWith("scenario,trace,policy,seed,job_restart_s,cluster_count,"
                                      "scenario_seed,oracle,finished,deadline_met,deadline_s,"
                                      "cost_usd,"));
    CHECK_THAT(csv, Catch::Contains(",7,120,8,1,false,true,true,216000,0.3,"));
    CHECK_THAT(csv, Catch::Contains(",7,1800,16,2,false,true,,,0.3,"));
    const auto runs = ordered_json::parse(runs_json(std::vector{one, two}))["runs"];
    CHECK(runs[0]["job_restart_s"] == 120);
    CHECK(runs[0]["cluster_count"] == 8);
    CHECK(runs[0]["varied"]["/job/restart"] == "2min");
    CHECK(runs[0]["variant"] == "/job/restart=2min, /cluster/count=8, /seed=1");
    CHECK(runs[0]["deadline_s"] == 216000);
    CHECK(runs[0]["deadline_met"] == true);
    CHECK(runs[1]["deadline_s"].is_null());
    CHECK(runs[1]["deadline_met"].is_null());  // it has none to meet
}

TEST_CASE("run json: every kind of amount has a unit, and what is mixed stays text", "[run_json]") {
    const auto names_of = [](const std::string& a, const std::string& b) {
        RunResult one = example();
        one.varied = {{"/job/it", a}};
        RunResult two = example();
        two.varied = {{"/job/it", b}};
        const auto run = ordered_json::parse(runs_json(std::vector{one, two}))["runs"][1];
        return fmt::format("{}={}", std::next(run.begin(), 4).key(),
                           std::next(run.begin(), 4).value().dump());
    };
    CHECK(names_of("2 GB", "1.5 KB") == "job_it_bytes=1500.0");
    CHECK(names_of("8 Gbit/s", "8 Kbit/s") == "job_it_bytes_per_s=1000.0");
    CHECK(names_of("3 USD/h", "0.5 USD/h") == "job_it_usd_per_h=0.5");
    CHECK(names_of("0.02 USD/GB", "0.5 USD/GB") == "job_it_usd_per_gb=0.5");
    CHECK(names_of("10 samples/s", "2.5 samples/s") == "job_it_samples_per_s=2.5");
    CHECK(names_of("0.7", "1.5") == "job_it=1.5");
    CHECK(names_of("2 min", "8") == "job_it=8");
    CHECK(names_of("2 min", "3 USD/h") == "job_it=\"3 USD/h\"");
    CHECK(names_of("kungfu", "[1, 2]") == "job_it=[1,2]");
    CHECK(names_of("true", "false") == "job_it=false");
}

TEST_CASE("run json: work that is a time is in hours, and such a job has no samples",
          "[run_json]") {
    RunResult run = example();
    run.work_is_time = true;
    run.samples_done = 720'000'000'000'000;
    run.samples_total = 720'000'000'000'000;
    run.spot = {hours(30), dollars(27)};
    run.on_demand = {hours(2), dollars(6)};
    run.worker_time = hours(31);
    const auto timed = ordered_json::parse(runs_json(std::vector{run}))["runs"][0];
    CHECK(timed["work_h"] == 200);
    CHECK(timed["samples"].is_null());
    CHECK(timed["spot_h"] == 30);
    CHECK(timed["spot_usd"] == 27);
    CHECK(timed["on_demand_h"] == 2);
    CHECK(timed["on_demand_usd"] == 6);
    CHECK(timed["worker_h"] == 31);
    CHECK_THAT(runs_csv(std::vector{run}), Catch::EndsWith(",200,30,2,27,6,31,,,,,\n"));
    const auto samples = ordered_json::parse(runs_json(std::vector{example()}))["runs"][0];
    CHECK(samples["samples"] == 1);
    CHECK(samples["work_h"].is_null());
}

TEST_CASE("run json: odd names are quoted in CSV and replaced in JSON where they are no UTF-8",
          "[run_json]") {
    RunResult run = example();
    run.trace = "a, \"b\"";
    CHECK_THAT(runs_csv(std::vector{run}), Catch::Contains(",\"a, \"\"b\"\"\","));
    run.trace = "m\xfcnchen";
    const auto document = ordered_json::parse(runs_json(std::vector{run}));
    CHECK(document["runs"][0]["trace"] == "m\xef\xbf\xbdnchen");
}

TEST_CASE("timeline: loss and accuracy are columns where any row has them", "[timeline]") {
    TimelineRow before;
    TimelineRow after;
    after.at = Instant::at(whole_seconds(1));
    after.loss = 2.25;
    const std::string csv = to_csv({before, after}, 10);
    CHECK_THAT(csv, Catch::Contains(",spot_losses,loss,accuracy\n"));
    CHECK_THAT(csv, Catch::Contains("\n0,waiting,0,0,0,0,0,0,0,0,,\n"));
    CHECK_THAT(csv, Catch::EndsWith("\n1,waiting,0,0,0,0,0,0,0,0,2.25,\n"));
}

TEST_CASE("timeline: the lowest and the highest price are columns where there are several zones",
          "[timeline]") {
    TimelineRow row;
    row.spot_price = dollars_per_hour(0.5);
    row.spot_prices = {dollars_per_hour(0.25), dollars_per_hour(2)};
    row.noise_scale = 8;
    const std::string csv = to_csv({row}, 10);
    CHECK_THAT(csv, Catch::Contains(",noise_scale,spot_usd_per_instance_hour_lowest,"
                                    "spot_usd_per_instance_hour_highest\n"));
    CHECK_THAT(csv, Catch::EndsWith("\n0,waiting,0,0,0,0,0.5,0,0,0,8,0.25,2\n"));
}

TEST_CASE("timeline: a row a change, with units in the names", "[timeline]") {
    TimelineRow row;
    row.at = Instant::at(milliseconds(1500));
    row.phase = JobPhase::running;
    row.spot_held = 2;
    row.workers = 2;
    row.spot_capacity = 5;
    row.spot_price = dollars_per_hour(0.918);
    row.samples_done = 25;
    row.spent = dollars(1.25);
    row.spot_losses = 1;
    CHECK(to_csv({row}, 100) ==
          "t_s,phase,spot_held,on_demand_held,workers,spot_capacity,spot_usd_per_instance_hour,"
          "progress,spent_usd,spot_losses\n"
          "1.5,running,2,0,2,5,0.918,0.25,1.25,1\n");
    CHECK(job_phase_name(JobPhase::checkpointing) == "checkpointing");
}
