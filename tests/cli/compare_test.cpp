// compare_test.cpp — `ukemi compare`: what each candidate takes to the target.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A hundred thousand samples at batch 100, a noise scale of 300, a millisecond a sample.
const std::string small_comparison = R"({"name": "small", "seed": 1,
 "job": {"samples": 100000, "batch": 100, "samples_per_epoch": 10000,
         "step_time": {"per_sample": "1 ms"}},
 "learning": {"noise_scale": [{"samples": 0, "noise_scale": 300}], "spread": 0.05},
 "cluster": {"count": 1}, "plan": {"market": "on_demand"},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3.6 USD/h"},
 "replay": ["constant_batch:100"]})";

Ran compare(const fs::path& folder, std::vector<std::string> options) {
    write_file(folder / "small.json", small_comparison);
    options.insert(options.begin(), {"compare", "small.json"});
    return run_ukemi(folder, options);
}

using Points = std::vector<std::pair<double, double>>;

// The lines of a figure by their names, from its CSV.
std::map<std::string, Points> lines_in(const fs::path& csv) {
    std::map<std::string, Points> lines;
    std::istringstream rows(text_in(csv));
    std::string row;
    std::getline(rows, row);
    while (std::getline(rows, row)) {
        std::vector<std::string> fields;
        std::istringstream text(row);
        for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
        lines[fields.back()].emplace_back(std::stod(fields.at(1)), std::stod(fields.at(2)));
    }
    return lines;
}

double on_line(const Points& points, double at) {
    const auto after = std::ranges::upper_bound(points, at, {}, &Points::value_type::first);
    if (after == points.begin()) return points.front().second;
    if (after == points.end()) return points.back().second;
    const auto& left = *(after - 1);
    return left.second +
           (at - left.first) / (after->first - left.first) * (after->second - left.second);
}

}  // namespace

