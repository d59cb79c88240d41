// sweep_clusters_test.cpp — schedules and searches with seeds, pairs, sweeps, databases,
// reports and differences, with the numbers of the one command in every other.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/database/sqlite.hpp"
#include "base/signed_rank.hpp"
#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"
#include "tests/cli/swept.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Machines that a generated market takes away: with another seed, at other times.
constexpr const char* jobs_on_spot = R"({"name": "spot", "seed": 3,
    "cluster": {"machines": 2, "gpus_per_machine": 2,
        "market": {"generate": {"market": "v100-16-burst", "length": "3 d"}, "notice": "0 s",
                   "after_last_row": "repeat"}},
    "restart": "1 min", "checkpoint": {"every": "1 h", "takes": "10 s"},
    "jobs": [{"name": "a", "gpus": 2, "service": "5 h"}, {"name": "b", "gpus": 1, "service": "4 h"},
             {"name": "c", "arrival": "1 h", "gpus": 2, "service": "1 h"}],
    "schedulers": [{"name": "fifo"}, {"name": "srtf"}]})";

constexpr const char* nine_trials = R"({"name": "small", "seed": 2,
    "cluster": {"gpus_per_machine": 3}, "restart": "5 s", "scheduler": {"name": "fifo"},
    "trial": {"cluster": {"count": 1},
        "job": {"samples": 900, "batch": 10, "step_time": {"per_sample": "100 ms"}},
        "learning": {"noise_scale": [{"samples": 0, "noise_scale": 20}],
            "metric": [{"samples": 0, "value": 0}, {"samples": 900, "value": 1}]}},
    "trials": 9, "units": 9,
    "space": [{"key": "/job/batch", "from": 5, "to": 90, "scale": "log", "whole": true}],
    "searchers": [{"name": "random"}, {"name": "successive_halving"}]})";

fs::path with_clusters(const ScratchFolder& scratch) {
    write_file(scratch.path() / "spot.json", jobs_on_spot);
    write_file(scratch.path() / "small.json", nine_trials);
    return scratch.path();
}

json of_command(const fs::path& folder, std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const Ran ran = run_ukemi(folder, arguments);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out);
}

std::string text_of(const fs::path& file, const std::string& sql) {
    analysis::SqliteDatabase database(file, analysis::SqliteDatabase::Access::read);
    analysis::SqliteStatement row(database, sql);
    REQUIRE(row.step());
    return std::string(row.text(0));
}

}  // namespace

TEST_CASE("ukemi schedule: means over seeds and pairs with a baseline", "[cli][jobs]") {
    const ScratchFolder scratch;
    const fs::path folder = with_clusters(scratch);
    const json document = of_command(
        folder, {"schedule", "spot.json", "--seeds", "1..7", "--baseline", "fifo", "--out", "r"});
    REQUIRE(document.at("runs").size() == 14);
    REQUIRE(document.at("means").size() == 2);
    std::map<std::string, std::map<int, double>> mean_s;  // by scheduler and seed
    for (const json& run : document.at("runs")) {
        mean_s[run.at("scheduler").get<std::string>()][run.at("seed").get<int>()] =
            run.at("completion_s_mean").get<double>();
    }
    CHECK(mean_s["fifo"][1] != mean_s["fifo"][2]);
    std::vector<double> differences;
    double sum = 0;
    for (const auto& [seed, own] : mean_s.at("srtf")) {
        differences.push_back(own - mean_s.at("fifo").at(seed));
        sum += differences.back();
    }
    const json& srtf = document.at("means").at(1);
    CHECK(srtf.at("scheduler") == "srtf");
    CHECK(srtf.at("clusters") == 7);
    CHECK(srtf.at("cluster") == "seed");
    CHECK(srtf.at("completion_s_mean_difference_mean").get<double>() == Approx(sum / 7));
    CHECK(srtf.at("completion_s_mean_p").get<double>() == Approx(signed_rank_p(differences)));
    CHECK(srtf.at("baseline") == "fifo");

    const Ran again = run_ukemi(folder, {"schedule", "r", "--out", "again"});
    REQUIRE(again.code == 0);
    CHECK_THAT(again.out, Catch::Contains("completion_s_mean against fifo") &&
                              Catch::Contains("pairs have variant and seed in common; intervals "
                                              "and p over 7 seeds"));
    for (const char* name : {"jobs.csv", "schedule.csv", "spans.csv", "schedule.json"}) {
        CHECK(text_in(folder / "again" / name) == text_in(folder / "r" / name));
    }
    const Ran wrong = run_ukemi(folder, {"schedule", "spot.json", "--baseline", "sttf"});
    CHECK(wrong.code == 2);
    CHECK(wrong.err ==
          "ukemi: --baseline: expected one of the schedulers fifo, srtf, found "
          "\"sttf\"\n");
    CHECK_THAT(
        run_ukemi(folder, {"schedule", "spot.json", "--seeds", "1,2", "--vary", "/seed=1,2"}).err,
        Catch::Contains("expected no /seed beside --seeds"));
}

