// schedule_live_test.cpp — `ukemi schedule --live` and `ukemi search --live` as a user meets them.
//
// Paced runs, whose decisions are the scenario's, and one that is ended by a signal.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"
#include "tests/recorded.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

constexpr const char* trained = R"({"name": "trained", "seed": 3,
    "job": {"samples": 1600, "batch": 16, "samples_per_epoch": 512,
            "throughput": {"1": "160 samples/s", "2": "256 samples/s"},
            "checkpoint": {"cost": "1 s"}, "restart": "500 ms"},
    "cluster": {"count_min": 1, "count_max": 2},
    "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
    "training": {"data": {"kind": "synthetic", "samples": 512, "features": 16, "classes": 4},
                 "model": {"kind": "mlp", "hidden": [16]}, "learning_rate": 0.1},
    "replay": ["spot_only+follow_capacity"]})";

constexpr const char* shared = R"({"name": "shared", "cluster": {"gpus_per_machine": 2},
    "trains": "trained.json",
    "jobs": [{"name": "wide", "gpus": 2, "samples": 640},
             {"name": "brief", "arrival": "1 s", "gpus": 1, "samples": 64},
             {"name": "timed", "arrival": "1100 ms", "gpus": 1, "service": "1 s"}],
    "schedulers": [{"name": "srtf"}, {"name": "fifo"}]})";

void write_scenarios(const fs::path& folder) {
    write_file(folder / "trained.json", trained);
    write_file(folder / "shared.json", shared);
}

// Processes whose working folder it is: workers have that of their parent.
std::size_t processes_in(const fs::path& folder) {
    std::size_t count = 0;
    std::error_code error;
    for (const auto& process : fs::directory_iterator("/proc", error)) {
        const fs::path cwd = fs::read_symlink(process.path() / "cwd", error);
        if (!error && cwd == fs::canonical(folder)) ++count;
    }
    return count;
}

std::vector<std::string> live(std::vector<std::string> more) {
    std::vector<std::string> all{"schedule", "shared.json", "--schedulers", "srtf", "--live"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

TEST_CASE("ukemi schedule --live: real groups, and the simulated run's decisions",
          "[cli][live][jobs]") {
    const ScratchFolder scratch;
    write_scenarios(scratch.path());
    const Ran ran = run_ukemi(scratch.path(), live({"--paced", "--out", "r"}));
    CAPTURE(ran.err);
    REQUIRE(ran.code == 0);
    const auto decisions = csv_rows(scratch.path() / "r/decisions.csv");
    REQUIRE(decisions.size() == 6);
    const auto all = std::to_string(decisions.size());
    CHECK_THAT(ran.out, Catch::Contains("decisions: " + all + " of " + all +
                                        " as in the simulated run with the scenario's steps"));
    CHECK(decisions[0].at("gpus") == "wide:2");
    CHECK(decisions[1].at("gpus") == "brief:1");  // for wide's two there is no room then
    const Ran simulated = run_ukemi(
        scratch.path(), {"schedule", "shared.json", "--schedulers", "srtf", "--out", "s"});
    REQUIRE(simulated.code == 0);
    for (const char* file : {"schedule.csv", "jobs.csv", "spans.csv"}) {
        CHECK(text_in(scratch.path() / "r" / file) == text_in(scratch.path() / "s" / file));
    }
    // 10 samples a second on one GPU, times 16: what takes 1 s.
    CHECK(csv_rows(scratch.path() / "r/live/timed/0/steps.csv").size() == 10);
    CHECK(fs::exists(scratch.path() / "r/live/wide/1/live.json"));  // it was paused once
    const auto forecasts = csv_rows(scratch.path() / "r/forecasts.csv");
    CHECK(forecasts.size() == 3);
    CHECK_FALSE(forecasts.front().contains("recomputed_s"));  // by measured steps, not the paced
    CHECK(fs::exists(scratch.path() / "r-checkpoints/brief"));
}

TEST_CASE("ukemi schedule --live: what cannot be is said before anything starts",
          "[cli][live][jobs]") {
    const ScratchFolder scratch;
    write_scenarios(scratch.path());
    const auto refused = [&](const std::vector<std::string>& arguments) {
        const Ran ran = run_ukemi(scratch.path(), arguments);
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        return ran.err;
    };
    CHECK_THAT(refused(live({})), Catch::Contains("expected --out FOLDER"));
    CHECK_THAT(refused({"schedule", "shared.json", "--live", "--out", "r"}),
               Catch::Contains("a live run has one: expected `--schedulers srtf`, found 2"));
    CHECK_THAT(refused({"schedule", "shared.json", "--schedulers", "max_min", "--live", "--out",
                        "r", "--set", "/restart=\"0 s\""}),
               Catch::Contains("max_min gives parts of GPUs"));
    CHECK_THAT(refused({"schedule", "shared.json", "--paced"}), Catch::Contains("--live beside"));
    CHECK_THAT(refused(live({"--out", "r", "--set", "/trains=\"nowhere.json\""})),
               Catch::Contains("nowhere.json"));
    CHECK_THAT(refused(live({"--out", "r", "--set", "/jobs/0/gpus=3"})),
               Catch::Contains("expected at most 2, as many as \"trained\" can use"));
    CHECK_THAT(refused({"schedule", shipped("jobs/shared_cluster.json").string(), "--schedulers",
                        "fifo", "--live", "--out", "r"}),
               Catch::Contains("expected \"trains\", a scenario of a job, of \"pretrain\""));
    CHECK_FALSE(fs::exists(scratch.path() / "r"));
}

TEST_CASE("ukemi schedule --live: a signal ends all jobs, and nothing is lost",
          "[cli][live][jobs]") {
    const ScratchFolder scratch;
    std::string saving = trained;
    const std::string_view policies = R"(follow_capacity"])";
    saving.replace(saving.find(policies), policies.size(),
                   R"(follow_capacity+periodic_checkpoint"],
                       "policy_parameters": {"periodic_checkpoint": {"interval": "5 s"}})");
    write_file(scratch.path() / "trained.json", saving);
    write_file(scratch.path() / "shared.json",
               R"({"name": "shared", "cluster": {"gpus_per_machine": 2}, "trains": "trained.json",
                   "jobs": [{"name": "one", "samples": 100000000},
                            {"name": "other", "samples": 100000000}],
                   "schedulers": [{"name": "srtf"}], "time_scale": 100})");
    const auto has_saved = [&](const char* job) {
        const fs::path folder = scratch.path() / "r-checkpoints" / job;
        return fs::exists(folder) && !fs::is_empty(folder);
    };
    const Ran ran = run_ukemi_until(scratch.path(), live({"--out", "r"}), SIGINT,
                                    [&] { return has_saved("one") && has_saved("other"); });
    CAPTURE(ran.err);
    CHECK(ran.code == 128 + SIGINT);
    for (const std::string job : {"one", "other"}) {
        CHECK_THAT(ran.err, Catch::Contains(job + " is not done: told to stop; ") &&
                                Catch::Contains("saved as r-checkpoints/" + job + "/checkpoint-"));
    }
    const auto jobs = csv_rows(scratch.path() / "r/jobs.csv");
    REQUIRE(jobs.size() == 2);
    CHECK(jobs[0].at("in_time") == "failed");
    CHECK(processes_in(scratch.path()) == 0);
}

