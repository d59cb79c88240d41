// run_json_test.cpp — results as JSON and CSV say the same, in the shortest exact numbers.
#include "records/run_json.hpp"

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
    run.policy = "greedy+daly_checkpoint";
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
    CHECK(run["policy"] == "greedy+daly_checkpoint");
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
    CHECK_THAT(runs_csv(std::vector{run}),
               Catch::EndsWith(",00ff,,,,,0,0,,,,,,,,,,,,,false,exact,,0,0,,,,\n"));
    run.steps = 12;
    run.step_mean = milliseconds(250);
    run.loss = std::nan("");
    run.accuracy = 0.75;
    const auto full = ordered_json::parse(runs_json(std::vector{run}))["runs"][0];
    CHECK(full["steps"] == 12);
    CHECK(full["step_s_mean"] == 0.25);
    CHECK(full["loss"] == "nan");
    CHECK(full["accuracy"] == 0.75);
    CHECK_THAT(runs_csv(std::vector{run}),
               Catch::EndsWith(",00ff,12,0.25,nan,0.75,0,0,,,,,,,,,,,,,false,exact,,0,0,,,,\n"));
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

TEST_CASE("run json: keys that are varied have columns by their pointers", "[run_json]") {
    RunResult one = example();
    one.deadline = hours(60);
    one.varied = {{"/job/deadline", "60 h"}, {"/cluster/count", "8"}};
    RunResult two = example();
    two.varied = {{"/job/deadline", "a, b"}, {"/cluster/count", "[1, 2]"}};
    const std::string csv = runs_csv(std::vector{one, two});
    CHECK_THAT(csv, Catch::StartsWith("scenario,trace,policy,seed,/job/deadline,/cluster/count,"
                                      "oracle,finished,deadline_met,deadline_s,cost_usd,"));
    CHECK_THAT(csv, Catch::Contains(",7,60 h,8,false,true,true,216000,0.3,"));
    CHECK_THAT(csv, Catch::Contains(",7,\"a, b\",\"[1, 2]\",false,true,,,0.3,"));
    const auto runs = ordered_json::parse(runs_json(std::vector{one, two}))["runs"];
    CHECK(runs[0]["/job/deadline"] == "60 h");
    CHECK(runs[0]["/cluster/count"] == 8);
    CHECK(runs[0]["deadline_s"] == 216000);
    CHECK(runs[1]["/cluster/count"] == ordered_json({1, 2}));
    CHECK(runs[0]["deadline_met"] == true);
    CHECK(runs[1]["deadline_s"].is_null());
    CHECK(runs[1]["deadline_met"].is_null());  // it has none to meet
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
