// schedule_machines_test.cpp — `ukemi schedule` on machines that cost something, are taken away,
// and share their links: bills and ledgers in its tables, and steps as `ukemi simulate` has them.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/read_file.hpp"
#include "tests/cli/child.hpp"
#include "tests/cli/csv_rows.hpp"
#include "tests/recorded.hpp"

namespace ukemi {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* on_spot =
    R"({"name": "spot", "cluster": {"machines": 2, "gpus_per_machine": 2,
        "market": {"availability": "there.csv", "spot_price": "3.6 USD/h", "notice": "10 s",
                   "after_last_row": "hold"}},
    "checkpoint": {"every": "40 s", "takes": "5 s"},
    "jobs": [{"name": "a", "gpus": 2, "service": "100 s"},
             {"name": "b", "gpus": 1, "service": "100 s"},
             {"name": "c", "gpus": 1, "service": "100 s"}],
    "schedulers": [{"name": "fifo"}, {"name": "tiresias"}]})";

constexpr const char* in_racks = R"({"name": "racks", "seed": 1,
    "cluster": {"machine": "p3.8xlarge", "count": 4,
        "network": {"kind": "leaf_spine", "machines_per_leaf": 2, "oversubscription": 4}},
    "job": {"name": "vgg16", "model": "vgg16", "batch": 32, "collective": "ring", "steps": 6}})";

constexpr const char* on_links = R"({"name": "links",
    "cluster": {"machines": 4, "gpus_per_machine": 4}, "network": "racks.json",
    "jobs": [{"name": "first", "gpus": 4, "service": "10 min"},
             {"name": "a", "gpus": 8, "steps": 2000},
             {"name": "b", "gpus": 8, "steps": 2000}],
    "schedulers": [{"name": "fifo"}]})";

double simulated_step_s(const ScratchFolder& scratch, const json& machines_of_jobs) {
    json document = json::parse(in_racks);
    const json job = document["job"];
    document.erase("job");
    for (const json& machines : machines_of_jobs) {
        json one = job;
        one["name"] = "job-" + std::to_string(document["jobs"].size());
        one["machines"] = machines;
        document["jobs"].push_back(std::move(one));
    }
    write_file(scratch.path() / "placed.json", document.dump());
    const Ran ran = run_ukemi(scratch.path(), {"simulate", "placed.json", "--json"});
    REQUIRE(ran.code == 0);
    return json::parse(ran.out)["jobs"][0]["step_s"]["mean"].get<double>();
}

// The mean step of `right` of the shipped jobs/shared_links.json, of so many; the others make four
// times as many, and so send to the end.
double steps_of_right_s(const ScratchFolder& scratch, int steps, bool with_between) {
    json document = json::parse(read_file(shipped("steps/four_of_eight_gpus.json")));
    const json job = document["job"];
    document.erase("job");
    const auto add = [&](const char* name, const json& machines, int its_steps) {
        json one = job;
        one["name"] = name;
        one["machines"] = machines;
        one["steps"] = its_steps;
        document["jobs"].push_back(std::move(one));
    };
    add("right", {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3}, steps);
    add("left", {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, 4 * steps);
    if (with_between) add("between", {1, 1, 1, 1, 3, 3, 3, 3}, 4 * steps);
    write_file(scratch.path() / "together.json", document.dump());
    const Ran ran = run_ukemi(scratch.path(), {"simulate", "together.json", "--json"});
    REQUIRE(ran.code == 0);
    return json::parse(ran.out)["jobs"][0]["step_s"]["mean"].get<double>();
}

}  // namespace

TEST_CASE("ukemi schedule: bills of jobs add up to the fleet's", "[cli][jobs]") {
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    write_file(folder / "spot.json", on_spot);
    write_file(folder / "there.csv", "# duration_s=1000\nt_s,instances\n0,2\n60,1\n90,2\n");
    const Ran ran = run_ukemi(folder, {"schedule", "spot.json", "--out", "r"});
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("\nscheduler                cost $  unused $"));
    const auto totals = csv_rows(folder / "r/schedule.csv");
    const auto jobs = csv_rows(folder / "r/jobs.csv");
    const auto nano = [](const std::string& usd) { return std::llround(std::stod(usd) * 1e9); };
    for (const auto& total : totals) {
        std::int64_t sum = nano(total.at("unused_usd"));
        for (const auto& job : jobs) {
            if (job.at("scheduler") != total.at("scheduler")) continue;
            sum += nano(job.at("cost_usd"));
            double gpu_s = 0;
            for (const char* cause : {"useful", "redone", "transition", "checkpoint", "idle"}) {
                gpu_s += std::stod(job.at(std::string(cause) + "_gpu_s"));
            }
            CHECK(gpu_s == Approx(std::stod(job.at("gpu_s"))).epsilon(1e-12));
        }
        CHECK(sum == nano(total.at("cost_usd")));
        CHECK(total.at("machines_lost") == "1");
    }
    // A price alone changes nothing else.
    const auto times = [&](const char* setting) {
        const Ran other =
            run_ukemi(folder, {"schedule", "shared_cluster", "--csv", "j.csv", "--force",
                               "--schedulers", "srtf,tiresias", "--set", setting});
        REQUIRE(other.code == 0);
        std::vector<std::string> all;
        for (const auto& row : csv_rows(folder / "j.csv")) all.push_back(row.at("completion_s"));
        return all;
    };
    CHECK(times("/cluster/price=2 USD/h") == times("/seed=3"));
}