TEST_CASE("ukemi compare: recorded curves are drawn as they were recorded", "[cli]") {
    const ScratchFolder scratch;
    const fs::path file = shipped("batch/recorded_curves.json");
    const Ran ran = run_ukemi(scratch.path(), {"compare", file.string(), "--set",
                                               "/learning/spread=0", "--out", "out", "-j", "1"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const auto lines = lines_in(scratch.path() / "out/metric_over_samples.csv");
    const json scenario = json::parse(text_in(file));
    const double target = scenario.at("/learning/target"_json_pointer).get<double>();
    for (const auto& [batch, curve] : scenario.at("/learning/curves"_json_pointer).items()) {
        CAPTURE(batch);
        REQUIRE(lines.contains("constant_batch:" + batch));
        const Points& drawn = lines.at("constant_batch:" + batch);
        Points recorded;
        for (const json& point : curve) {
            recorded.emplace_back(point.at("samples"), point.at("value"));
        }
        // Between its levels the way is straight: a corner within one is cut off by as much.
        const double level = (target - recorded.front().second) / 64;
        std::set<double> values;
        for (const auto& [samples, metric] : drawn) {
            CAPTURE(samples);
            CHECK(metric == Approx(on_line(recorded, samples)).margin(level));
            values.insert(metric);
        }
        CHECK(values.size() > 60);
        for (const auto& [samples, value] : recorded) {
            if (value > target) break;
            CAPTURE(samples);
            CHECK(on_line(drawn, samples) == Approx(value).margin(level));
        }
        CHECK(drawn.back().second == Approx(target).margin(0.001));
    }
}

TEST_CASE("ukemi compare: no band of a share leaves 0 to 1", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(
        scratch.path(), {"compare", shipped("batch/recorded_curves.json").string(), "--set",
                         "/learning/spread=0.5", "--seeds", "1..3", "--out", "out", "-j", "1"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    for (const char* figure : {"out/learned_over_time.csv", "out/metric_over_samples.csv"}) {
        std::istringstream rows(text_in(scratch.path() / figure));
        std::string row;
        std::getline(rows, row);
        REQUIRE_THAT(row, Catch::Contains(",metric,low,high,"));
        std::size_t wide = 0;
        while (std::getline(rows, row)) {
            double at = 0;
            double metric = 0;
            double low = 0;
            double high = 0;
            const std::string numbers = row.substr(row.find(',') + 1);
            REQUIRE(std::sscanf(numbers.c_str(), "%lf,%lf,%lf,%lf", &at, &metric, &low, &high) ==
                    4);
            CAPTURE(row);
            REQUIRE(low >= 0);
            REQUIRE(low <= metric);
            REQUIRE(metric <= high);
            REQUIRE(high <= 1);
            wide += high == 1 ? 1 : 0;
        }
        CHECK(wide > 0);  // there were some to cut
    }
}

TEST_CASE("ukemi compare: times, samples, steps and dollars of every combination", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = compare(scratch.path(), {"--json", "--vary", "/learning/spread=0", "--vary",
                                             "policy=constant_batch:50,constant_batch:100"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json rows = json::parse(ran.out).at("candidates");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].at("policy") == "constant_batch:50");
    CHECK(rows[0].at("variant") == "/learning/spread=0");
    // (300 + 50)/(300 + 100) of the samples that batch 100 takes.
    CHECK(rows[0].at("samples").at("mean") == 87'500);
    CHECK(rows[0].at("steps").at("mean") == 1750);
    CHECK(rows[1].at("samples").at("mean") == 100'000);
    CHECK(rows[1].at("hours").at("mean").get<double>() == Approx(100.0 / 3600));
    CHECK(rows[1].at("cost_usd").at("mean").get<double>() == Approx(0.1));
}

TEST_CASE("ukemi compare: lines below the table tell variants of several keys apart", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(),
                              {"compare", "goyal", "--policies", "constant_batch:256+scaled_rate",
                               "--vary", "/job/step_time/fixed=0 ns,41000000 ns", "--vary",
                               "/job/step_time/per_sample=2918750 ns,3000000 ns"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    std::set<std::string> labels;
    std::size_t lines = 0;
    std::istringstream text(ran.out);
    for (std::string line; std::getline(text, line);) {
        if (!line.starts_with("accuracy at the end")) continue;
        ++lines;
        labels.insert(line.substr(line.find("  constant")));
    }
    CHECK(lines == 4);
    CHECK(labels.size() == lines);
}

TEST_CASE("ukemi compare: a job whose work is a time has no samples to show", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "timed.json", R"({"name": "timed", "seed": 1,
        "job": {"work": "2 h"}, "cluster": {"count": 1},
        "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
        "replay": ["on_demand"]})");
    const Ran ran = run_ukemi(scratch.path(), {"compare", "timed.json", "--json"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json row = json::parse(ran.out).at("candidates").at(0);
    CHECK(row.at("cost_usd").at("mean") == 6);
    CHECK_FALSE(row.contains("samples"));
    CHECK_FALSE(row.contains("steps"));
}

TEST_CASE("ukemi compare: a scenario named twice is no second workload", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = compare(scratch.path(), {"small.json"});
    CHECK(ran.code == 2);
    CHECK(ran.err == "ukemi: small.json: named twice: its runs would count as others\n");
}

TEST_CASE("ukemi compare: seeds give a band, and files and figures stand in the folder", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = compare(scratch.path(), {"--seeds", "1..8", "--out", "out", "-j", "2"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("constant_batch:100") && Catch::Contains("+-") &&
                            Catch::Contains("8 runs each"));
    CHECK(text_in(scratch.path() / "out/compare.csv").starts_with("variant,policy,runs,reached,"));
    CHECK(fs::exists(scratch.path() / "out/learned_over_time.csv"));
    // Of several seeds the mean and its interval.
    CHECK(text_in(scratch.path() / "out/learned_over_time.csv")
              .starts_with("line,t_h,learned,low,high,run\n0,0,0,"));
    CHECK(fs::exists(scratch.path() / "out/noise_over_samples.csv"));
    CHECK(fs::exists(scratch.path() / "out/batch_over_time.gp"));
    CHECK_THAT(ran.out, Catch::Contains("\nresults: out\nfigure:  out/"));
    const Ran csv = compare(scratch.path(), {"--seeds", "1..8", "--csv", "c.csv", "-j", "1"});
    CHECK_THAT(csv.out, Catch::EndsWith("\ncsv: c.csv\n"));
    CHECK(text_in(scratch.path() / "c.csv") == text_in(scratch.path() / "out/compare.csv"));
    const Ran again = compare(scratch.path(), {"--csv", "c.csv"});
    CHECK(again.code == 2);
    CHECK_THAT(again.err, Catch::Contains("c.csv") && Catch::Contains("--force"));
}

TEST_CASE("ukemi compare: phases of transitions are a figure, a row each", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(
        scratch.path(), {"compare", shipped("size/resize_costs.json").string(), "--vary",
                         "policy=gain_resize+on_demand", "--vary",
                         "/job/transition/system=or_et_al,kungfu", "--out", "out", "-j", "1"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const std::string rows = text_in(scratch.path() / "out/transition_phases.csv");
    CHECK_THAT(rows, Catch::StartsWith("row,transitions,notice_s,drain_s,spawn_s,rendezvous_s,"));
    CHECK_THAT(rows,
               Catch::Contains(",system=or_et_al\n1,") && Catch::EndsWith(",system=kungfu\n"));
    CHECK(fs::exists(scratch.path() / "out/transition_phases.gp"));
    CHECK_FALSE(fs::exists(scratch.path() / "out/learned_over_time.csv"));
}

TEST_CASE("ukemi compare: several scenarios stand in one table, and what does not transfer shows",
          "[cli]") {
    const ScratchFolder scratch;
    std::string noisy = small_comparison;  // a batch costs little here, and much there
    noisy.replace(noisy.find("small"), 5, "noisy");
    noisy.replace(noisy.find("300"), 3, "9000");
    noisy.replace(noisy.find("\"1 ms\""), 6, "\"1 us\", \"fixed\": \"1 s\"");
    write_file(scratch.path() / "noisy.json", noisy);
    const std::vector<std::string> lists{"noisy.json", "--set", "/learning/spread=0", "--vary",
                                         "policy=constant_batch:50,constant_batch:800"};
    const Ran ran = compare(scratch.path(), lists);
    INFO(ran.out << ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("small\nto the target"));
    CHECK_THAT(ran.out, Catch::Contains("\nnoisy\nto the target"));
    CHECK_THAT(ran.out, Catch::Contains("time over the best of each"));
    // 1989 + 1 steps of a second are 14.7 times 135; 344 · 800 ms 3.15 times 87.5 s.
    CHECK_THAT(ran.out, Catch::Contains("1.00           14.7"));
    CHECK_THAT(ran.out, Catch::Contains("3.15            1.00"));
}

TEST_CASE("ukemi compare: who does not get there is said, and has no numbers", "[cli]") {
    const ScratchFolder scratch;
    const std::vector<std::string> stuck{
        "--set",  R"(/learning/learning_rate={"rule":"plan"})",
        "--set",  "/job/give_up_after=1 h",
        "--vary", "policy=constant_batch:100,constant_batch:10000"};
    const Ran ran = compare(scratch.path(), stuck);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("constant_batch:10000: 1 of 1 runs did not get there"));
}

TEST_CASE("ukemi compare: who is out of samples short of the target did not get there", "[cli]") {
    const ScratchFolder scratch;
    const std::vector<std::string> options{"real_gradients", "--set", "/job/samples=6400", "--set",
                                           "/learning/target=0.99"};
    std::vector<std::string> comparison{"compare"};
    comparison.insert(comparison.end(), options.begin(), options.end());
    const Ran compared = run_ukemi(scratch.path(), comparison);
    INFO(compared.err);
    REQUIRE(compared.code == 0);
    CHECK_THAT(compared.out, Catch::Contains("constant_batch:64: 1 of 1 runs did not get there"));
    CHECK_THAT(compared.out, !Catch::Contains("accuracy at the end"));
    std::vector<std::string> replay{"replay", "--policies", "constant_batch:64", "--no-files"};
    replay.insert(replay.end(), options.begin(), options.end());
    const Ran replayed = run_ukemi(scratch.path(), replay);
    REQUIRE(replayed.code == 0);
    CHECK(replayed.err ==
          "warning: constant_batch:64: no run finished (its samples were used up short of the "
          "target); what it paid is not what the work costs\n");
}

TEST_CASE("ukemi compare: what has no effect or no meaning is refused", "[cli]") {
    const ScratchFolder scratch;
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"--vary", "policy="},
          {"--vary", "policy=constant_batch", "--vary", "policy=constant_batch:3"},
          {"--vary", "policy=constant_batch", "--vary", "/replay=[]"},
          {"--seeds", "1,2", "--vary", "/seed=1,2"},
          {"--vary", "policy=no_such_policy"},
          {"--vary", "policy=greedy:3"}}) {
        const Ran ran = compare(scratch.path(), wrong);
        CAPTURE(wrong, ran.err);
        CHECK(ran.code == 2);
        CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
    }
}

}  // namespace ukemi
