// windows_test.cpp — `--starts` and `--baseline` of `ukemi replay` and `ukemi compare`.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"
#include "tests/recorded.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string two_policies = R"({"name": "small", "seed": 1,
 "job": {"work": "10 h", "deadline": "20 h"},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["on_demand", "greedy"]})";

// 100 h, of which each window of 20 h has more spot than the one before.
const std::string more_and_more =
    "# duration_s=360000\nt_s,instances\n0,1\n3600,0\n72000,1\n79200,0\n144000,1\n154800,0\n"
    "216000,1\n230400,0\n288000,1\n306000,0\n";

Ran run_small(const fs::path& folder, std::vector<std::string> options) {
    write_file(folder / "small.json", two_policies);
    write_file(folder / "rising.csv", more_and_more);
    options.insert(options.begin() + 1, "small.json");
    return run_ukemi(folder, options);
}

}  // namespace

TEST_CASE("ukemi replay: traces of one name in two folders are two records", "[cli][windows]") {
    const ScratchFolder scratch;
    for (const char* folder : {"north", "south"}) {
        fs::create_directory(scratch.path() / folder);
        write_file(scratch.path() / folder / "x.csv", more_and_more);
    }
    const Ran ran = run_small(
        scratch.path(), {"replay", "--traces", "*th/x.csv", "--starts", "at=0h,20h", "--out", "r"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out,
               Catch::Contains("\n4 runs a policy; intervals are over 2 traces (4 windows)"));
    const json runs = json::parse(text_in(scratch.path() / "r/runs.json")).at("runs");
    CHECK(runs.front().at("record") == "north/x");
    CHECK(runs.back().at("record") == "south/x");
}

TEST_CASE("ukemi replay: a recorded trace is replayed from many beginnings", "[cli][windows]") {
    const ScratchFolder scratch;
    const Ran ran = run_small(scratch.path(), {"replay", "--traces", "rising.csv", "--out", "r",
                                               "--seeds", "1..3", "--baseline", "on_demand"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out,
               Catch::Contains("\n5 runs a policy; intervals are over 5 windows of one trace\n"));
    CHECK_THAT(ran.out, Catch::Contains("\n10 more are the same under another seed, bit for bit: "
                                        "not counted\n"));
    CHECK_THAT(ran.out, Catch::Contains("\nfrom 5 beginnings in the trace (windows that do not "
                                        "overlap; --starts)\n"));
    CHECK_THAT(ran.out, Catch::Contains("\nagainst on_demand "));

    const json document = json::parse(text_in(scratch.path() / "r/runs.json"));
    const json& runs = document.at("runs");
    REQUIRE(runs.size() == 30);
    CHECK(runs[0].at("start_s") == 0);
    CHECK(runs[6].at("start_s") == 72'000);
    CHECK(runs[6].at("stretch") == 1);
    CHECK(runs[6].at("record") == "rising");
    // greedy: 1 to 5 h of spot at 1 USD, the rest at 3 USD: 28, 26, … 20 against 30.
    const json& greedy = document.at("policies").at(1);
    CHECK(greedy.at("policy") == "greedy");
    CHECK(greedy.at("cost_usd").at("mean") == Approx(24));
    CHECK(greedy.at("clusters") == 5);
    CHECK(greedy.at("cluster") == "window");
    const json& pair = document.at("pairs").at(0);
    CHECK(pair.at("cost_usd_difference_mean") == Approx(-6));
    CHECK(pair.at("cost_usd_ratio") == Approx(0.8));
    CHECK(pair.at("cost_usd_p") == Approx(2.0 / 32));
    const json about = json::parse(text_in(scratch.path() / "r/run.json"));
    CHECK(about.at("starts") == "apart");
    CHECK(about.at("baseline") == "on_demand");
    CHECK_THAT(text_in(scratch.path() / "r/pairs.csv"), Catch::Contains(",greedy,on_demand,"));
    CHECK_THAT(text_in(scratch.path() / "r/policies.csv"), Catch::Contains(",greedy,5,10,5,"));
    const std::string figure = text_in(scratch.path() / "r/figures/cost_and_time_differences.csv");
    CHECK_THAT(figure, Catch::Contains("greedy,on_demand"));
    CHECK_THAT(text_in(scratch.path() / "r/figures/cost_and_time.gp"),
               Catch::Contains("mean, 95 % over 5 windows of one trace"));
}

TEST_CASE("ukemi replay --starts: windows where they are asked for", "[cli][windows]") {
    const ScratchFolder scratch;
    const auto starts = [&](const std::string& choice) {
        const Ran ran = run_small(scratch.path(), {"replay", "--traces", "rising.csv", "--json",
                                                   "--policies", "greedy", "--starts", choice});
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        std::vector<double> all;
        const json document = json::parse(ran.out);
        for (const json& run : document.at("runs")) {
            all.push_back(run.at("start_s").get<double>() / 3600);
        }
        return all;
    };
    CHECK(starts("1") == std::vector<double>{0});
    CHECK(starts("3") == std::vector<double>{0, 40, 80});
    CHECK(starts("every=30h") == std::vector<double>{0, 30, 60});
    CHECK(starts("at=7h") == std::vector<double>{7});
    const Ran wrong = run_small(
        scratch.path(), {"replay", "--traces", "rising.csv", "--starts", "often", "--no-files"});
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, Catch::Contains("--starts: expected a number of beginnings"));
    const Ran nobody = run_small(scratch.path(), {"replay", "--traces", "rising.csv", "--no-files",
                                                  "--baseline", "spot_only"});
    CHECK(nobody.code == 2);
    CHECK_THAT(nobody.err, Catch::Contains("--baseline: expected one of the policies greedy, "
                                           "on_demand, found \"spot_only\""));
}

TEST_CASE("ukemi replay: a trace without room for two windows is said to be one",
          "[cli][windows]") {
    const ScratchFolder scratch;
    const Ran ran = run_small(scratch.path(), {"replay", "--traces", "rising.csv", "--no-files",
                                               "--set", "/job/deadline=60 h"});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("\n1 run a policy\n"));
    CHECK_THAT(ran.out, Catch::Contains("from 1 beginning in the trace (there is room for one "
                                        "window only, and one beginning decides nothing)\n"));
}

TEST_CASE("ukemi compare --starts --baseline: pairs in the table, CSV and JSON", "[cli][windows]") {
    const ScratchFolder scratch;
    const std::vector<std::string> options{"compare",  "--set", "/market/availability=rising.csv",
                                           "--starts", "apart", "--baseline",
                                           "on_demand"};
    const auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = options;
        all.insert(all.end(), more.begin(), more.end());
        const Ran ran = run_small(scratch.path(), all);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        return ran.out;
    };
    const std::string table = with({});
    CHECK_THAT(table, Catch::Contains("5 runs each; +- is the 95 % interval of the mean, over 5 "
                                      "windows of one trace\n"));
    CHECK_THAT(table, Catch::Contains("\nagainst on_demand "));
    const json document = json::parse(with({"--json"}));
    CHECK(document.at("pairs").at(0).at("cost_usd_difference_mean") == Approx(-6));
    CHECK(document.at("candidates").at(0).at("clusters") == 5);
    CHECK_THAT(with({"--csv", "c.csv"}), Catch::Contains("\ncsv: c.csv\n"));
    const auto rows = lines_of(text_in(scratch.path() / "c.csv"));
    REQUIRE(rows.size() == 3);
    CHECK_THAT(rows[0],
               Catch::Contains(",clusters,cluster,baseline,pairs,cost_usd_difference_mean,"));
}

