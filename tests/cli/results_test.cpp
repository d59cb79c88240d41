// results_test.cpp — the folder that a replay leaves behind, all of it or nothing.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"
#include "tests/plots/scratch_folder.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string small_result = R"({"name": "small", "seed": 1,
 "job": {"work": "10 h", "deadline": "20 h"},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["on_demand", "greedy"]})";

Ran replay(const fs::path& folder, std::vector<std::string> options) {
    write_file(folder / "small.json", small_result);
    options.insert(options.begin(), {"replay", "small.json"});
    return run_ukemi(folder, options);
}

}  // namespace

TEST_CASE("results: a folder holds how to repeat the runs and all that came of them",
          "[cli][results]") {
    const ScratchFolder scratch;
    const Ran ran = replay(scratch.path(), {"--out", "out", "--log-events", "--details", "all"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("\nresults: out\n"));
    CHECK(names_in(scratch.path()) == Names{"out", "small.json"});
    CHECK(names_in(scratch.path() / "out") == Names{"figures", "manifest.json", "policies.csv",
                                                    "run.json", "runs", "runs.json",
                                                    "summary.csv"});
    CHECK(names_in(scratch.path() / "out/runs") ==
          Names{"greedy--small--seed-1", "on_demand--small--seed-1"});
    CHECK(names_in(scratch.path() / "out/runs/greedy--small--seed-1") ==
          Names{"decisions.jsonl", "events.jsonl", "timeline.csv"});
    const json about = json::parse(text_in(scratch.path() / "out/run.json"));
    CHECK(about.at("scenario").at("job").at("work") == "10 h");
    CHECK(about.at("scenario_file") == "small.json");
    CHECK(about.at("policies") == json({"on_demand", "greedy"}));
    CHECK(about.at("seeds") == json({1}));
    CHECK(about.at("ukemi").contains("commit"));
    const json runs = json::parse(text_in(scratch.path() / "out/runs.json")).at("runs");
    CHECK(runs.size() == 2);

    // Not a word of it depends on when it was made, or on whether one looked at the events.
    REQUIRE(replay(scratch.path(), {"--out", "again"}).code == 0);
    for (const char* file : {"runs.json", "summary.csv"}) {
        CHECK(text_in(scratch.path() / "again" / file) == text_in(scratch.path() / "out" / file));
    }
    json inputs = about;
    json inputs_again = json::parse(text_in(scratch.path() / "again/run.json"));
    CHECK(inputs.erase("typed") == 1);  // the line itself names the folder
    CHECK(inputs_again.erase("typed") == 1);
    CHECK(inputs_again == inputs);
}

TEST_CASE("results: a timeline of several zones shows from the lowest price to the highest",
          "[cli][results]") {
    const ScratchFolder scratch;
    const std::string file = shipped("market/three_zones.json").string();
    const Ran ran = run_ukemi(scratch.path(), {"replay", file, "--policies", "greedy,on_demand",
                                               "--set", "/job/work=40 h", "--out", "r"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const std::string name = "greedy--h100-16-launch--seed-1";
    const fs::path own = scratch.path() / "r/runs" / name / "timeline.csv";
    CHECK_THAT(text_in(own), Catch::Contains(",spot_usd_per_instance_hour_highest\n"));
    const fs::path script = scratch.path() / "r/figures" / ("timeline-" + name + ".gp");
    CHECK_THAT(text_in(script), Catch::Contains("title 'lowest price'"));
    CHECK(text_in(script).find("first zone") == std::string::npos);
    CHECK_THAT(text_in(scratch.path() / "r/figures/cost_by_cause.csv"),
               Catch::Contains(",total_usd,spot_usd,on_demand_usd,policy\n"));

    // Those of older versions have the first zone's alone, which is said.
    std::string older;
    for (const std::string& line : lines_of(text_in(own))) {
        const std::size_t highest = line.rfind(',');
        older += line.substr(0, line.rfind(',', highest - 1)) + "\n";
    }
    write_file(own, older);
    REQUIRE(run_ukemi(scratch.path(), {"plot", "r"}).code == 0);
    CHECK_THAT(text_in(script), Catch::Contains("price of the first zone'\n"));
}

TEST_CASE("results: without --out the folder is named after scenario and inputs",
          "[cli][results]") {
    const ScratchFolder scratch;
    CHECK(replay(scratch.path(), {}).code == 0);
    CHECK(replay(scratch.path(), {"--seeds", "1..2"}).code == 0);
    const Names folders = names_in(scratch.path() / "results");
    REQUIRE(folders.size() == 2);
    for (const std::string& name : folders) CHECK_THAT(name, Catch::StartsWith("small-"));
}

TEST_CASE("results: what is there is only replaced with --force", "[cli][results]") {
    const ScratchFolder scratch;
    REQUIRE(replay(scratch.path(), {"--out", "out"}).code == 0);
    const Ran again = replay(scratch.path(), {"--out", "out"});
    CHECK(again.code == 2);
    CHECK(again.err == "ukemi: out: results are there already; --force replaces them\n");
    const Ran forced = replay(scratch.path(), {"--out", "out", "--force", "--policies", "greedy"});
    CHECK(forced.code == 0);
    CHECK(names_in(scratch.path() / "out/runs") == Names{"greedy--small--seed-1"});
    CHECK(names_in(scratch.path()) == Names{"out", "small.json"});
    fs::create_directories(scratch.path() / "empty");
    CHECK(replay(scratch.path(), {"--out", "empty"}).code == 0);
}

TEST_CASE("results: a run that fails leaves nothing behind", "[cli][results]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "t/a.csv", capacity_csv);
    write_file(scratch.path() / "t/b.csv", "# id=x duration_s=7200\nt_s,instances\n0,1\n-5,0\n");
    write_file(scratch.path() / "t/c.csv", capacity_csv);
    for (const char* details : {"none", "all"}) {
        const Ran ran = replay(
            scratch.path(), {"--out", "deep/er/out", "--traces", "t/*.csv", "--details", details});
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::StartsWith("ukemi: t/b.csv:4:1: "));
        CHECK(names_in(scratch.path()) == Names{"small.json", "t"});
    }
}

TEST_CASE("results: a place that cannot be written to is found before the runs", "[cli][results]") {
    const ScratchFolder scratch;
    const Ran file = replay(scratch.path(), {"--out", "small.json/out"});
    CHECK(file.code == 2);
    CHECK(is_one_line(file.err));
    CHECK_THAT(file.err, Catch::Contains("small.json: expected a folder, found a file"));
    const Ran proc = replay(scratch.path(), {"--out", "/proc/ukemi"});
    CHECK(proc.code == 1);
    CHECK(is_one_line(proc.err));
    CHECK_THAT(proc.err, Catch::StartsWith("ukemi: /proc"));
}

TEST_CASE("results: without gnuplot it is said where data and scripts are", "[cli][results]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", small_result);
    const Ran ran =
        run_program("/bin/sh", scratch.path(),
                    {"-c", "PATH=/nowhere; " UKEMI_BINARY " replay small.json --out out"});
    CHECK(ran.code == 0);
    CHECK(ran.err ==
          "figures: gnuplot was not found (Debian package gnuplot-nox): figures are skipped, their "
          "data and scripts are in out/figures\n");
    CHECK(fs::exists(scratch.path() / "out/figures/cost_and_time.gp"));
}

TEST_CASE("results: a picture that does not fit the disk is a failure, and is not left",
          "[cli][results]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", small_result);
    // Files end at 16 KiB, and who writes more is told so and goes on, as on a full disk.
    const Ran ran = run_program(
        "/bin/sh", scratch.path(),
        {"-c", "trap '' XFSZ; ulimit -f 32; " UKEMI_BINARY " replay small.json --out out"});
    CHECK(ran.code == 1);
    CHECK_THAT(ran.out, Catch::Contains("results: out"));
    CHECK_THAT(ran.err, Catch::StartsWith("figures: out/figures/") &&
                            Catch::Contains("is cut short (is the disk full?)"));
    CHECK(fs::exists(scratch.path() / "out/runs.json"));
    CHECK_FALSE(fs::exists(scratch.path() / "out/figures/cost_and_time.png"));
}

