// run_again_test.cpp — run.json of results is run again, and the same comes out.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string run_once = R"({"name": "small", "seed": 3,
 "job": {"work": "5 h", "deadline": "10 h", "restart": "6 min",
         "checkpoint": {"cost": "1 min", "restore": "1 min"}},
 "cluster": {"count": 1},
 "market": {"availability": "m/own.csv", "spot_price": "1 USD/h", "on_demand_price": "3 USD/h",
            "notice": "2 min"},
 "policy_parameters": {"periodic_checkpoint": {"interval": "20 min"}},
 "replay": ["on_demand"]})";

const std::string comes_and_goes =
    "# duration_s=144000\nt_s,instances\n0,1\n9000,0\n14400,1\n50000,0\n60000,1\n80000,0\n100000,"
    "1\n";

Ran run_in(const fs::path& folder, const std::vector<std::string>& arguments) {
    write_file(folder / "s/small.json", run_once);
    write_file(folder / "s/m/own.csv", comes_and_goes);
    write_file(folder / "t/a.csv", comes_and_goes);
    write_file(folder / "t/b.csv", "# duration_s=144000\nt_s,instances\n0,0\n7200,1\n90000,0\n");
    return run_ukemi(folder, arguments);
}

// Event hashes, and what the runs were a function of, to the bit; what was typed is neither.
void check_same(const fs::path& folder, const char* first, const char* again) {
    CHECK(text_in(folder / again / "summary.csv") == text_in(folder / first / "summary.csv"));
    const auto inputs_in = [&](const char* results) {
        json about = json::parse(text_in(folder / results / "run.json"));
        CHECK(about.erase("typed") == 1);
        return about;
    };
    CHECK(inputs_in(again) == inputs_in(first));
}

void check_run_again(const std::string& command, std::vector<std::string> options) {
    const ScratchFolder scratch;
    options.insert(options.begin(), {command, "s/small.json"});
    options.insert(options.end(), {"--out", "first", "--seeds", "4,1..2"});
    const Ran first = run_in(scratch.path(), options);
    INFO(first.err);
    REQUIRE(first.code == 0);
    const Ran again =
        run_in(scratch.path(), {command, "first/run.json", "--out", "again", "-j", "1"});
    INFO(again.err);
    REQUIRE(again.code == 0);
    check_same(scratch.path(), "first", "again");
    CHECK_THAT(text_in(scratch.path() / "first/summary.csv"), Catch::Contains(",event_hash,"));
    // A folder of results stands for its run.json.
    const Ran folder = run_in(scratch.path(), {command, "./first", "--out", "by folder"});
    INFO(folder.err);
    REQUIRE(folder.code == 0);
    CHECK(text_in(scratch.path() / "by folder/summary.csv") ==
          text_in(scratch.path() / "first/summary.csv"));
}

}  // namespace

TEST_CASE("run again: a replay with everything that options can say", "[cli][again]") {
    check_run_again(
        "replay",
        {"--set", "/job/deadline=9 h", "--set", "/oracle=future_availability", "--vary",
         "/job/restart=2min,10min", "--vary", R"(/market/billing={"granularity":"1 h"},{})",
         "--traces", "t/*.csv", "--starts", "at=0h,3h", "--policies",
         "greedy+daly,spot_only+periodic,ideal_no_overhead", "--baseline", "greedy+daly"});
}

TEST_CASE("run again: varied policies, seeds and beginnings come from the variants",
          "[cli][again]") {
    const ScratchFolder scratch;
    const Ran first = run_in(scratch.path(), {"replay", "s/small.json", "--out", "first", "--vary",
                                              R"(/replay=["greedy"],["on_demand"])", "--vary",
                                              "/seed=5,6", "--set", "/starts=at=2h"});
    INFO(first.err);
    REQUIRE(first.code == 0);
    CHECK_THAT(text_in(scratch.path() / "first/summary.csv"), Catch::Contains(",7200,"));
    const Ran again =
        run_in(scratch.path(), {"replay", "first/run.json", "--out", "again", "-j", "1"});
    INFO(again.err);
    REQUIRE(again.code == 0);
    check_same(scratch.path(), "first", "again");
}

