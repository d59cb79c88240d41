// vary_test.cpp — `ukemi replay --vary`: variants of a scenario side by side; and --zones.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/results.hpp"
#include "analysis/variation_figures.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string small_varied = R"({"name": "small", "seed": 1,
 "job": {"work": "10 h", "deadline": "20 h"},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["on_demand", "greedy"]})";
// An instance for an hour, then none.

Ran vary(const fs::path& folder, std::vector<std::string> options) {
    write_file(folder / "small.json", small_varied);
    write_file(folder / "up.csv", capacity_csv);
    options.insert(options.begin(), {"replay", "small.json", "--traces", "up.csv"});
    return run_ukemi(folder, options);
}

}  // namespace

TEST_CASE("ukemi replay --vary: one document has every variant's runs, in order", "[cli][vary]") {
    const ScratchFolder scratch;
    const Ran ran = vary(scratch.path(), {"--json", "--vary", "/job/deadline=12h,16 h", "--vary",
                                          "/cluster/count=1,2", "-j", "2"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json runs = json::parse(ran.out).at("runs");
    REQUIRE(runs.size() == 8);
    CHECK(runs[0].at("job_deadline_s") == 12 * 3600);
    CHECK(runs[0].at("cluster_count") == 1);
    CHECK(runs[2].at("cluster_count") == 2);
    CHECK(runs[7].at("varied").at("/job/deadline") == "16 h");
    CHECK(runs[7].at("variant") == "/job/deadline=16 h, /cluster/count=2");
    CHECK(runs[7].at("deadline_s") == 16 * 3600);
    CHECK(runs[7].at("policy") == "greedy");
    // greedy: an hour of spot at 1 USD, then it waits as long as it may, then 9 h at 3 USD.
    CHECK(runs[1].at("cost_usd") == 28);
    CHECK(runs[1].at("duration_s") == 12 * 3600);
    CHECK(runs[5].at("duration_s") == 16 * 3600);
    const Ran alone = vary(scratch.path(), {"--json", "--vary", "/job/deadline=12h,16 h", "--vary",
                                            "/cluster/count=1,2", "-j", "1"});
    CHECK(alone.out == ran.out);
}

TEST_CASE("ukemi replay --vary: the table has a part for each variant", "[cli][vary]") {
    const ScratchFolder scratch;
    const Ran ran = vary(scratch.path(), {"--no-files", "--vary", "/job/deadline=12h,16h"});
    CHECK(ran.code == 0);
    const std::size_t first = ran.out.find("\n/job/deadline=12h\n");
    const std::size_t second = ran.out.find("\n/job/deadline=16h\n");
    REQUIRE(first != std::string::npos);
    REQUIRE(second != std::string::npos);
    CHECK(first < ran.out.find("greedy"));
    CHECK(second < ran.out.rfind("greedy"));
    CHECK_THAT(ran.out, Catch::Contains("\n1 run a policy\n"));
    CHECK_THAT(ran.out, Catch::Contains("from 1 beginning in the trace "));
    CHECK(ran.out.find("policy ") == ran.out.rfind("policy  "));  // one heading
}

TEST_CASE("ukemi replay --vary: a results folder has a column a pointer and figures a variant",
          "[cli][vary]") {
    const ScratchFolder scratch;
    const Ran ran = vary(scratch.path(), {"--out", "out", "--vary", "/job/deadline=12h,16h,20h",
                                          "--vary", "/job/restart=0 s,300 s"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const std::string summary = text_in(scratch.path() / "out/summary.csv");
    CHECK_THAT(summary, Catch::StartsWith(
                            "scenario,trace,policy,seed,job_deadline_s,job_restart_s,oracle,"));
    CHECK_THAT(summary, Catch::Contains("\nsmall,up,greedy,1,43200,300,false,"));
    CHECK_THAT(text_in(scratch.path() / "out/policies.csv"),
               Catch::StartsWith("variant,policy,job_deadline_s,job_restart_s,runs,") &&
                   Catch::Contains(",greedy,43200,300,"));
    const json about = json::parse(text_in(scratch.path() / "out/run.json"));
    CHECK(about.at("vary") ==
          json::parse(R"([{"pointer": "/job/deadline", "values": ["12h", "16h", "20h"]},
                          {"pointer": "/job/restart", "values": ["0 s", "300 s"]}])"));
    const fs::path figures = scratch.path() / "out/figures";
    // What differs besides the deadline has a figure each: 0 s and 300 s.
    CHECK(fs::exists(figures / "cost_against_deadline.csv"));
    CHECK(fs::exists(figures / "cost_against_deadline-2.csv"));
    CHECK_FALSE(fs::exists(figures / "cost_against_deadline-3.csv"));
    CHECK_FALSE(fs::exists(figures / "cost_and_time.csv"));  // of six variants together: nothing
    CHECK(fs::exists(figures / "job-deadline-12h---job-restart-0-s/cost_and_time.csv"));
    CHECK(fs::exists(figures / "job-deadline-20h---job-restart-300-s/cost_by_cause.csv"));
    CHECK(names_in(scratch.path() / "out/runs") == Names{"job-deadline-12h---job-restart-0-s"});
    CHECK(fs::exists(figures / "timeline-greedy--up--seed-1.gp"));
    CHECK_THAT(text_in(figures / "timeline-greedy--up--seed-1.gp"),
               Catch::Contains("deadline = 12\n"));

    // The deadline is what most values were given for: it is the axis, and restarts are columns.
    const std::string means = text_in(scratch.path() / "out/policies.csv");
    const std::string variation = text_in(figures / "variation.csv");
    CHECK_THAT(variation, Catch::StartsWith("line,job_deadline_h,cost_usd_mean,"));
    CHECK_THAT(variation, Catch::Contains(",greedy,restart 0 s\n") &&
                              Catch::Contains(",on_demand,restart 300 s\n"));
    // greedy at 12 h, as policies.csv has it: 28 USD, without an interval of one run.
    CHECK_THAT(means,
               Catch::Contains("/job/deadline=12h, /job/restart=0 s\",greedy,43200,0,1,0,1,28,,,"));
    CHECK_THAT(variation, Catch::Contains(",12,28,,,12,,,0,greedy,restart 0 s\n"));
    CHECK_THAT(text_in(figures / "variation.gp"),
               Catch::Contains("'cost and time against deadline'") &&
                   Catch::Contains("axis_text = 'deadline (h)'"));

    const Names drawn = names_in(figures);
    fs::remove_all(figures);
    CHECK(run_ukemi(scratch.path(), {"plot", "out"}).code == 0);
    CHECK(names_in(figures) == drawn);
}

TEST_CASE("varied axis: the largest unit in which all numbers are short", "[vary]") {
    const auto axis_of = [](const std::vector<std::string>& values) {
        const auto axis = analysis::varied_axis("/job/deadline", values);
        REQUIRE(axis);
        return fmt::format("{}: {}", axis->name, axis->at.front());
    };
    CHECK(axis_of({"52 h", "60 h", "100 h"}) == "deadline (h): 52");
    CHECK(axis_of({"48 h", "60 h"}) == "deadline (d): 2");
    CHECK(axis_of({"30 min", "45 min", "2 h"}) == "deadline (h): 0.5");
    CHECK(axis_of({"40 min", "1 h"}) == "deadline (min): 40");
    CHECK(axis_of({"100 s", "1000 s"}) == "deadline (s): 100");
    CHECK(axis_of({"7 s", "1.001 s"}) == "deadline (ms): 7000");
}

TEST_CASE("varied axis: what no unit suits stands as it is written", "[vary]") {
    const auto axis = analysis::varied_axis("/job/restart", std::vector<std::string>{"1ms", "10h"});
    REQUIRE(axis);
    CHECK(axis->name == "restart");
    CHECK(axis->column == "job_restart_ms");
    CHECK(axis->tics == std::map<double, std::string>{{1, "1ms"}, {3.6e7, "10h"}});
}

TEST_CASE("ukemi diff: variants are not compared as if they were one scenario", "[cli][vary]") {
    const ScratchFolder scratch;
    REQUIRE(vary(scratch.path(), {"--out", "out", "--vary", "/seed=1,2"}).code == 0);
    const Ran ran = run_ukemi(scratch.path(), {"diff", "out", "out"});
    CHECK(ran.code == 2);
    CHECK(ran.err == "ukemi: out: holds variants of a scenario: expected the runs of one\n");
}

TEST_CASE("ukemi replay --vary: what varies is part of the folder's name", "[cli][vary]") {
    const ScratchFolder scratch;
    CHECK(vary(scratch.path(), {}).code == 0);
    CHECK(vary(scratch.path(), {"--vary", "/seed=1"}).code == 0);
    CHECK(vary(scratch.path(), {"--vary", "/seed=1,2"}).code == 0);
    CHECK(names_in(scratch.path() / "results").size() == 3);
}

TEST_CASE("folders of variants: names that would be alike are told apart", "[vary]") {
    analysis::FolderNames folders;
    CHECK(folders.of("/job/restart=0 s") == "job-restart-0-s");
    CHECK(folders.of("/job/restart=0-s") == "job-restart-0-s-");
    CHECK(folders.of("/job/restart=0 s") == "job-restart-0-s");
}

TEST_CASE("ukemi replay --vary: a wrong value, key or combination is one line", "[cli][vary]") {
    struct Wrong {
        std::vector<std::string> options;
        const char* complaint;
    };
    const Wrong wrong[] = {
        {{"--vary", "/job/deadline=12h,never"},
         "--vary /job/deadline=never: small.json: at /job/deadline: expected a duration such as"},
        {{"--vary", "/job/dedline=12h"},
         "--vary /job/dedline=12h: small.json: at /job: unknown key \"dedline\" (did you mean "
         "\"deadline\"?)\n"},
        {{"--vary", "/seed=1,2", "--seeds", "1..3"},
         "--vary /seed: has no effect beside --seeds\n"},
        {{"--vary", "/replay/0=greedy", "--policies", "on_demand"},
         "--vary /replay/0: has no effect beside --policies\n"},
        {{"--vary", "/market/availability=a.csv"},
         "--vary /market/availability: has no effect beside --traces\n"},
        {{"--vary", "/seed=1,2", "--set", "/seed=3"}, "--vary /seed: would undo --set /seed\n"},
        {{"--vary", "/seed"}, "--vary: expected /json/pointer=VALUE,VALUE…, found \"/seed\"\n"},
    };
    const ScratchFolder scratch;
    for (const Wrong& each : wrong) {
        CAPTURE(each.options);
        const Ran ran = vary(scratch.path(), each.options);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::StartsWith(std::string("ukemi: ") + each.complaint));
        CHECK_FALSE(fs::exists(scratch.path() / "results"));
    }
}

TEST_CASE("ukemi replay --zones: the files of --traces are one market", "[cli][zones]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", small_varied);
    // East for the first hour, west from then on; west has prices of its own.
    write_file(scratch.path() / "m/east.csv", capacity_csv);
    write_file(scratch.path() / "m/west.csv", "# duration_s=72000\nt_s,instances\n0,0\n3600,1\n");
    write_file(scratch.path() / "m/west.price.csv",
               "# duration_s=72000\nt_s,usd_per_instance_hour\n0,2\n");
    const std::vector<std::string> options = {"replay",  "small.json", "--traces",
                                              "m/*.csv", "--policies", "follow_capacity+greedy",
                                              "--zones"};
    std::vector<std::string> as_json = options;
    as_json.push_back("--json");
    const Ran ran = run_ukemi(scratch.path(), as_json);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json runs = json::parse(ran.out).at("runs");
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].at("trace") == "east+2");
    // One hour at 1 USD in the east, nine at 2 USD in the west.
    CHECK(runs[0].at("cost_usd") == 19);
    CHECK(runs[0].at("revocations") == 1);
    std::vector<std::string> with_files = options;
    with_files.insert(with_files.end(), {"--out", "out"});
    const Ran kept = run_ukemi(scratch.path(), with_files);
    CHECK(kept.code == 0);
    CHECK_THAT(kept.out, Catch::Contains("market: 2 zones, 1 with prices of their own\n"
                                         "market: not every file says when it was recorded"));
    CHECK(json::parse(text_in(scratch.path() / "out/run.json")).at("zones") == true);
    const Ran alone = run_ukemi(scratch.path(), {"replay", "small.json", "--zones"});
    CHECK(alone.code == 2);
    CHECK(alone.err == "ukemi: --zones: expected --traces beside it: the files of the zones\n");
}