TEST_CASE("ukemi schedule: seeds that change nothing count once", "[cli][jobs]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"schedule", "shared_cluster", "--seeds", "1..4",
                                               "--schedulers", "fifo,srtf", "--baseline", "fifo"});
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("6 runs are the same under another seed, bit for bit"));
    CHECK_THAT(ran.out, !Catch::Contains("intervals and p over"));
}

TEST_CASE("ukemi sweep: schedules are those of ukemi schedule", "[cli][sweep][jobs]") {
    const ScratchFolder scratch;
    const fs::path folder = with_clusters(scratch);
    const std::vector<std::string> asked{"spot.json", "--seeds", "1..6", "--vary",
                                         "/restart=1 min,30min"};
    const auto with = [&](const char* command, std::vector<std::string> more) {
        more.insert(more.begin(), asked.begin(), asked.end());
        more.insert(more.begin(), command);
        return more;
    };
    const json document = of_command(folder, with("schedule", {}));
    const Ran swept = run_ukemi(folder, with("sweep", {"--out", "runs.db", "-j", "2"}));
    INFO(swept.err);
    REQUIRE(swept.code == 0);
    CHECK_THAT(swept.out, Catch::StartsWith("runs.db: 24 runs made in "));
    for (const json& run : document.at("runs")) {
        const auto restart = run.at("vary").at("/restart").get<std::string>();
        const std::string where = fmt::format(
            " FROM runs WHERE scheduler = '{}' AND seed = {} AND variant = "
            "'/restart={}'",
            run.at("scheduler").get<std::string>(), run.at("seed").get<int>(), restart);
        CHECK(text_of(folder / "runs.db", "SELECT outcome_hash" + where) ==
              run.at("outcome_hash").get<std::string>());
        CHECK(std::stod(text_of(folder / "runs.db", "SELECT completion_s_mean" + where)) ==
              Approx(run.at("completion_s_mean").get<double>()).epsilon(1e-12));
    }
    // The statistics are the command's.
    const json queried = of_command(folder, {"query", "runs.db", "--baseline", "fifo"});
    const json paired = of_command(folder, with("schedule", {"--baseline", "fifo"}));
    for (const json& group : queried.at("groups")) {
        const auto same = std::ranges::find_if(paired.at("means"), [&](const json& one) {
            return one.at("variant") == group.at("variant") &&
                   one.at("scheduler") == group.at("scheduler");
        });
        REQUIRE(same != paired.at("means").end());
        for (const char* key :
             {"runs", "completion_s_mean_mean", "completion_s_mean_high_95", "makespan_s_mean",
              "completion_s_mean_difference_mean", "completion_s_mean_p"}) {
            CAPTURE(key);
            CHECK(group.at(key) == same->at(key));
        }
    }
    const Ran table = run_ukemi(folder, {"query", "runs.db", "--by", "scheduler,/restart",
                                         "--metric", "cost_usd,redone_gpu_h"});
    CHECK(table.code == 0);
    CHECK_THAT(table.out, Catch::Contains("redone_gpu_h") && Catch::Contains("over 6 seeds"));
}