TEST_CASE("ukemi schedule: shared links, as ukemi simulate has them", "[cli][jobs]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "racks.json", in_racks);
    write_file(scratch.path() / "links.json", on_links);
    const Ran ran = run_ukemi(scratch.path(), {"schedule", "links.json", "--out", "r"});
    REQUIRE(ran.code == 0);
    // `first` has machine 0, so `a` has 1 and 2, over the racks; then `b` has 0 and 3, over the
    // racks, too: their all-reduces share the uplinks.
    const json of_a = {1, 1, 1, 1, 2, 2, 2, 2};
    const json of_b = {0, 0, 0, 0, 3, 3, 3, 3};
    const double alone_s = simulated_step_s(scratch, json::array({of_a}));
    const double together_s = simulated_step_s(scratch, json::array({of_a, of_b}));
    const double in_own_rack_s = simulated_step_s(scratch, json::array({{0, 0, 0, 0, 1, 1, 1, 1}}));
    CHECK(together_s > 1.8 * alone_s);
    CHECK(alone_s > 1.8 * in_own_rack_s);
    const double a_end_s = 600 + (2000 - 600 / alone_s) * together_s;
    const double b_done = (a_end_s - 600) / together_s;
    const double b_end_s = a_end_s + (2000 - b_done) * alone_s;
    const auto rows = csv_rows(scratch.path() / "r/jobs.csv");
    REQUIRE(rows.size() == 3);
    CHECK(std::stod(rows[1].at("completion_s")) == Approx(a_end_s).epsilon(1e-9));
    CHECK(std::stod(rows[2].at("completion_s")) == Approx(b_end_s).epsilon(1e-9));
    // In racks of their own nobody is in another's way.
    const Ran apart = run_ukemi(scratch.path(), {"schedule", "links.json", "--csv", "apart.csv",
                                                 "--set", "/jobs/0/arrival=100 h"});
    REQUIRE(apart.code == 0);
    const auto quiet = csv_rows(scratch.path() / "apart.csv");
    for (const std::size_t job : {0U, 1U}) {
        CHECK(std::stod(quiet[job].at("completion_s")) ==
              Approx(2000 * in_own_rack_s).epsilon(1e-9));
    }
}

TEST_CASE("ukemi schedule: jobs with policies of their own", "[cli][jobs]") {
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    const Ran ran = run_ukemi(folder, {"schedule", "adaptive_jobs", "--out", "r"});
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("goodput_batch+ada_scale+follow_capacity+spot_only+daly"));
    std::size_t own = 0;
    for (const auto& job : csv_rows(folder / "r/jobs.csv")) {
        double gpu_s = 0;
        for (const char* cause :
             {"useful", "redone", "transition", "checkpoint", "idle", "wasted"}) {
            gpu_s += std::stod(job.at(std::string(cause) + "_gpu_s"));
        }
        CHECK(gpu_s == Approx(std::stod(job.at("gpu_s"))).epsilon(1e-9));
        if (job.at("policies").empty()) continue;
        ++own;
        CHECK(job.at("event_hash").size() == 16);
        CHECK(std::stoll(job.at("plans")) > 0);
    }
    CHECK(own == 8);
    std::size_t logs = 0;
    for (const auto& file : fs::recursive_directory_iterator(folder / "r/decisions")) {
        logs += file.path().extension() == ".jsonl" ? 1 : 0;
    }
    CHECK(logs == own);
}