// One start says that greedy is far cheaper; forty say that nothing is to choose between them.
TEST_CASE("windows: the conclusion of one start turns over forty", "[cli][windows]") {
    const auto data = recorded_data("skynomad/v100_aws_1node_avail/us-west-2a_v100_1.csv.gz");
    if (!data) {
        WARN("skipped: no recorded data: skynomad");
        return;
    }
    const ScratchFolder scratch;
    const auto greedy_and_uniform = [&](const std::string& starts) {
        const Ran ran = run_ukemi(
            scratch.path(),
            {"replay", std::string(UKEMI_SOURCE_DIR) + "/scenarios/market/recorded_weeks.json",
             "--traces",
             (*data / "skynomad/v100_aws_1node_avail/us-west-2a_v100_1.csv.gz").string(), "--set",
             "/job/deadline=72 h", "--set", "/market/spot_price=0.918 USD/h", "--policies",
             "greedy+daly,uniform_progress+daly", "--starts", starts, "--baseline", "greedy+daly",
             "--json"});
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        return json::parse(ran.out);
    };
    const json one = greedy_and_uniform("1");
    REQUIRE(one.at("runs").size() == 2);
    CHECK(one.at("runs")[0].at("cost_usd") == Approx(47.78).margin(0.01));
    CHECK(one.at("runs")[1].at("cost_usd") == Approx(65.89).margin(0.01));
    CHECK(one.at("policies")[0].at("cost_usd").at("low_95").is_null());

    const json forty = greedy_and_uniform("40");
    REQUIRE(forty.at("runs").size() == 80);
    const json& pair = forty.at("pairs").at(0);
    CHECK(pair.at("pairs") == 40);
    CHECK(pair.at("cluster") == "stretch");
    CHECK(pair.at("cost_usd_difference_low_95").get<double>() < 0);
    CHECK(pair.at("cost_usd_difference_high_95").get<double>() > 0);
    CHECK(std::abs(pair.at("cost_usd_difference_mean").get<double>()) < 2);
    CHECK(pair.at("cost_usd_p").get<double>() > 0.2);
}

}  // namespace ukemi