TEST_CASE("ukemi sweep: schedules go on, in parts, and stay apart from other runs",
          "[cli][sweep][jobs]") {
    const ScratchFolder scratch;
    const fs::path folder = with_clusters(scratch);
    const auto sweep = [&](const char* scenario, std::vector<std::string> more) {
        more.insert(more.begin(), {"sweep", scenario});
        return run_ukemi(folder, more);
    };
    REQUIRE(sweep("spot.json", {"--seeds", "1..9", "--out", "whole.db"}).code == 0);
    std::vector<std::string> merge{"merge", "merged.db"};
    for (int part = 1; part <= 3; ++part) {
        const std::string file = fmt::format("part-{}.db", part);
        REQUIRE(sweep("spot.json",
                      {"--seeds", "1..9", "--shard", fmt::format("{}/3", part), "--out", file})
                    .code == 0);
        CHECK(stored_count(folder / file) == 6);
        merge.push_back(file);
    }
    REQUIRE(run_ukemi(folder, merge).code == 0);
    CHECK(stored_rows(folder / "merged.db") == stored_rows(folder / "whole.db"));
    REQUIRE(sweep("spot.json", {"--seeds", "1..4", "--out", "on.db"}).code == 0);
    const Ran more = sweep("spot.json", {"--seeds", "1..9", "--out", "on.db", "--resume"});
    CHECK_THAT(more.out, Catch::Contains("10 runs made") && Catch::Contains("8 were there"));
    CHECK(stored_rows(folder / "on.db") == stored_rows(folder / "whole.db"));
    // Who else decides does not matter; what a scenario asks does.
    CHECK_THAT(sweep("spot.json", {"--seeds", "1..9", "--out", "on.db", "--resume", "--schedulers",
                                   "srtf,tiresias"})
                   .out,
               Catch::Contains("9 runs made") && Catch::Contains("9 were there"));
    CHECK_THAT(sweep("spot.json", {"--out", "on.db", "--resume", "--set", "/restart=2 min"}).out,
               Catch::Contains("2 runs made") && !Catch::Contains("were there"));
    REQUIRE(sweep("small.json", {"--out", "search.db"}).code == 0);
    const std::vector<std::pair<std::vector<std::string>, const char*>> wrong{
        {{"small.json", "--out", "on.db", "--resume"},
         "ukemi: on.db: holds runs of ukemi schedule, and these are of ukemi search: a database"},
        {{"spot.json", "--out", "new.db", "--policies", "greedy"},
         "ukemi: --policies: is of jobs "},
        {{"spot.json", "--out", "new.db", "--full"}, "ukemi: --full: is of searches"},
        {{"demo", "--out", "new.db", "--schedulers", "fifo"},
         "ukemi: --schedulers: is of jobs that"},
        {{"spot.json", "small.json", "--out", "new.db"},
         "ukemi: small.json: expected one scenario"},
    };
    for (const auto& [arguments, complaint] : wrong) {
        std::vector<std::string> all = arguments;
        all.insert(all.begin(), "sweep");
        const Ran ran = run_ukemi(folder, all);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::StartsWith(complaint));
    }
    CHECK(!fs::exists(folder / "new.db"));
    CHECK_THAT(run_ukemi(folder, {"merge", "new.db", "on.db", "search.db"}).err,
               Catch::StartsWith("ukemi: search.db: holds runs of ukemi search, on.db of ukemi "
                                 "schedule"));
    CHECK(!fs::exists(folder / "new.db"));
}

