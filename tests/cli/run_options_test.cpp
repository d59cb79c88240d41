// run_options_test.cpp — options that replay, compare and describe share, and one name for a policy
// and a variant in everything that they write.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/read_file.hpp"
#include "cli/run_options.hpp"
#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string without_policies = R"({"name": "small", "seed": 1,
 "job": {"work": "10 h", "deadline": "20 h",
         "checkpoint": {"cost": "1 min", "restore": "1 min"}},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"}})";

const std::string half_a_day = "# duration_s=144000\nt_s,instances\n0,1\n18000,0\n40000,1\n";

Ran run_options_in(const fs::path& folder, const std::vector<std::string>& arguments) {
    write_file(folder / "small.json", without_policies);
    write_file(folder / "up.csv", half_a_day);
    return run_ukemi(folder, arguments);
}

std::set<std::string> values_in(const fs::path& file, const std::vector<std::string>& columns) {
    std::set<std::string> values;
    for (const auto& row : csv_rows(file)) {
        std::string joined;
        for (const std::string& column : columns) {
            CAPTURE(file, column);
            REQUIRE(row.contains(column));
            joined += row.at(column) + ";";
        }
        values.insert(joined);
    }
    return values;
}

}  // namespace

TEST_CASE("run options: one figure more is one", "[cli][options]") {
    CHECK(cli::more_figures_text(1) == "and 1 figure more");
    CHECK(cli::more_figures_text(2) == "and 2 figures more");
}

TEST_CASE("run options: tables join by policy and by varied columns", "[cli][options]") {
    const ScratchFolder scratch;
    const std::vector<std::string> common{"--traces",   "up.csv",
                                          "--policies", "greedy+daly_checkpoint,on_demand",
                                          "--vary",     "/job/restart=2min,10min",
                                          "--baseline", "on_demand",
                                          "--out"};
    for (const std::string command : {"replay", "compare"}) {
        std::vector<std::string> all{command, "small.json"};
        all.insert(all.end(), common.begin(), common.end());
        all.push_back(command);
        const Ran ran = run_options_in(scratch.path(), all);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        CHECK_THAT(ran.out, Catch::Contains("\ngreedy+daly "));
        CHECK_THAT(ran.out, Catch::Contains("\nresults: " + command + "\n"));
        CHECK(ran.out.find("daly_checkpoint") == std::string::npos);
    }
    const std::vector<std::string> key{"scenario", "variant", "policy", "job_restart_s"};
    const auto runs = values_in(scratch.path() / "replay/summary.csv", key);
    CHECK(runs == std::set<std::string>{"small;/job/restart=2min;greedy+daly;120;",
                                        "small;/job/restart=10min;greedy+daly;600;",
                                        "small;/job/restart=2min;on_demand;120;",
                                        "small;/job/restart=10min;on_demand;600;"});
    CHECK(values_in(scratch.path() / "replay/policies.csv", key) == runs);
    CHECK(values_in(scratch.path() / "compare/compare.csv", key) == runs);
    CHECK(values_in(scratch.path() / "compare/summary.csv", key) == runs);
    CHECK(values_in(scratch.path() / "replay/pairs.csv", key).size() == 2);
    const json document = json::parse(text_in(scratch.path() / "replay/runs.json"));
    const json compared = json::parse(text_in(scratch.path() / "compare/compare.json"));
    for (const json& rows : {document.at("runs"), document.at("policies"), document.at("pairs"),
                             compared.at("candidates"), compared.at("pairs")}) {
        for (const json& row : rows) {
            CHECK(row.at("job_restart_s").is_number());
            const auto policy = row.at("policy").get<std::string>();
            CHECK((policy == "greedy+daly" || policy == "on_demand"));
        }
    }
    CHECK(json::parse(text_in(scratch.path() / "replay/run.json")).at("policies") ==
          json({"greedy+daly", "on_demand"}));
    // Of each policy one run has its decisions.
    std::set<std::string> decided;
    for (const auto& entry : fs::recursive_directory_iterator(scratch.path() / "replay/runs")) {
        if (entry.path().filename() != "decisions.jsonl") continue;
        const json header = json::parse(lines_of(text_in(entry.path())).front());
        decided.insert(header.at("policy").get<std::string>());
    }
    CHECK(decided == std::set<std::string>{"greedy+daly", "on_demand"});
}

