// schedule_unfinished_test.cpp — `ukemi schedule` where jobs are never done: they are in no mean of
// times, are late, and leave the results of others alone.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/read_file.hpp"
#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"

namespace ukemi {

namespace {

using nlohmann::json;

Ran schedule(const ScratchFolder& scratch, const std::string& text,
             std::vector<std::string> more = {}) {
    write_file(scratch.path() / "s.json", text);
    std::vector<std::string> arguments{"schedule", "s.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_ukemi(scratch.path(), arguments);
}

json results(const ScratchFolder& scratch, const std::string& text,
             std::vector<std::string> more = {}) {
    more.emplace_back("--json");
    const Ran ran = schedule(scratch, text, std::move(more));
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out);
}

}  // namespace

TEST_CASE("ukemi schedule: seeds in which nobody is done are in no mean of times", "[cli][jobs]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "w.csv", "submission_time,duration,num_gpu\n0,7200,1\n");
    // Budgets are drawn: some are too small for two hours.
    const std::string budgets = R"({"name": "budgets",
        "cluster": {"machines": 1, "gpus_per_machine": 1, "price": "1 USD/h"},
        "jobs": {"workload": "w.csv", "drawn": {"budgets_usd": [0.5, 3]}},
        "schedulers": [{"name": "fifo"}, {"name": "spot_shares"}]})";
    const json told = results(scratch, budgets, {"--seeds", "1..10", "--baseline", "fifo"});
    std::size_t done = 0;
    for (const json& run : told["runs"]) {
        const bool spent = run["out_of_budget"] == 1 || run["refused"] == 1;
        CHECK(run["completion_s_mean"].is_null() == spent);
        CHECK(run["makespan_s"].is_null() == spent);
        CHECK(run["gpu_use"].is_null() == spent);
        done += spent ? 0 : 1;
    }
    CHECK(done > 4);
    CHECK(done < 16);
    REQUIRE(told["means"].size() == 2);
    for (const json& mean : told["means"]) {
        CHECK(mean["completion_s_mean_mean"] == 7200);
        CHECK(mean["completion_s_mean_low_95"] == 7200);
    }
    // Pictures of one seed say which.
    REQUIRE(schedule(scratch, budgets, {"--seeds", "4,5", "--out", "two"}).code == 0);
    CHECK_THAT(read_file(scratch.path() / "two/figures/queue_over_time.gp"),
               Catch::Contains("of seed 4 alone"));
    REQUIRE(schedule(scratch, budgets, {"--seeds", "4", "--out", "one"}).code == 0);
    CHECK_THAT(read_file(scratch.path() / "one/figures/queue_over_time.gp"),
               !Catch::Contains("alone"));
}

TEST_CASE("ukemi schedule: machines that never come end the wait", "[cli][jobs]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "none.csv", "t_s,instances\n0,0\n3600,0\n");
    write_file(scratch.path() / "one.csv", "t_s,instances\n0,1\n3600,1\n");
    for (const char* after : {"hold", "repeat", "end"}) {
        for (const char* there : {"none.csv", "one.csv"}) {
            const json told = results(scratch, fmt::format(R"({{"name": "never",
                "cluster": {{"machines": 2, "gpus_per_machine": 1,
                    "market": {{"availability": "{}", "spot_price": "1 USD/h",
                                "after_last_row": "{}"}}}},
                "jobs": [{{"gpus": 2, "service": "1 h", "deadline": "2 h"}}],
                "schedulers": [{{"name": "fifo"}}, {{"name": "tiresias"}}]}})",
                                                           there, after));
            for (const json& run : told["runs"]) {
                CHECK(run["stuck"] == 1);
                CHECK(run["late"] == 1);
                CHECK(run["completion_s_mean"].is_null());
            }
        }
    }
    const Ran unpriced = schedule(scratch, R"({"name": "unpriced",
        "cluster": {"machines": 2, "gpus_per_machine": 1, "market": {"availability": "one.csv"}},
        "jobs": [{"gpus": 1, "service": "1 h"}], "schedulers": [{"name": "fifo"}]})");
    CHECK(unpriced.code == 2);
    CHECK_THAT(unpriced.err, Catch::Contains("--set '/cluster/market/spot_price="));
}

TEST_CASE("ukemi schedule: Gavel's goals wait for machines that are taken from all jobs",
          "[cli][jobs]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "taken.csv", "t_s,instances\n0,2\n600,1\n7200,2\n");
    const json told = results(scratch, R"({"name": "taken",
        "cluster": {"machines": 2, "gpus_per_machine": 1,
            "market": {"availability": "taken.csv", "spot_price": "1 USD/h",
                       "after_last_row": "hold"}},
        "jobs": [{"gpus": 2, "service": "1 h"}],
        "schedulers": [{"name": "gavel_max_min"}, {"name": "gavel_finish_time"},
                       {"name": "gavel_makespan"}, {"name": "gavel_max_sum"},
                       {"name": "gavel_cost"}]})");
    REQUIRE(told["runs"].size() == 5);
    for (const json& run : told["runs"]) CHECK(run["completion_s_mean"] == 10'800);
}

TEST_CASE("ukemi schedule: numbers of a table keep a space between them", "[cli][jobs]") {
    const ScratchFolder scratch;
    const Ran ran = schedule(scratch, R"({"name": "wide",
        "cluster": {"machines": 1, "gpus_per_machine": 1},
        "jobs": [{"gpus": 1, "service": "1 h", "checkpoint": {"every": "1 s", "takes": "1 h"}}],
        "schedulers": [{"name": "fifo"}]})");
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains(" 12960000.0 12960000.0 "));
}

TEST_CASE("ukemi schedule: who starts or saves sends nothing to others", "[cli][jobs]") {
    const ScratchFolder scratch;
    const auto right_s = [&](const std::string& between) {
        json document = json::parse(read_file(shipped("jobs/shared_links.json")));
        document["network"] = shipped("steps/four_of_eight_gpus.json").string();
        document["schedulers"] = json::parse(R"([{"name": "fifo"}])");
        document["jobs"][2].update(json::parse(between));
        write_file(scratch.path() / "s.json", document.dump());
        REQUIRE(run_ukemi(scratch.path(), {"schedule", "s.json", "--out", "r", "--force"}).code ==
                0);
        for (const auto& row : csv_rows(scratch.path() / "r/jobs.csv")) {
            if (row.at("job") == "right") return std::stod(row.at("completion_s"));
        }
        return 0.0;
    };
    const double alone = right_s(R"({"arrival": "20 h"})");
    CHECK(alone == Approx(60 + 20'000 * 0.144125755).epsilon(1e-6));
    CHECK(right_s(R"({"restart": "10 h"})") == alone);
    // Two of three minutes it computes, and sends.
    const double always = right_s("{}");
    const double saving = right_s(R"({"checkpoint": {"every": "2 min", "takes": "1 min"}})");
    CHECK(saving < always);
    CHECK(saving > alone);
    const double lost_each_s = 1 - 0.144125755 / 0.2568;
    CHECK(saving == Approx(1860 + (alone - 1860) / (1 - lost_each_s * 2 / 3)).epsilon(0.02));
}

}  // namespace ukemi