TEST_CASE("ukemi sweep: schedules with keys in another order are the same", "[cli][sweep][jobs]") {
    const ScratchFolder scratch;
    const fs::path folder = with_clusters(scratch);
    const char* const restart = "/restart=1 min,2 min";
    const char* const takes = "/checkpoint/takes=10 s,20 s";
    REQUIRE(run_ukemi(folder, {"sweep", "spot.json", "--vary", restart, "--vary", takes, "--out",
                               "runs.db"})
                .code == 0);
    const auto rows = stored_rows(folder / "runs.db");
    CHECK(rows.size() == 8);
    REQUIRE(run_ukemi(folder, {"sweep", "spot.json", "--vary", takes, "--vary", restart, "--out",
                               "runs.db", "--resume"})
                .code == 0);
    CHECK(stored_rows(folder / "runs.db") == rows);
}

TEST_CASE("ukemi sweep: searches are those of ukemi search", "[cli][sweep][search]") {
    const ScratchFolder scratch;
    const fs::path folder = with_clusters(scratch);
    const json document = of_command(folder, {"search", "small.json", "--seeds", "1..6", "--full",
                                              "--baseline", "random", "--out", "r"});
    REQUIRE(run_ukemi(folder, {"sweep", "small.json", "--seeds", "1..6", "--full", "--out", "s.db"})
                .code == 0);
    for (const json& run : document.at("runs")) {
        CHECK(text_of(
                  folder / "s.db",
                  fmt::format("SELECT outcome_hash FROM runs WHERE searcher = '{}' AND seed = "
                              "{}",
                              run.at("searcher").get<std::string>(), run.at("seed").get<int>())) ==
              run.at("outcome_hash").get<std::string>());
    }
    const json queried = of_command(
        folder, {"query", "s.db", "--baseline", "random", "--metric", "metric,gpu_h,same_winner"});
    REQUIRE(queried.at("groups").size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        const json& group = queried.at("groups").at(i);
        const json& mean = document.at("means").at(i);
        for (const char* key : {"searcher", "metric_mean", "gpu_h_mean", "same_winner_mean"}) {
            CHECK(group.at(key) == mean.at(key));
        }
    }
    CHECK(document.at("means").at(1).at("gpu_h_difference_mean").get<double>() < 0);
    CHECK_THAT(run_ukemi(folder, {"query", "s.db", "--metric", "winner"}).err,
               Catch::Contains("expected a column of runs that holds numbers, found \"winner\""));
    CHECK(run_ukemi(folder, {"query", "s.db", "--by", "searcher,winner"}).code == 0);
    // A folder of results is swept like its scenario: the same runs.
    CHECK_THAT(run_ukemi(folder, {"sweep", "r", "--out", "s.db", "--resume"}).out,
               Catch::StartsWith("s.db: 0 runs made") && Catch::Contains("12 were there already"));
}