TEST_CASE("run again: a trace that has changed since is named, and refused where warnings are",
          "[cli][again]") {
    const ScratchFolder scratch;
    const Ran first =
        run_in(scratch.path(), {"replay", "s/small.json", "--traces", "t/*.csv", "--policies",
                                "greedy", "--starts", "at=3h", "--out", "first"});
    INFO(first.err);
    REQUIRE(first.code == 0);
    const json files = json::parse(text_in(scratch.path() / "first/run.json")).at("files");
    CHECK(files.contains("t/a.csv"));
    CHECK(files.contains("t/b.csv"));
    CHECK(!files.contains("s/small.json"));  // what it says is in run.json, whole
    const Ran same = run_ukemi(scratch.path(), {"replay", "first", "--strict", "--out", "same"});
    CHECK(same.err == "");
    CHECK(same.code == 0);

    write_file(scratch.path() / "t/b.csv",
               "# duration_s=144000\nt_s,instances\n0,0\n7200,1\n80000,0\n");
    const Ran again = run_ukemi(scratch.path(), {"replay", "first", "--out", "again"});
    CHECK(again.code == 0);
    const std::string said =
        "t/b.csv has changed since those results were made: these are of what it holds now";
    CHECK_THAT(again.err, Catch::StartsWith("warning: " + said + "\n"));
    CHECK(json::parse(text_in(scratch.path() / "again/run.json")).at("warnings").at(0) == said);
    const Ran strict = run_ukemi(scratch.path(), {"replay", "first", "--strict", "--out", "no"});
    CHECK(strict.code == 2);
    CHECK_THAT(strict.err, Catch::StartsWith("ukemi: --strict: " + said));
    // What it is not read for is no matter.
    const Ran other = run_ukemi(
        scratch.path(), {"replay", "first", "--traces", "t/a.csv", "--strict", "--out", "other"});
    CHECK(other.err == "");
}

TEST_CASE("run again: files of a schedule that have changed are named, and so is a damaged digest",
          "[cli][again]") {
    const ScratchFolder scratch;
    const std::string head = "job_id,submission_time,duration,num_gpu\n";
    write_file(scratch.path() / "w.csv", head + "a,0,50,1\n");
    write_file(scratch.path() / "s.json",
               R"({"name": "s", "seed": 1, "cluster": {"machines": 1, "gpus_per_machine": 1},
                   "jobs": {"workload": "w.csv"}, "schedulers": [{"name": "fifo"}]})");
    const Ran first = run_ukemi(scratch.path(), {"schedule", "s.json", "--out", "first"});
    INFO(first.err);
    REQUIRE(first.code == 0);
    CHECK(run_ukemi(scratch.path(), {"schedule", "first", "--out", "same"}).err == "");
    write_file(scratch.path() / "w.csv", head + "a,0,60,1\n");
    const Ran again = run_ukemi(scratch.path(), {"schedule", "first", "--out", "again"});
    CHECK(again.code == 0);
    CHECK_THAT(again.err, Catch::StartsWith("warning: w.csv has changed since"));
    json about = json::parse(text_in(scratch.path() / "again/run.json"));
    CHECK(about.at("warnings").size() == 1);
    about.at("files").at("w.csv") = "xyz";
    write_file(scratch.path() / "again/run.json", about.dump());
    const Ran damaged = run_ukemi(scratch.path(), {"schedule", "again", "--out", "no"});
    CHECK(damaged.code == 2);
    CHECK_THAT(damaged.err, Catch::EndsWith("run.json: damaged: expected a digest of \"w.csv\", "
                                            "found \"xyz\"\n"));
    about.erase("files");  // as older ones are
    write_file(scratch.path() / "again/run.json", about.dump());
    CHECK(run_ukemi(scratch.path(), {"schedule", "again", "--out", "old"}).err == "");
}

TEST_CASE("run again: the typed command can be pasted into a shell", "[cli][again]") {
    const ScratchFolder scratch;
    const Ran first =
        run_in(scratch.path(), {"replay", "s/small.json", "--vary", "/job/restart=2min,10min",
                                "--set", R"(/market/billing={"granularity": "1 h"})", "--policies",
                                "greedy+daly,on_demand", "--out", "it's mine"});
    INFO(first.err);
    REQUIRE(first.code == 0);
    const std::string typed =
        json::parse(text_in(scratch.path() / "it's mine/run.json")).at("typed").get<std::string>();
    CHECK_THAT(typed, Catch::EndsWith(R"(--out 'it'\''s mine')") &&
                          Catch::Contains(R"('/market/billing={"granularity": "1 h"}')"));
    fs::rename(scratch.path() / "it's mine", scratch.path() / "first");
    CHECK_THAT(typed, Catch::StartsWith("ukemi replay s/small.json"));
    const std::string path = "PATH=" + fs::path(UKEMI_BINARY).parent_path().string() + ":$PATH; ";
    const Ran pasted = run_program("/bin/sh", scratch.path(), {"-c", path + typed});
    INFO(pasted.err);
    REQUIRE(pasted.code == 0);
    check_same(scratch.path(), "first", "it's mine");

    // What is in the environment is in no result.
    const Ran secret = run_program("/usr/bin/env", scratch.path(),
                                   {"UKEMI_SECRET=hush", UKEMI_BINARY, "replay", "s/small.json",
                                    "--out", "quiet", "--details", "none"});
    REQUIRE(secret.code == 0);
    CHECK(text_in(scratch.path() / "quiet/run.json").find("hush") == std::string::npos);
}

