// search_test.cpp — `ukemi search` as a user meets it: who wins, what it takes, results,
// complaints.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"

namespace ukemi {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A step of 10 samples takes a second; the metric is known beforehand: it rises with the samples
// that the batch lets count.
constexpr const char* small_search = R"({"name": "small", "seed": 2,
    "cluster": {"gpus_per_machine": 3}, "restart": "5 s", "scheduler": {"name": "fifo"},
    "trial": {"cluster": {"count": 1},
        "job": {"samples": 900, "batch": 10, "step_time": {"per_sample": "100 ms"}},
        "learning": {"noise_scale": [{"samples": 0, "noise_scale": 20}],
            "metric": [{"samples": 0, "value": 0}, {"samples": 900, "value": 1}]}},
    "trials": 9, "units": 9,
    "space": [{"key": "/job/batch", "from": 5, "to": 90, "scale": "log", "whole": true}],
    "searchers": [{"name": "random"}, {"name": "successive_halving"}]})";

}  // namespace

TEST_CASE("ukemi search: pieces, trials and the table agree", "[cli][search]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", small_search);
    const Ran ran = run_ukemi(scratch.path(), {"search", "small.json", "--full", "--out", "r"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::StartsWith("small: 1 key, 9 units a training, on 3 GPUs\n"));
    const auto searches = csv_rows(scratch.path() / "r/search.csv");
    REQUIRE(searches.size() == 2);
    CHECK(searches[0].at("searcher") == "random");
    CHECK(searches[0].at("same_winner") == "yes");
    CHECK(searches[0].at("gpu_share") == "1");
    CHECK(searches[1].at("trials") == "9");
    CHECK(searches[1].at("pieces") == "13");  // 9, 3 and 1
    CHECK(std::stod(searches[1].at("gpu_share")) < 0.4);
    std::map<std::string, double> gpu_s;
    for (const auto& piece : csv_rows(scratch.path() / "r/pieces.csv")) {
        gpu_s[piece.at("searcher")] += std::stod(piece.at("gpu_s"));
        CHECK(std::stod(piece.at("end_s")) - std::stod(piece.at("came_s")) >=
              std::stod(piece.at("gpu_s")) * (1 - 1e-12));
    }
    for (const auto& search : searches) {
        CHECK(gpu_s.at(search.at("searcher")) / 3600 == Approx(std::stod(search.at("gpu_h"))));
    }
    // The smallest batch learns most of a sample.
    const auto trials = csv_rows(scratch.path() / "r/trials.csv");
    REQUIRE(trials.size() == 18);
    const auto least =
        std::ranges::min_element(trials.begin(), trials.begin() + 9, {},
                                 [](const auto& row) { return std::stod(row.at("job_batch")); });
    CHECK(searches[0].at("winner") == least->at("trial"));
    CHECK(searches[1].at("winner") == searches[0].at("winner"));
    CHECK(fs::exists(scratch.path() / "r/figures/found_over_time.csv"));
    // Minutes, as they are few: 9 trials of 90 s and more on 3 GPUs.
    CHECK_THAT(ran.out, Catch::Contains(" makespan (min)  GPU min   GPU %"));
    CHECK_THAT(ran.out, Catch::Contains(fmt::format("{:>15.2f}{:>9.2f}",
                                                    std::stod(searches[0].at("makespan_s")) / 60,
                                                    std::stod(searches[0].at("gpu_h")) * 60)));
    CHECK_THAT(text_in(scratch.path() / "r/figures/found_over_time.csv"),
               Catch::StartsWith("line,time_s,metric_mean,"));
    // Its time axis has round numbers, and not the times at which something was found.
    CHECK_THAT(
        text_in(scratch.path() / "r/figures/found_over_time.gp"),
        Catch::Matches("[^]*set xtics (autofreq|\\((0\\.)?0*[125]0*(, (0\\.)?0*[125]0*)*\\)) "
                       "nomirror out\n[^]*"));
}

TEST_CASE("ukemi search: a folder of results is run again to the same", "[cli][search]") {
    const ScratchFolder scratch;
    const auto& folder = scratch.path();
    write_file(folder / "small.json", small_search);
    REQUIRE(run_ukemi(folder,
                      {"search", "small.json", "--vary", "/scheduler/name=fifo,srtf", "--out", "r"})
                .code == 0);
    REQUIRE(run_ukemi(folder, {"search", "r", "--out", "again"}).code == 0);
    for (const char* name : {"search.csv", "pieces.csv", "trials.csv"}) {
        CHECK(text_in(folder / "again" / name) == text_in(folder / "r" / name));
    }
    const auto rows = csv_rows(folder / "r/search.csv");
    REQUIRE(rows.size() == 4);
    CHECK(rows[2].at("scheduler_name") == "srtf");
    CHECK(rows[2].at("metric") == rows[0].at("metric"));
    CHECK(run_ukemi(folder, {"plot", "r"}).code == 0);
    CHECK_THAT(run_ukemi(folder, {"schedule", "r"}).err,
               Catch::Contains("is of ukemi search: ukemi search runs it again"));
}