// What a key decides by default is each variant's own in the results' own run, too.
TEST_CASE("results of variants without a market run again as they were", "[cli][vary]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "steps.json",
               R"({"name": "steps", "seed": 1, "cluster": {"machine": "p3.2xlarge", "count": 2},
                   "job": {"model": "resnet50", "batch": 8, "steps": 3}})");
    write_file(scratch.path() / "shared.json",
               R"({"name": "shared", "cluster": {"gpus_per_machine": 8},
                   "jobs": [{"service": "1 h"}, {"service": "2 h", "gpus": 4}],
                   "schedulers": [{"name": "fifo"}]})");
    const auto about = [&](const std::string& folder) {
        return json::parse(text_in(scratch.path() / folder / "run.json"));
    };
    const auto expect_again = [&](const std::string& command, const std::string& scenario,
                                  const std::string& table, std::vector<std::string> options) {
        CAPTURE(command, options);
        std::vector<std::string> first = {command, scenario, "--out", "out", "--force"};
        first.insert(first.end(), options.begin(), options.end());
        const Ran ran = run_ukemi(scratch.path(), first);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        REQUIRE(run_ukemi(scratch.path(), {command, "out", "--out", "again", "--force"}).code == 0);
        CHECK(text_in(scratch.path() / "again" / table) == text_in(scratch.path() / "out" / table));
        CHECK(about("again").at("results_hash") == about("out").at("results_hash"));
        // And what is kept of it is the same once more.
        CHECK(about("again").value("varied_from", json()) ==
              about("out").value("varied_from", json()));
    };
    const auto steps = [&](const std::vector<std::string>& options) {
        expect_again("simulate", "steps.json", "simulate.csv", options);
    };
    steps({});
    steps({"--vary", "/cluster/count=2,8"});
    steps({"--vary", "/cluster/machine=p3.2xlarge,dgx_h100"});
    steps({"--vary", "/job/model=resnet50,vgg16", "--set", "/job/steps=4"});
    CHECK(about("out").at("varied_from").at("job").at("steps") == 4);
    steps({"--vary", "/cluster/count=2,4", "--vary", "/job/model=resnet50,bert_base"});
    expect_again("schedule", "shared.json", "schedule.csv",
                 {"--vary", "/cluster/gpus_per_machine=8,16", "--schedulers", "srtf"});

    json older = about("out");
    older.erase("varied_from");
    write_file(scratch.path() / "older/run.json", older.dump());
    const Ran refused = run_ukemi(scratch.path(), {"schedule", "older"});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Catch::Contains("is of an older ukemi"));
}