TEST_CASE("run again: a comparison", "[cli][again]") {
    check_run_again("compare", {"--vary", "/job/restart=2min,10min", "--policies",
                                "greedy+daly,spot_only+periodic", "--traces", "t/*.csv", "--zones",
                                "--starts", "2", "--baseline", "greedy+daly"});
}

TEST_CASE("run again: several scenarios, each with its own policies", "[cli][again]") {
    const ScratchFolder scratch;
    json other = json::parse(run_once);
    other["name"] = "other";
    other["replay"] = {"greedy", "on_demand"};
    other["seed"] = 9;
    write_file(scratch.path() / "s/other.json", other.dump());
    const Ran first = run_in(scratch.path(), {"compare", "s/small.json", "s/other.json", "--vary",
                                              "/job/restart=2min,10min", "--out", "first"});
    INFO(first.err);
    REQUIRE(first.code == 0);
    const Ran again = run_in(scratch.path(), {"compare", "first/run.json", "--out", "again"});
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(lines_of(text_in(scratch.path() / "again/summary.csv")).size() == 1 + 2 + 4);
    check_same(scratch.path(), "first", "again");
    const Ran replayed = run_in(scratch.path(), {"replay", "first/run.json"});
    CHECK(replayed.code == 2);
    CHECK_THAT(replayed.err,
               Catch::Contains("first/run.json: is of several scenarios: ukemi compare runs it"));
}

TEST_CASE("run again: what the command line says comes first", "[cli][again]") {
    const ScratchFolder scratch;
    REQUIRE(run_in(scratch.path(), {"replay", "s/small.json", "--out", "first", "--policies",
                                    "greedy", "--starts", "2"})
                .code == 0);
    const Ran ran =
        run_in(scratch.path(), {"replay", "first/run.json", "--json", "--set",
                                R"(/replay=["spot_only+daly", "on_demand"])", "--seeds", "7"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json runs = json::parse(ran.out).at("runs");
    REQUIRE(runs.size() == 4);
    CHECK(runs[0].at("policy") == "spot_only+daly");
    CHECK(runs[0].at("seed") == 7);
    CHECK(runs[3].at("policy") == "on_demand");
    write_file(scratch.path() / "torn.json", R"({"scenario": {"name": "x"}, "ukemi": {}})");
    const Ran torn = run_in(scratch.path(), {"replay", "torn.json"});
    CHECK(torn.code == 2);
    CHECK_THAT(torn.err, Catch::StartsWith("ukemi: torn.json: damaged: "));
    write_file(scratch.path() / "live.json", R"({"scenario": {}, "ukemi": {}, "live": {}})");
    const Ran live = run_in(scratch.path(), {"replay", "live.json"});
    CHECK(live.code == 2);
    CHECK_THAT(live.err, Catch::Contains("live.json: is of a live run") &&
                             Catch::EndsWith("ukemi replay-log\n"));
}

TEST_CASE("run again: each command knows what the other's run.json is", "[cli][again]") {
    const ScratchFolder scratch;
    const auto complaint = [&](const std::vector<std::string>& arguments) {
        const Ran ran = run_in(scratch.path(), arguments);
        CHECK(ran.code == 2);
        return ran.err;
    };
    REQUIRE(run_in(scratch.path(), {"replay", "s/small.json", "--out", "market"}).code == 0);
    CHECK(
        complaint({"simulate", "market/run.json"}) ==
        "ukemi: market/run.json: is of runs on a market: ukemi replay or compare runs it again\n");
    REQUIRE(run_ukemi(scratch.path(), {"init", "simulate", "s.json"}).code == 0);
    REQUIRE(run_ukemi(scratch.path(), {"simulate", "s.json", "--out", "steps"}).code == 0);
    CHECK(complaint({"replay", "steps"}) ==
          "ukemi: steps/run.json: is of steps: ukemi simulate runs it again\n");
    CHECK(run_ukemi(scratch.path(), {"simulate", "steps", "--out", "again"}).code == 0);
    CHECK(text_in(scratch.path() / "again/simulate.csv") ==
          text_in(scratch.path() / "steps/simulate.csv"));
    fs::create_directories(scratch.path() / "empty");
    CHECK(complaint({"replay", "empty"}) ==
          "ukemi: empty: is a folder without run.json: expected a scenario or a folder of "
          "results\n");
    CHECK(complaint({"compare", "steps/run.json"}) ==
          "ukemi: steps/run.json: is of steps: ukemi simulate runs it again\n");
}

}  // namespace ukemi