TEST_CASE("results: a name is text in a table, and no formula", "[cli][results]") {
    const ScratchFolder scratch;
    std::string hostile = small_result;
    hostile.replace(hostile.find("small"), 5, "=HYPERLINK(A1)");
    write_file(scratch.path() / "small.json", hostile);
    const Ran ran = run_ukemi(scratch.path(), {"replay", "small.json", "--out", "out"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(text_in(scratch.path() / "out/summary.csv"), Catch::Contains("\n'=HYPERLINK(A1),"));
    CHECK_THAT(text_in(scratch.path() / "out/runs.json"), Catch::Contains("\"=HYPERLINK(A1)\""));
}

TEST_CASE("ukemi plot: draws again what a results folder holds", "[cli][results]") {
    const ScratchFolder scratch;
    REQUIRE(replay(scratch.path(), {"--out", "out"}).code == 0);
    const Names drawn = names_in(scratch.path() / "out/figures");
    fs::remove_all(scratch.path() / "out/figures");
    const Ran ran = run_ukemi(scratch.path(), {"plot", "out"});
    CHECK(ran.code == 0);
    CHECK(names_in(scratch.path() / "out/figures") == drawn);
    CHECK(run_ukemi(scratch.path(), {"plot", "out", "--out", "elsewhere"}).code == 0);
    CHECK(names_in(scratch.path() / "elsewhere") == drawn);
}

TEST_CASE("ukemi plot: what is no results folder, or a damaged one, is refused", "[cli][results]") {
    const ScratchFolder scratch;
    fs::create_directories(scratch.path() / "empty");
    const Ran none = run_ukemi(scratch.path(), {"plot", "empty"});
    CHECK(none.code == 2);
    CHECK(none.err == "ukemi: empty: is no results folder: runs.json or run.json is missing\n");
    write_file(scratch.path() / "empty/compare.json", "{}");
    const Ran compared = run_ukemi(scratch.path(), {"plot", "empty"});
    CHECK(compared.code == 2);
    CHECK(compared.err ==
          "ukemi: empty: is of ukemi compare, which draws its figures itself: ukemi compare FOLDER "
          "--out NEW, with --width and what else figures have\n");
    REQUIRE(replay(scratch.path(), {"--out", "out"}).code == 0);
    const std::string text = text_in(scratch.path() / "out/runs.json");
    write_file(scratch.path() / "out/runs.json", text.substr(0, text.size() / 2));
    const Ran cut = run_ukemi(scratch.path(), {"plot", "out"});
    CHECK(cut.code == 2);
    CHECK(is_one_line(cut.err));
    CHECK_THAT(cut.err, Catch::StartsWith("ukemi: out: damaged: "));
}

}  // namespace ukemi