TEST_CASE("run options: spot and on-demand hours and dollars are columns", "[cli][options]") {
    const ScratchFolder scratch;
    const Ran ran = run_options_in(
        scratch.path(), {"replay", "small.json", "--traces", "up.csv", "--policies", "greedy",
                         "--starts", "1", "--out", "out", "--csv", "runs.csv"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("\ncsv: runs.csv\nresults: out\n"));
    CHECK(text_in(scratch.path() / "runs.csv") == text_in(scratch.path() / "out/summary.csv"));
    // 5 h of spot; none until 40000 s, and from then on 5 h more.
    const auto runs = csv_rows(scratch.path() / "runs.csv");
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].at("work_h") == "10");
    CHECK(runs[0].at("samples").empty());
    CHECK(std::stod(runs[0].at("spot_usd")) + std::stod(runs[0].at("on_demand_usd")) ==
          Approx(std::stod(runs[0].at("cost_usd"))));
    CHECK(3600 * (std::stod(runs[0].at("spot_h")) + std::stod(runs[0].at("on_demand_h"))) ==
          Approx(std::stod(runs[0].at("held_s"))));
    CHECK(std::stod(runs[0].at("spot_usd")) == Approx(std::stod(runs[0].at("spot_h"))));
    const auto means = csv_rows(scratch.path() / "out/policies.csv");
    CHECK(std::stod(means.at(0).at("spot_h_mean")) == Approx(std::stod(runs[0].at("spot_h"))));
    CHECK(means.at(0).at("deadline_met_share") == "1");
}

TEST_CASE("run options: what is wrong with a policy's parameter names the policy",
          "[cli][options]") {
    const ScratchFolder scratch;
    const auto complaint = [&](const char* policies) {
        const Ran ran =
            run_options_in(scratch.path(), {"replay", "small.json", "--policies", policies});
        CHECK(ran.code == 2);
        return ran.err;
    };
    CHECK(complaint("greedy:nope=1") ==
          "ukemi: --policies: policy \"greedy\": at /: unknown key \"nope\"\n");
    CHECK(complaint("on_demand,greedy+periodic:intervl=1h") ==
          "ukemi: --policies: policy \"periodic_checkpoint\": at /: unknown key \"intervl\" (did "
          "you mean \"interval\"?)\n");
    CHECK_THAT(complaint("periodic:x"),
               Catch::StartsWith("ukemi: --policies: policy \"periodic_checkpoint\": at "
                                 "/interval: expected a duration"));
}

TEST_CASE("run options: nothing is overwritten without --force", "[cli][options]") {
    const ScratchFolder scratch;
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"replay", "small.json", "--policies", "on_demand"},
          {"compare", "small.json", "--policies", "on_demand"},
          {"describe", "up.csv"}}) {
        std::vector<std::string> all = command;
        const std::string name = command.front();
        all.insert(all.end(), {"--csv", name + ".csv", "--out", name});
        const Ran first = run_options_in(scratch.path(), all);
        INFO(first.err);
        CHECK(first.code == 0);
        CHECK_THAT(first.out, Catch::Contains("csv: " + name + ".csv\n"));
        const std::string rows = text_in(scratch.path() / (name + ".csv"));
        const Ran second = run_options_in(scratch.path(), all);
        CHECK(second.code == 2);
        CHECK_THAT(second.err, Catch::Contains("--force"));
        std::vector<std::string> folder_only = command;
        folder_only.insert(folder_only.end(), {"--out", name});
        CHECK(run_options_in(scratch.path(), folder_only).code == 2);
        CHECK(text_in(scratch.path() / (name + ".csv")) == rows);
        all.emplace_back("--force");
        CHECK(run_options_in(scratch.path(), all).code == 0);
        // Standard output is one document, and what was written is said beside it.
        all.emplace_back("--json");
        const Ran document = run_options_in(scratch.path(), all);
        CHECK(document.code == 0);
        CHECK(json::accept(document.out));
        CHECK_THAT(document.err, Catch::Contains("csv: " + name + ".csv\n"));
    }
}