TEST_CASE("ukemi diff: schedules and searches, quantity by quantity", "[cli][diff][jobs]") {
    const ScratchFolder scratch;
    const fs::path folder = with_clusters(scratch);
    const auto make = [&](std::vector<std::string> arguments) {
        REQUIRE(run_ukemi(folder, arguments).code == 0);
    };
    make({"schedule", "spot.json", "--seeds", "1,2", "--out", "a"});
    make({"schedule", "spot.json", "--seeds", "1,2", "--set", "/restart=10 min", "--out", "b"});
    make({"search", "small.json", "--out", "s"});
    const json same = of_command(folder, {"diff", "a", "a"});
    REQUIRE(same.at("runs").size() == 4);
    for (const json& run : same.at("runs")) {
        CHECK(run.at("decisions").at("equal") == true);
        CHECK(run.at("decisions").at("measured_count") > 2);
        for (const json& one : run.at("quantities")) CHECK(one.at("error").dump() != "1");
    }
    CHECK_THAT(run_ukemi(folder, {"diff", "a", "b"}).err,
               Catch::Contains("is of another scenario than a: /restart: "));
    const json other = of_command(folder, {"diff", "a", "b", "--force"});
    const auto a = csv_rows(folder / "a/schedule.csv");
    const auto b = csv_rows(folder / "b/schedule.csv");
    REQUIRE(other.at("runs").size() == a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const json& run = other.at("runs").at(i);
        CHECK(run.at("policy") == a[i].at("scheduler"));
        const auto quantity = std::ranges::find_if(run.at("quantities"), [](const json& one) {
            return one.at("name") == "completion_s_mean";
        });
        REQUIRE(quantity != run.at("quantities").end());
        CHECK(quantity->at("error").get<double>() ==
              Approx(std::stod(a[i].at("completion_s_mean")) -
                     std::stod(b[i].at("completion_s_mean"))));
    }
    const Ran searches = run_ukemi(folder, {"diff", "s", "s"});
    CHECK(searches.code == 0);
    CHECK_THAT(searches.out, Catch::Contains("decisions: 13 and 13 changes, equal"));
    // The number of a trial names it: another one is neither more nor less.
    make({"search", "small.json", "--set", "/seed=7", "--full", "--out", "t"});
    make({"search", "small.json", "--full", "--out", "u"});
    const json forced = of_command(folder, {"diff", "t", "u", "--force"});
    for (const json& run : forced.at("runs")) {
        for (const json& one : run.at("quantities")) {
            CAPTURE(one.dump());
            const bool names = one.at("name") == "winner" || one.at("name") == "full_winner";
            const bool answers = one.at("name") == "same_winner" || one.at("name") == "as_good";
            CHECK(one.contains("equal") == (names || answers));
            if (!names) continue;
            CHECK(one.at("error").is_null());
            CHECK(one.at("relative_error").is_null());
            CHECK(one.at("equal") == (one.at("predicted") == one.at("measured")));
        }
    }
    const std::string winner = searches.out.substr(searches.out.find("\n  winner ") + 1);
    CHECK_THAT(winner.substr(0, winner.find('\n')), Catch::EndsWith("         equal            -"));
    const json means = json::parse(text_in(folder / "t/search.json")).at("means");
    CHECK(means.at(0).contains("metric_mean"));
    CHECK_FALSE(means.at(0).contains("winner_mean"));
    CHECK_THAT(run_ukemi(folder, {"diff", "a", "s"}).err,
               Catch::StartsWith("ukemi: s: is of ukemi search, and a of ukemi schedule"));
}

TEST_CASE("ukemi report: schedules over seeds, and a database of them", "[cli][report][jobs]") {
    const ScratchFolder scratch;
    const fs::path folder = with_clusters(scratch);
    REQUIRE(run_ukemi(folder, {"schedule", "spot.json", "--seeds", "1..6", "--baseline", "fifo",
                               "--out", "r"})
                .code == 0);
    REQUIRE(run_ukemi(folder, {"sweep", "spot.json", "--seeds", "1..6", "--out", "runs.db"}).code ==
            0);
    const Ran ran =
        run_ukemi(folder, {"report", "r", "runs.db", "--baseline", "fifo", "--out", "page.html"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const std::string page = text_in(folder / "page.html");
    CHECK_THAT(page, Catch::Contains("completion_s_mean against fifo"));
    CHECK_THAT(page, Catch::Contains("pairs have variant and seed in common"));
    CHECK_THAT(page, Catch::Contains("means over the seeds"));
    // The mean of one stands beside that of the other: the same number in full.
    const json document = json::parse(text_in(folder / "r/schedule.json"));
    const std::string mean =
        document.at("means").at(1).at("completion_s_mean_mean").dump().substr(0, 10);
    CHECK_THAT(page, Catch::Contains(fmt::format("data-value=\"{}", mean)));
}

}  // namespace ukemi