TEST_CASE("ukemi replay --vary: what adds up the gradients is said of each variant",
          "[cli][vary]") {
    const ScratchFolder scratch;
    const fs::path folder = scratch.path();
    for (const std::string collective : {"ring", "star"}) {
        write_file(folder / (collective + ".json"), fmt::format(R"({{"name": "steps", "seed": 1,
                       "cluster": {{"machine": "p3.2xlarge", "count": 2}},
                       "job": {{"model": "resnet50", "batch": 8, "steps": 2,
                                "collective": "{}"}}}})",
                                                                collective));
    }
    write_file(folder / "job.json", R"({"name": "job", "seed": 1,
        "job": {"samples": 1000, "batch": 16,
                "step_time": {"simulated": {"steps": "ring.json", "batches": [8]}}},
        "cluster": {"count": 2}, "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
        "replay": ["on_demand"]})");
    const std::string steps = "/job/step_time/simulated/steps=";
    const auto said = [&](const std::string& values) {
        const Ran ran =
            run_ukemi(folder, {"replay", "job.json", "--no-files", "--vary", steps + values});
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        return ran.out;
    };
    const std::string both = said("ring.json,star.json");
    CHECK_THAT(both, Catch::Contains(steps + "ring.json: simulated steps: ring.json: ring\n"));
    CHECK_THAT(both, Catch::Contains(steps + "star.json: simulated steps: star.json: star\n"));
}

}  // namespace ukemi
