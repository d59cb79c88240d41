// advise_test.cpp — `ukemi advise`: what a world in another language is told, and how it is
// refused.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// With the text on standard input.
Ran advise(const fs::path& folder, const std::string& arguments, const std::string& said) {
    write_file(folder / "said.jsonl", said);
    return run_program("/bin/sh", folder,
                       {"-c", "exec " UKEMI_BINARY " advise " + arguments + " < said.jsonl"});
}

std::string without_header(const std::string& log) { return log.substr(log.find('\n') + 1); }

const std::string asked =
    R"({"record":"question","event":{"hook":"before_train","kind":"none"},"seen":{"now_ns":0,)"
    R"("phase":"waiting","samples_done":0,"samples_total":720000000000000,"workers_min":8,)"
    R"("spot_capacity":8,"deadline_ns":216000000000000}})";

}  // namespace

TEST_CASE("ukemi advise: the answers to a recorded run are the run's own, byte by byte",
          "[cli][advise]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("market/demo.json").string();
    const std::string policies = GENERATE("greedy+daly", "uniform_progress", "time_sliced+daly");
    CAPTURE(policies);
    const Ran replayed =
        run_ukemi(scratch.path(), {"replay", scenario, "--policies", policies, "--seeds", "3",
                                   "--out", "run", "--log-observations"});
    INFO(replayed.err);
    REQUIRE(replayed.code == 0);
    const auto runs = names_in(scratch.path() / "run/runs");
    REQUIRE(runs.size() == 1);
    const std::string log = text_in(scratch.path() / "run/runs" / runs[0] / "decisions.jsonl");
    REQUIRE(lines_of(log).size() > 50);
    const Ran ran =
        advise(scratch.path(), scenario + " --seed 3 --policies " + policies, without_header(log));
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK(without_header(ran.out) == without_header(log));

    // And what comes is a log by itself.
    write_file(scratch.path() / "advice.jsonl", ran.out);
    const Ran again = run_ukemi(scratch.path(), {"replay-log", "advice.jsonl"});
    CHECK(again.code == 0);
    CHECK_THAT(again.out, Catch::Contains(", 0 answered otherwise\n"));
}

TEST_CASE("ukemi advise: a line that is wrong is one complaint, and what was answered stands",
          "[cli][advise]") {
    const ScratchFolder scratch;
    // Its first Plan takes spot, so this is a change.
    const std::string demo = shipped("market/demo.json").string() + " --policies on_demand";
    const auto complaint = [&](const std::string& line) {
        const Ran ran = advise(scratch.path(), demo, asked + "\n" + line + "\n");
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK(lines_of(ran.out).size() == 2);  // the header, and the answer to the first
        return ran.err;
    };
    CHECK_THAT(complaint("{"), Catch::StartsWith("ukemi: standard input:2:1: "));
    CHECK_THAT(complaint(""), Catch::StartsWith("ukemi: standard input:2:1: "));
    CHECK_THAT(complaint("[]"), Catch::StartsWith("ukemi: standard input:2:1: "));
    CHECK_THAT(complaint(R"({"record":"header"})"),
               Catch::Contains("expected the record \"question\", \"committed\" or \"discarded\", "
                               "found \"header\""));
    CHECK_THAT(complaint(asked), Catch::Contains("before the last Plan was settled"));
    CHECK_THAT(complaint(R"({"record":"committed","version":7})"),
               Catch::Contains("expected version 1"));
    const std::string settled = "{\"record\":\"committed\",\"version\":1}\n";
    const Ran twice = advise(scratch.path(), demo, asked + "\n" + settled + settled);
    CHECK(twice.code == 2);
    CHECK_THAT(twice.err, Catch::Contains("standard input:3:1: a Plan that nobody proposed"));
    CHECK(lines_of(twice.out).size() == 3);
    const Ran unknown = advise(scratch.path(), demo,
                               std::string(asked).replace(asked.find("phase"), 5, "fase") + "\n");
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, Catch::Contains("standard input:1:1: ") && Catch::Contains("fase"));
}

TEST_CASE("ukemi advise: lists that cannot answer are refused", "[cli][advise]") {
    const ScratchFolder scratch;
    const std::string demo = shipped("market/demo.json").string();
    const Ran two = advise(scratch.path(), demo + " --policies greedy,on_demand", "");
    CHECK(two.code == 2);
    CHECK_THAT(two.err, Catch::Contains("expected one list of policies, found 2"));
    const Ran oracle = advise(scratch.path(), demo + " --policies ideal_no_overhead", "");
    CHECK(oracle.code == 2);
    CHECK_THAT(oracle.err, Catch::Contains("oracle"));
    const Ran nothing = advise(scratch.path(), demo + " --policies greedy", "");
    CHECK(nothing.code == 0);
    const json header = json::parse(nothing.out);
    CHECK(header.at("version") == 1);
    CHECK(header.at("questions") == "all");
}

TEST_CASE("ukemi advise: the client in Python runs its market to the end", "[cli][advise]") {
    const ScratchFolder scratch;
    if (run_program("/bin/sh", scratch.path(), {"-c", "command -v python3"}).code != 0) {
        WARN("skipped: python3 is missing");
        return;
    }
    const fs::path client = fs::path(UKEMI_SOURCE_DIR) / "examples/advise/client.py";
    CHECK(lines_of(text_in(client)).size() < 60);
    const Ran ran = run_program("/usr/bin/env", scratch.path(),
                                {"python3", client.string(), UKEMI_BINARY,
                                 shipped("market/demo.json").string(), "--policies", "greedy"});
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::StartsWith("hour 0: spot\nhour 5: none\nhour 8: spot\n") &&
                            Catch::EndsWith("done in 40 hours\n"));
    const Ran refused =
        run_program("/usr/bin/env", scratch.path(),
                    {"python3", client.string(), UKEMI_BINARY, "demo", "--policies", "gredy"});
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Catch::Contains("gredy"));
}

}  // namespace ukemi