TEST_CASE("ukemi search: asha and hyperband find full training's winner", "[cli][search]") {
    const ScratchFolder scratch;
    const Ran ran =
        run_ukemi(scratch.path(),
                  {"search", "gradient_search", "--seeds", "1..50", "--full", "--json", "--set",
                   R"(/searchers=[{"name": "random"}, {"name": "asha"}, {"name": "hyperband"}])"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json document = json::parse(ran.out);
    std::map<std::string, json> means;
    for (const json& one : document.at("means")) means[one.at("searcher").get<std::string>()] = one;
    CHECK(means.at("random").at("runs") == 50);
    CHECK(means.at("random").at("same_winner_mean") == 1);
    CHECK(means.at("random").at("gpu_share_mean") == 1);
    for (const char* name : {"asha", "hyperband"}) {
        const json& one = means.at(name);
        WARN(name << ": the same winner in " << one.at("same_winner_mean")
                  << " of 50 searches, as good in " << one.at("as_good_mean") << ", with "
                  << one.at("gpu_share_mean") << " of the GPU time");
        CHECK(one.at("same_winner_mean") >= 0.9);
        CHECK(one.at("gpu_share_mean") < 0.6);
    }
}

TEST_CASE("ukemi search: trials are compared by what they are where their pieces end",
          "[cli][search]") {
    const ScratchFolder scratch;
    const auto pieces = [&](const char* every, const char* out) {
        const Ran ran = run_ukemi(
            scratch.path(), {"search", "gradient_search", "--set",
                             "/trial/learning/evaluate_every=" + std::string(every), "--set",
                             R"(/searchers=[{"name": "asha"}, {"name": "pbt"}])", "--out", out});
        CAPTURE(ran.err);
        REQUIRE(ran.code == 0);
        return text_in(scratch.path() / out / "pieces.csv");
    };
    // Pieces end at whole multiples of 1,500 samples; evaluations on the way are nobody's affair.
    const std::string at_ends = pieces("1500", "ends");
    CHECK(pieces("13500", "last") == at_ends);
    CHECK(pieces("400", "between") == at_ends);
}

TEST_CASE("ukemi search: wrong scenarios are refused in one line", "[cli][search]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", small_search);
    CHECK_THAT(run_ukemi(scratch.path(), {"search", "shared_cluster"}).err,
               Catch::Contains("at /schedulers: these are jobs that share a cluster: `ukemi "
                               "schedule` runs them") &&
                   !Catch::Contains("missing key"));
    struct Row {
        const char* setting;
        const char* message;
    };
    const Row rows[] = {
        {"/searchers/0/name=randm", "at /searchers/0/name: expected one of grid, "},
        {"/searchers/1/name=random", "\"random\" stands there twice"},
        {"/searchers/1/eta=1", "at /searchers/1/eta: expected an integer from 2"},
        {"/searchers/1={\"name\": \"pbt\", \"interval\": 10}",
         "at /searchers/1: \"interval\": expected at most the 9 units of a full training, "
         "found 10"},
        {"/space=[]", "at /space: expected 1 to 12 keys of the trial"},
        {"/space/0/key=job", "at /space/0/key: expected a key of the trial"},
        {"/space/0/from=90", "at /space/0/to: expected more than \"from\""},
        {"/space/0/from=0", "at /space/0/from: expected more than 0 on \"log\", found 0"},
        {"/space/0={\"key\": \"/job/batch\", \"from\": 0.5, \"to\": 9, \"whole\": true}",
         "at /space/0/from: expected a whole number beside \"whole\", found 0.5"},
        {"/space/0/key=/job/batch/momentum",
         "small.json: \"space\" /trial/job/batch/momentum: /trial/job/batch is 10"},
        {"/space/0/key=/training/optimiser/momentum",
         "small.json: at /trial/training/optimiser/momentum: expected a number"},
        {"/space/0/key=/job/bach", "at /trial/job: unknown key \"bach\""},
        {"/space/0={\"key\": \"/job/batch\", \"numbers\": [8, 8]}", "stands there twice"},
        {"/trial/cluster/count=4", "at /trial: asks for 4 GPUs, the cluster has 3"},
        {"/trial/job={\"samples\": 900, \"batch_per_worker\": 10, \"step_time\": {\"per_sample\": "
         "\"1 ms\"}}",
         "stands beside \"batch\""},
        {"/trial/learning={\"noise_scale\": [{\"samples\": 0, \"noise_scale\": 1}]}",
         "at /trial/learning: shows no metric"},
        {"/scheduler/name=elasticflow", "asks for a deadline"},
        {"/units=0", "at /units: expected an integer from 1"},
        {"/market={}", "unknown key \"market\""},
    };
    for (const Row& row : rows) {
        CAPTURE(row.setting);
        const Ran ran = run_ukemi(scratch.path(), {"search", "small.json", "--set", row.setting});
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::Contains(row.message));
    }
    const Ran endless =
        run_ukemi(scratch.path(), {"search", "small.json", "--set", "/units=1000000", "--set",
                                   R"(/searchers=[{"name": "hyperband"}])"});
    CHECK(endless.code == 2);
    CHECK_THAT(endless.err, Catch::Contains("at /searchers/0/name: hyperband trains ") &&
                                Catch::Contains(" pieces: expected at most 200000"));
    const Ran twice = run_ukemi(scratch.path(), {"search", "small.json", "--set", "/space/0/to=6",
                                                 "--set", "/searchers/0/name=grid"});
    CHECK(twice.code == 2);
    CHECK_THAT(twice.err, Catch::Contains("at /searchers/0/name: \"/job/batch\" has 5 points in "
                                          "\"space\" of which 2 are apart"));
    for (const char* other : {"replay", "simulate", "schedule"}) {
        const Ran ran = run_ukemi(scratch.path(), {other, "small.json"});
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::Contains("`ukemi search` runs them"));
    }
    CHECK(run_ukemi(scratch.path(), {"check", "small.json"}).out ==
          "small.json: ok (1 key, 2 searchers on 3 GPUs)\n");
}

}  // namespace ukemi
