// trace_findings_test.cpp — what readers of traces found is said by every command that reads them,
// and files that belong together, or have one name, are not mixed up.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string job_of_an_hour = R"({"name": "small", "seed": 1,
 "job": {"work": "1 h", "deadline": "3 h"},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["on_demand", "greedy"]})";

// Four hours, of which the samples of one and a half are missing.
const std::string with_hole =
    "date,availability,note\n2024-01-01 00:00:00,1,x\n2024-01-01 00:30:00,1,x\n"
    "2024-01-01 01:00:00,1,x\n2024-01-01 02:30:00,0,x\n2024-01-01 03:00:00,1,x\n"
    "2024-01-01 03:30:00,1,x\n";

const std::string hole =
    "with_hole: samples are missing, and the value before each hole is held (ukemi import says "
    "where)";
const std::string unread = "with_hole: columns not read: \"note\"";

}  // namespace

TEST_CASE("ukemi replay: what the reader of a trace found is among the warnings", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", job_of_an_hour);
    write_file(scratch.path() / "with_hole.csv", with_hole);
    const Ran ran =
        run_ukemi(scratch.path(), {"replay", "small.json", "--traces", "with_hole.csv", "--json"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json warnings = json::parse(ran.out).at("warnings");
    for (const std::string& one : {hole, unread}) {
        CHECK_THAT(ran.err, Catch::Contains("warning: " + one + "\n"));
        CHECK(std::ranges::find(warnings, json(one)) != warnings.end());
    }
    CHECK(
        run_ukemi(scratch.path(), {"replay", "small.json", "--traces", "with_hole.csv", "--strict"})
            .code == 2);
    // Of zones, and of a file that the scenario names.
    write_file(scratch.path() / "whole.csv", "t_s,instances\n0,1\n36000,1\n");
    CHECK_THAT(run_ukemi(scratch.path(),
                         {"replay", "small.json", "--traces", "w*.csv", "--zones", "--no-files"})
                   .err,
               Catch::Contains(hole.substr(hole.find(": ") + 2)));
    CHECK_THAT(run_ukemi(scratch.path(), {"replay", "small.json", "--set",
                                          "/market/availability=with_hole.csv", "--no-files"})
                   .err,
               Catch::Contains("warning: " + hole + "\n"));
}

TEST_CASE("ukemi describe and fit: warn of what the reader of a trace found", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "with_hole.csv", with_hole);
    write_file(scratch.path() / "other.csv", with_hole);
    const Ran described = run_ukemi(scratch.path(), {"describe", "with_hole.csv", "other.csv"});
    CHECK(described.code == 0);
    CHECK_THAT(described.err, Catch::Contains("warning: with_hole.csv and 1 more: samples are "
                                              "missing"));
    CHECK_THAT(described.err, Catch::Contains("with_hole.csv and 1 more: columns not read: "
                                              "\"note\"\n"));
    const Ran fitted = run_ukemi(scratch.path(), {"fit", "with_hole.csv"});
    CHECK(fitted.code == 0);
    CHECK_THAT(fitted.err, Catch::Contains("warning: with_hole.csv: samples are missing"));
    CHECK_NOTHROW(json::parse(fitted.out));
}

TEST_CASE("ukemi replay: the two files of a zone are no two markets", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", job_of_an_hour);
    write_file(scratch.path() / "t/a.availability.csv", "t_s,instances\n0,1\n3600,0\n7200,0\n");
    write_file(scratch.path() / "t/a.price.csv", "t_s,usd_per_instance_hour\n0,0.5\n7200,0.5\n");
    std::vector<std::string> command{"replay", "small.json", "--traces", "t/*.csv", "--no-files"};
    const Ran apart = run_ukemi(scratch.path(), command);
    CHECK(apart.code == 2);
    CHECK(apart.out.empty());
    CHECK(apart.err ==
          "ukemi: t/a.price.csv: has the prices of \"a.availability.csv\", and each file is a "
          "market of its own: expected --zones, which makes one market of all\n");
    command.emplace_back("--zones");
    CHECK(run_ukemi(scratch.path(), command).code == 0);
    const Ran alone = run_ukemi(
        scratch.path(), {"replay", "small.json", "--traces", "t/a.price.csv", "--no-files"});
    CHECK(alone.code == 0);
    CHECK_THAT(alone.err,
               Catch::Contains("warning: a.price: zone \"a.price\" has prices alone, so that all "
                               "its machines are always there"));
}

TEST_CASE("ukemi fit: what never had a machine is refused, and what lost none is described",
          "[cli][fit]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "never.csv", "t_s,instances\n0,0\n36000,0\n");
    const Ran never = run_ukemi(scratch.path(), {"fit", "never.csv", "--out", "never.json"});
    CHECK(never.code == 2);
    CHECK(never.err ==
          "ukemi: never.csv: expected a record that has machines at some time, found none: there "
          "is nothing to fit (ukemi replay --traces plays it as it is)\n");
    CHECK(!fs::exists(scratch.path() / "never.json"));
    write_file(scratch.path() / "rising.csv", "# duration_s=36000\nt_s,instances\n0,0\n9000,4\n");
    const Ran rising = run_ukemi(scratch.path(), {"fit", "rising.csv", "--out", "rising.json"});
    CHECK(rising.code == 0);
    CHECK_THAT(rising.out, Catch::Contains("no loss in the series: the market always has 4, and "
                                           "the record had 75.0 % of them on average\n"));
}

TEST_CASE("ukemi import: files of one name keep apart what is written of them", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "east/x.csv", "t_s,instances\n0,1\n60,1\n");
    write_file(scratch.path() / "west/x.csv", "t_s,instances\n0,2\n60,2\n");
    const Ran ran = run_ukemi(scratch.path(), {"import", "east/x.csv", "west/x.csv", "--out", "p"});
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK(names_in(scratch.path() / "p") ==
          std::vector<std::string>{"east-x.availability.csv", "west-x.availability.csv"});
    CHECK_THAT(text_in(scratch.path() / "p/west-x.availability.csv"), Catch::Contains("\n0,2\n"));
    // One file, and files of different names, are called as before.
    CHECK(run_ukemi(scratch.path(), {"import", "west/x.csv", "--out", "q"}).code == 0);
    CHECK(names_in(scratch.path() / "q") == std::vector<std::string>{"x.availability.csv"});
    // Told apart by what a file's name cannot hold, they would meet again: nothing is written.
    write_file(scratch.path() / "east-x.csv", "t_s,instances\n0,3\n60,3\n");
    const Ran met = run_ukemi(scratch.path(),
                              {"import", "east/x.csv", "west/x.csv", "east-x.csv", "--out", "r"});
    CHECK(met.code == 2);
    CHECK_THAT(met.err, Catch::Contains("would be called as those of another file, \"east-x\""));
    CHECK(met.out.empty());
    CHECK(!fs::exists(scratch.path() / "r"));
}

}  // namespace ukemi