TEST_CASE("ukemi search --live: a signal leaves what has ended, and says what has not",
          "[cli][live][search]") {
    const ScratchFolder scratch;
    const fs::path begun = scratch.path() / "r-checkpoints/successive_halving/trial-4";
    const Ran ran = run_ukemi_until(
        scratch.path(),
        {"search", shipped("search/live_search.json").string(), "--live", "--out", "r"}, SIGTERM,
        [&] { return fs::exists(begun) && !fs::is_empty(begun); });
    CAPTURE(ran.err, ran.out);
    CHECK(ran.code == 128 + SIGTERM);
    CHECK(processes_in(scratch.path()) == 0);
    CHECK_THAT(ran.err, Catch::Contains(" is not done: told to stop; "));
    CHECK_THAT(ran.out, Catch::Contains("successive_halving: told to stop; ") &&
                            Catch::Contains("asha: not begun") &&
                            Catch::Contains("the best so far is trial "));
    CHECK(text_in(scratch.path() / "r/compared.txt").starts_with("successive_halving: told"));
    std::size_t ended = 0;
    std::size_t broken_off = 0;
    for (const auto& piece : csv_rows(scratch.path() / "r/pieces.csv")) {
        CHECK(piece.at("metric").empty() == piece.at("end_s").empty());
        ++(piece.at("metric").empty() ? broken_off : ended);
    }
    CHECK(ended >= 1);
    CHECK(broken_off >= 1);
    const auto searches = csv_rows(scratch.path() / "r/search.csv");
    REQUIRE(searches.size() == 1);
    CHECK(std::stod(searches[0].at("metric")) > 0);
    const auto trials = csv_rows(scratch.path() / "r/trials.csv");
    REQUIRE(trials.size() == 9);
    for (const auto& trial : trials) {
        CHECK(trial.at("metric").empty() == (trial.at("units") == "0"));
        if (trial.at("units") != "0") CHECK(!trial.at("training_learning_rate").empty());
    }
    // What is there can be looked at.
    CHECK(run_ukemi(scratch.path(), {"plot", "r"}).code == 0);
    CHECK(run_ukemi(scratch.path(), {"report", "r", "--out", "report.html"}).code == 0);
}