TEST_CASE("run options: policies may be named by the command line alone", "[cli][options]") {
    const ScratchFolder scratch;
    CHECK(run_options_in(scratch.path(), {"check", "small.json"}).code == 0);
    const Ran nobody = run_options_in(scratch.path(), {"replay", "small.json", "--json"});
    CHECK(nobody.code == 2);
    CHECK(nobody.err ==
          "ukemi: small.json: names no policies: expected \"replay\", \"policies\" or "
          "--policies\n");
    const Ran named = run_options_in(
        scratch.path(), {"replay", "small.json", "--json", "--policies", "greedy,on_demand"});
    CHECK(named.code == 0);
    const Ran varied = run_options_in(
        scratch.path(), {"replay", "small.json", "--json", "--vary", "policy=greedy,on_demand"});
    CHECK(varied.out == named.out);
    const Ran both = run_options_in(scratch.path(), {"compare", "small.json", "--policies",
                                                     "greedy", "--vary", "policy=on_demand"});
    CHECK(both.code == 2);
    CHECK(both.err == "ukemi: --vary policy: has no effect beside --policies\n");
}

TEST_CASE("run options: a scenario says where its runs begin", "[cli][options]") {
    const ScratchFolder scratch;
    const std::vector<std::string> options{"replay",     "small.json", "--traces", "up.csv",
                                           "--policies", "greedy",     "--json"};
    const auto starts = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = options;
        all.insert(all.end(), more.begin(), more.end());
        const Ran ran = run_options_in(scratch.path(), all);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        std::vector<double> hours;
        const json document = json::parse(ran.out);
        for (const json& run : document.at("runs"))
            hours.push_back(run.at("start_s").get<double>() / 3600);
        return hours;
    };
    CHECK(starts({"--set", "/starts=at=1h,3h"}) == std::vector<double>{1, 3});
    CHECK(starts({"--set", "/starts=at=1h,3h", "--starts", "1"}) == std::vector<double>{0});
    const Ran wrong = run_options_in(
        scratch.path(),
        {"replay", "small.json", "--policies", "greedy", "--set", "/starts=often", "--no-files"});
    CHECK(wrong.code == 2);
    CHECK_THAT(wrong.err, Catch::Contains("small.json: at /starts: expected a number of "
                                          "beginnings"));
    const Ran differ =
        run_options_in(scratch.path(), {"replay", "small.json", "--policies", "greedy", "--vary",
                                        "/starts=every=6h,apart", "--no-files"});
    CHECK(differ.code == 2);
    CHECK_THAT(differ.err, Catch::Contains("--starts: expected"));
}

TEST_CASE("ukemi compare: runs on the files of --traces, as replay does", "[cli][options]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "t/a.csv", half_a_day);
    write_file(scratch.path() / "t/b.csv", "# duration_s=144000\nt_s,instances\n0,1\n");
    const Ran ran = run_options_in(scratch.path(), {"compare", "small.json", "--policies", "greedy",
                                                    "--traces", "t/*.csv", "--json"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json row = json::parse(ran.out).at("candidates").at(0);
    CHECK(row.at("runs") == 2);
    CHECK(row.at("clusters") == 2);
    CHECK(row.at("deadline_met_share") == 1);
}

TEST_CASE("ukemi describe: a row a series, in CSV and in JSON", "[cli][describe]") {
    const ScratchFolder scratch;
    const Ran ran =
        run_options_in(scratch.path(), {"describe", "up.csv", "--json", "--csv", "d.csv"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK(ran.err == "csv: d.csv\n");
    const json series = json::parse(ran.out).at("series");
    REQUIRE(series.size() == 1);
    CHECK(series[0].at("file") == "up.csv");
    CHECK(series[0].at("length_h") == 40);
    CHECK(series[0].at("loss_events") == 1);
    CHECK(series[0].at("share_of_time_none").get<double>() == Approx(22'000.0 / 144'000));
    CHECK(series[0].at("usd_per_hour_mean").is_null());
    const auto rows = csv_rows(scratch.path() / "d.csv");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].size() == series[0].size());
    CHECK(rows[0].at("length_h") == "40");
    CHECK(rows[0].at("usd_per_hour_mean").empty());
    const Ran words =
        run_options_in(scratch.path(), {"describe", "--topology", "dgx1_v100", "--json"});
    CHECK(words.code == 2);
    CHECK(words.err == "ukemi: --json: is about traces: a topology is told in words\n");
    const Ran alone = run_options_in(scratch.path(), {"describe", "up.csv", "--force"});
    CHECK(alone.code == 2);
    CHECK(alone.err == "ukemi: --force: expected --out or --csv beside it\n");
}

}  // namespace ukemi
