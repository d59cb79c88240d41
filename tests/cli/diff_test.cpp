// diff_test.cpp — `ukemi diff`: two results folders side by side, and what is no such pair.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/run_comparison.hpp"
#include "base/input_error.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A results folder by hand: one run with these numbers among others.
void write_results(const fs::path& folder, const json& numbers,
                   const json& scenario = {{"name", "by hand"}}) {
    json run = {{"policy", "greedy"}, {"trace", "calm"}, {"seed", 1}};
    if (numbers.is_object()) run.update(numbers);
    write_file(folder / "run.json", json{{"scenario", scenario}}.dump());
    write_file(folder / "runs.json", json{{"runs", {run}}}.dump());
}

const analysis::ComparedQuantity& named(const analysis::ComparedResult& run,
                                        const std::string& name) {
    for (const analysis::ComparedQuantity& quantity : run.quantities) {
        if (quantity.name == name) return quantity;
    }
    throw std::runtime_error("no " + name);
}

// The lines of a log that commits these Plans, a second apart.
std::string log_of(const std::vector<json>& plans) {
    std::string text = json{{"record", "header"}, {"plan", plans.front()}}.dump() + "\n";
    for (std::size_t i = 1; i < plans.size(); ++i) {
        text += json{{"record", "question"},
                     {"seen", {{"now_ns", 1'000'000'000 * i}}},
                     {"proposed", plans[i]}}
                    .dump() +
                "\n";
        text += json{{"record", "committed"}, {"version", i}}.dump() + "\n";
    }
    return text;
}

analysis::DecisionComparison compared(const std::string& predicted, const std::string& measured) {
    return analysis::compare_decisions(predicted, "sim.jsonl", measured, "live.jsonl");
}

}  // namespace

TEST_CASE("ukemi diff: a run beside itself has no error and the same decisions", "[cli][diff]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("smoke/two_zones.json").string();
    REQUIRE(run_ukemi(scratch.path(), {"replay", scenario, "--out", "a"}).code == 0);
    const Ran table = run_ukemi(scratch.path(), {"diff", "a", "a"});
    INFO(table.out << table.err);
    CHECK(table.code == 0);
    CHECK(table.err.empty());
    CHECK_THAT(table.out, Catch::StartsWith("scenario: two_zones\n") &&
                              Catch::Contains(" changes, equal\n") &&
                              Catch::EndsWith("relative to what was measured\n"));
    const Ran ran = run_ukemi(scratch.path(), {"diff", "a", "a", "--json"});
    REQUIRE(ran.code == 0);
    const json document = json::parse(ran.out);
    CHECK(document.at("scenario_differences").empty());
    CHECK(document.at("only_predicted").empty());
    REQUIRE(document.at("runs").size() == 3);
    for (const json& run : document.at("runs")) {
        CHECK(run.at("decisions").at("equal") == true);
        CHECK(run.at("decisions").at("predicted_count") > 5);
        CHECK(run.at("quantities").size() > 20);
        for (const json& quantity : run.at("quantities")) {
            CAPTURE(quantity.at("name"));
            CHECK((quantity.contains("equal") ? quantity.at("equal") == true
                                              : quantity.at("error") == 0));
        }
    }
}

TEST_CASE("comparison: errors are predicted less measured, relative to what was measured",
          "[cli][diff]") {
    const ScratchFolder scratch;
    const fs::path sim = scratch.path() / "sim";
    const fs::path live = scratch.path() / "live";
    write_results(sim, {{"duration_s", 100},
                        {"samples", 600},
                        {"transitions", 2},
                        {"plans", 0},
                        {"redone_s", 3},
                        {"loss", nullptr},
                        {"finished", true}});
    write_results(live, {{"duration_s", 80},
                         {"samples", 600},
                         {"transitions", 3},
                         {"plans", 0},
                         {"redone_s", 0},
                         {"loss", "nan"},
                         {"steps", 30},
                         {"finished", false}});
    // Both trained for 60 s and 40 s; the transitions took 20 s and 30 s of wall time.
    const std::string header = "t_s,phase,progress\n";
    write_file(sim / "runs/greedy--calm--seed-1/timeline.csv",
               header + "0,transition,0\n20,running,0\n80,waiting,1\n100,finished,1\n");
    write_file(live / "runs/greedy--calm--seed-1/timeline.csv",
               header +
                   "0,transition,0\n30,running,0\n50,checkpointing,0.5\n60,running,0.5\n"
                   "80,finished,1\n");
    const analysis::ResultsComparison comparison = analysis::compare_results(sim, live);
    REQUIRE(comparison.runs.size() == 1);
    const analysis::ComparedResult& run = comparison.runs.front();
    CHECK(named(run, "duration_s").error() == 20);
    CHECK(named(run, "duration_s").relative() == 0.25);
    CHECK_FALSE(named(run, "finished").error().has_value());  // an answer
    CHECK(named(run, "finished").equal() == false);
    CHECK_FALSE(named(run, "duration_s").equal().has_value());
    CHECK(named(run, "training_s").error() == 20);
    CHECK(named(run, "training_samples_per_s").predicted == 10);
    CHECK(named(run, "training_samples_per_s").measured == 15);
    CHECK(named(run, "transition_wall_s_mean").predicted == 10);
    CHECK(named(run, "transition_wall_s_mean").measured == 10);
    CHECK(named(run, "redone_s").error() == 3);
    CHECK_FALSE(named(run, "redone_s").relative().has_value());  // nothing to measure it by
    CHECK_FALSE(named(run, "step_s_mean").predicted.has_value());
    CHECK(named(run, "step_s_mean").measured == 40.0 / 30);
    CHECK_FALSE(named(run, "loss").predicted.has_value());
    CHECK(std::isnan(named(run, "loss").measured.value()));
    CHECK_THROWS(named(run, "accuracy"));  // neither has one
    CHECK_FALSE(run.decisions.has_value());
    const Ran ran = run_ukemi(scratch.path(), {"diff", "sim", "live"});
    CHECK_THAT(ran.out,
               Catch::Contains("\n  duration_s                          100             80 "
                               "            20     +25.00 %\n"));
    CHECK_THAT(ran.out, Catch::Contains("decisions: not both runs have a log\n"));
}

TEST_CASE("comparison: decisions are compared change by change", "[cli][diff]") {
    const auto plan = [](int version, int workers, double interval = 1) {
        return json{{"version", version},
                    {"workers_max", workers},
                    {"fleet", {{{"count", workers}, {"market", "spot"}, {"zone", 0}}}},
                    {"interval", interval}};
    };
    const std::string log = log_of({plan(0, 1), plan(1, 2), plan(2, 2, 5)});
    const analysis::DecisionComparison same = compared(log, log);
    CHECK(same.equal);
    CHECK(same.predicted_count == 2);
    CHECK(same.first_difference == 0);

    const analysis::DecisionComparison other =
        compared(log, log_of({plan(0, 1), plan(1, 2), plan(2, 3)}));
    CHECK_FALSE(other.equal);
    CHECK(other.first_difference == 2);
    CHECK(other.predicted == "at 2 s: interval 1.0 -> 5.0");
    CHECK(other.measured ==
          "at 2 s: fleet 2 spot in zone 0 -> 3 spot in zone 0, workers_max 2 -> 3");

    const analysis::DecisionComparison fewer = compared(log, log_of({plan(0, 1), plan(1, 2)}));
    CHECK(fewer.first_difference == 2);
    CHECK(fewer.measured == "no more changes");
    CHECK(fewer.measured_count == 1);

    // What was proposed and not committed changed nothing.
    const std::string proposed =
        log +
        json{{"record", "question"}, {"seen", {{"now_ns", 9}}}, {"proposed", plan(3, 9)}}.dump() +
        "\n" + json{{"record", "discarded"}, {"version", 3}, {"why", "late"}}.dump() + "\n";
    CHECK(compared(log, proposed).equal);
    CHECK(compared("", "").equal);
    CHECK_THROWS_WITH(compared(log, "{\"record\": 3}\n"),
                      "live.jsonl:1: is no line of a decision log");
    CHECK_THROWS_AS(compared("{\n", log), InputError);
}

TEST_CASE("ukemi diff: folders of different scenarios are refused, but for --force",
          "[cli][diff]") {
    const ScratchFolder scratch;
    write_results(scratch.path() / "a", {}, {{"name", "x"}, {"seed", 1}, {"job", {{"batch", 32}}}});
    write_results(scratch.path() / "b", {}, {{"name", "x"}, {"seed", 2}, {"job", {{"batch", 64}}}});
    write_results(scratch.path() / "c", {}, {{"name", "x"}, {"seed", 3}, {"job", {{"batch", 32}}}});
    const Ran refused = run_ukemi(scratch.path(), {"diff", "a", "b"});
    CHECK(refused.code == 2);
    CHECK(refused.err ==
          "ukemi: b: is of another scenario than a: /job/batch: 32 and 64; --force "
          "compares them all the same\n");
    const Ran forced = run_ukemi(scratch.path(), {"diff", "a", "b", "--force"});
    CHECK(forced.code == 0);
    CHECK_THAT(forced.out, Catch::Contains("  differs at /job/batch: 32 and 64\n"));
    CHECK(run_ukemi(scratch.path(), {"diff", "a", "c"}).code == 0);  // seeds are the runs' own
}

TEST_CASE("ukemi diff: what is no results folder, or a damaged one, is one line and exit code 2",
          "[cli][diff]") {
    const ScratchFolder scratch;
    write_results(scratch.path() / "good", {});
    fs::create_directories(scratch.path() / "empty");
    write_results(scratch.path() / "torn", {});
    write_file(scratch.path() / "torn/runs.json", R"({"runs": [{"policy": "greedy")");
    write_results(scratch.path() / "odd", {{"seed", "one"}});
    write_results(scratch.path() / "bare", {});
    write_file(scratch.path() / "bare/runs.json", R"({"runs": []})");
    write_results(scratch.path() / "times", {});
    write_file(scratch.path() / "times/runs/greedy--calm--seed-1/timeline.csv", "t_s\n1\n");
    const std::vector<std::pair<const char*, const char*>> wrong{
        {"nowhere", "nowhere: is no results folder: runs.json or run.json is missing"},
        {"empty", "empty: is no results folder"},
        {"torn", "torn/runs.json:1:"},
        {"odd", "odd: damaged: "},
        {"bare", "has no run of a policy that "},
        {"times", "timeline.csv"}};
    for (const auto& [folder, complaint] : wrong) {
        CAPTURE(folder);
        for (const bool first : {true, false}) {
            const Ran ran =
                run_ukemi(scratch.path(), first ? std::vector<std::string>{"diff", folder, "good"}
                                                : std::vector<std::string>{"diff", "good", folder});
            CHECK(ran.code == 2);
            CHECK(is_one_line(ran.err));
            CHECK_THAT(ran.err, Catch::Contains(complaint));
        }
    }
}

TEST_CASE("comparison: runs are paired where there is no second choice", "[cli][diff]") {
    const ScratchFolder scratch;
    const auto write = [&](const char* folder, std::vector<json> runs) {
        write_results(scratch.path() / folder, {});
        write_file(scratch.path() / folder / "runs.json", json{{"runs", runs}}.dump());
    };
    const auto run = [](const char* policy, const char* trace, int seed) {
        return json{{"policy", policy}, {"trace", trace}, {"seed", seed}, {"plans", seed}};
    };
    write("sim", {run("a", "x", 1), run("b", "x", 1), run("c", "x", 1), run("c", "y", 1),
                  run("d", "x", 1)});
    write("live", {run("a", "x", 1), run("b", "z", 2), run("c", "z", 1), run("e", "x", 1)});
    const analysis::ResultsComparison comparison =
        analysis::compare_results(scratch.path() / "sim", scratch.path() / "live");
    REQUIRE(comparison.runs.size() == 2);
    CHECK(comparison.runs[0].policy == "a");
    CHECK(comparison.runs[1].policy == "b");  // by its name alone
    CHECK(comparison.runs[1].measured_which == "z, seed 2");
    CHECK(comparison.only_predicted ==
          std::vector<std::string>{"c (x, seed 1)", "c (y, seed 1)", "d (x, seed 1)"});
    CHECK(comparison.only_measured == std::vector<std::string>{"c (z, seed 1)", "e (x, seed 1)"});

    write("one", {run("a", "x", 1)});
    write("other", {run("b", "x", 1)});
    const analysis::ResultsComparison alone =
        analysis::compare_results(scratch.path() / "one", scratch.path() / "other");
    REQUIRE(alone.runs.size() == 1);
    CHECK(alone.runs[0].policy == "a and b");
}

}  // namespace ukemi