TEST_CASE("ukemi schedule --live: results of a live run are run live again, or not at all",
          "[cli][live][jobs][again]") {
    const ScratchFolder scratch;
    write_scenarios(scratch.path());
    const Ran first =
        run_ukemi(scratch.path(), live({"--paced", "--time-scale", "20", "--out", "r"}));
    INFO(first.err);
    REQUIRE(first.code == 0);
    const auto about = nlohmann::json::parse(text_in(scratch.path() / "r/run.json"));
    CHECK(about.at("live") == nlohmann::json{{"paced", true}, {"time_scale", 20.0}});
    for (const std::vector<std::string>& command : {std::vector<std::string>{"schedule", "r"},
                                                    {"schedule", "r/run.json", "--out", "s"},
                                                    {"sweep", "r", "--out", "s.db"}}) {
        const Ran refused = run_ukemi(scratch.path(), command);
        CHECK(refused.code == 2);
        CHECK_THAT(refused.err,
                   Catch::Contains("is of a live run: ukemi schedule --live runs it live "
                                   "again, and its scenario, shared.json, is "));
    }
    CHECK_FALSE(fs::exists(scratch.path() / "s"));
    CHECK_FALSE(fs::exists(scratch.path() / "s.db"));
    const Ran again = run_ukemi(scratch.path(), {"schedule", "r", "--live", "--out", "again"});
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(nlohmann::json::parse(text_in(scratch.path() / "again/run.json")).at("live") ==
          about.at("live"));
    CHECK(fs::exists(scratch.path() / "again-checkpoints"));
    CHECK(csv_rows(scratch.path() / "again/jobs.csv").size() ==
          csv_rows(scratch.path() / "r/jobs.csv").size());
}

TEST_CASE("ukemi search --live: the simulated run's promotions and winner", "[cli][live][search]") {
    // Pieces end where the scenario evaluates, and, with 1800, between two evaluations. In the last
    // two trials take over others' weights: with a momentum, which the checkpoint's job knows, and
    // with batches that do not divide the samples, so that a live trial's very last step is larger.
    struct Case {
        std::vector<std::string> settings;
        double margin = 0.005;
    };
    const std::string pbt = R"(/searchers=[{"name": "pbt", "interval": 2, "replaced": 0.4}])";
    const std::string rate =
        R"(/space=[{"key": "/training/learning_rate", "from": 0.01, "to": 1, "scale": "log"}, )";
    const Case cases[] = {
        {{"/trial/job/samples=9000"}},
        {{"/trial/job/samples=1800"}},
        {{pbt, R"(/trial/training/optimiser={"momentum": 0.5})",
          rate + R"({"key": "/training/optimiser/momentum", "from": 0.1, "to": 0.9}])"}},
        {{pbt, rate + R"({"key": "/job/batch", "numbers": [7, 30, 64]}])"}, 0.03}};
    const auto& [settings, margin] = GENERATE_REF(from_range(std::begin(cases), std::end(cases)));
    CAPTURE(settings);
    const ScratchFolder scratch;
    const auto searched = [&](std::vector<std::string> more) {
        std::vector<std::string> all{"search", shipped("search/live_search.json").string(), "--set",
                                     "/trials=5"};
        for (const std::string& one : settings) all.insert(all.end(), {"--set", one});
        all.insert(all.end(), more.begin(), more.end());
        return run_ukemi(scratch.path(), all);
    };
    const Ran ran = searched({"--live", "--paced", "--out", "r/"});
    CHECK(fs::is_directory(scratch.path() / "r-checkpoints"));
    CAPTURE(ran.err);
    REQUIRE(ran.code == 0);
    REQUIRE(searched({"--out", "s"}).code == 0);
    const auto live_pieces = csv_rows(scratch.path() / "r/pieces.csv");
    const auto pieces = csv_rows(scratch.path() / "s/pieces.csv");
    REQUIRE(live_pieces.size() == pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        for (const char* column :
             {"searcher", "trial", "copies", "until_units", "came_s", "end_s"}) {
            CHECK(live_pieces[i].at(column) == pieces[i].at(column));
        }
        const double metric = std::stod(pieces[i].at("metric"));
        CHECK(std::stod(live_pieces[i].at("metric")) == Approx(metric).margin(margin));
    }
    const auto live_rows = csv_rows(scratch.path() / "r/search.csv");
    const auto rows = csv_rows(scratch.path() / "s/search.csv");
    for (std::size_t i = 0; i < rows.size() && margin < 0.01; ++i) {
        CHECK(live_rows[i].at("winner") == rows[i].at("winner"));
    }
}

}  // namespace ukemi