TEST_CASE("ukemi schedule: wrong machines, prices and links are refused", "[cli][jobs]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "spot.json", on_spot);
    write_file(scratch.path() / "there.csv", "# duration_s=1000\nt_s,instances\n0,2\n60,1\n");
    write_file(scratch.path() / "racks.json", in_racks);
    write_file(scratch.path() / "links.json", on_links);
    const auto complaint = [&](const char* file, const char* setting) {
        const Ran ran = run_ukemi(scratch.path(), {"schedule", file, "--set", setting});
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        CHECK(is_one_line(ran.err));
        return ran.err;
    };
    CHECK_THAT(complaint("spot.json", "/cluster/price=1 USD/h"),
               Catch::Contains("at /cluster/price: expected either \"price\" or a \"market\""));
    CHECK_THAT(complaint("spot.json", "/cluster/market/bidding=true"),
               Catch::Contains("at /cluster/market: unknown key \"bidding\""));
    CHECK_THAT(complaint("spot.json", "/cluster/market/availability=none.csv"),
               Catch::Contains("none.csv"));
    CHECK_THAT(complaint("spot.json", "/cluster/paid=seldom"),
               Catch::Contains("at /cluster/paid: expected one of always, in_use"));
    CHECK_THAT(complaint("spot.json", "/checkpoint/every=0 s"),
               Catch::Contains("at /checkpoint/every: expected more than zero"));
    CHECK_THAT(complaint("spot.json", "/schedulers/0/name=pollux"),
               Catch::Contains("pollux does not follow machines that come and are taken away"));
    CHECK_THAT(complaint("links.json", "/cluster/paid=in_use"),
               Catch::Contains("at /cluster/paid: expected a \"price\" or a \"market\""));
    CHECK_THAT(complaint("links.json", "/schedulers/0/name=max_min"),
               Catch::Contains("max_min gives parts of GPUs"));
    CHECK_THAT(complaint("links.json", "/cluster/machines=5"),
               Catch::Contains("racks.json: at /cluster: expected 5 machines"));
    CHECK_THAT(complaint("links.json", "/jobs/1/step_of=bert"),
               Catch::Contains("at /jobs/1/step_of: expected one of vgg16"));
    CHECK_THAT(complaint("links.json", "/jobs/1/service=1 h"),
               Catch::Contains("at /jobs/1/steps: expected no \"service\""));
    json with_events = json::parse(in_racks);
    with_events["events"] =
        json::parse(R"([{"kind": "links", "at": "1 s", "machine": 2, "share": 0.2}])");
    write_file(scratch.path() / "events.json", with_events.dump());
    CHECK_THAT(complaint("links.json", "/network=\"events.json\""),
               Catch::Contains("at /events: expected none"));
    CHECK_THAT(complaint("spot.json", "/jobs/0={\"steps\": 3}"),
               Catch::Contains("at /jobs/0/steps: expected \"network\" beside the jobs"));
}

TEST_CASE("ukemi schedule: the shipped clusters of spot machines and of shared links",
          "[cli][jobs]") {
    const ScratchFolder scratch;
    const Ran spot = run_ukemi(scratch.path(), {"schedule", "spot_cluster", "--out", "told"});
    REQUIRE(spot.code == 0);
    REQUIRE(run_ukemi(scratch.path(), {"schedule", shipped("jobs/spot_cluster.json").string(),
                                       "--set", "/cluster/market/notice=0 s", "--out", "untold"})
                .code == 0);
    const auto told = csv_rows(scratch.path() / "told/schedule.csv");
    const auto untold = csv_rows(scratch.path() / "untold/schedule.csv");
    REQUIRE(told.size() == untold.size());
    for (std::size_t i = 0; i < told.size(); ++i) {
        CHECK(told[i].at("redone_gpu_h") == "0");
        CHECK(std::stod(untold[i].at("redone_gpu_h")) > 50);
        CHECK(std::stod(told[i].at("useful_gpu_h")) ==
              Approx(std::stod(untold[i].at("useful_gpu_h"))).epsilon(1e-9));
        CHECK(std::stod(untold[i].at("cost_usd")) > std::stod(told[i].at("cost_usd")));
    }
    const Ran mixed =
        run_ukemi(scratch.path(),
                  {"schedule", shipped("jobs/spot_and_on_demand.json").string(), "--out", "mixed"});
    REQUIRE(mixed.code == 0);
    const auto spent = csv_rows(scratch.path() / "mixed/schedule.csv");
    REQUIRE(spent.size() == 4);
    CHECK(spent[0].at("late") == "0");
    CHECK(spent[0].at("shared_losses") == "0");
    for (const std::size_t other : {2U, 3U}) {
        for (const std::size_t ours : {0U, 1U}) {
            CHECK(std::stod(spent[ours].at("cost_usd")) < std::stod(spent[other].at("cost_usd")));
        }
    }
    const Ran links = run_ukemi(
        scratch.path(), {"schedule", shipped("jobs/shared_links.json").string(), "--out", "links"});
    REQUIRE(links.code == 0);
    // In spans.csv `between` has half of two machines whose other halves are the others'.
    for (const auto& row : csv_rows(scratch.path() / "links/spans.csv")) {
        if (row.at("job") == "between") CHECK(row.at("machines") == "1:4 3:4");
    }
    // `right` is alone on its links for half an hour, of which its start takes a minute, and while
    // `between` starts for another; from then on its steps are those of `ukemi simulate` while both
    // others send all the time.
    const double alone_s = steps_of_right_s(scratch, 6, false);
    const double shared_s = steps_of_right_s(scratch, 100, true);
    CHECK(shared_s > 1.7 * alone_s);
    for (const auto& row : csv_rows(scratch.path() / "links/jobs.csv")) {
        if (row.at("job") != "right") continue;
        CHECK(std::stod(row.at("completion_s")) ==
              Approx(1860 + (20'000 - 1800 / alone_s) * shared_s).epsilon(1e-3));
    }
}

}  // namespace ukemi
