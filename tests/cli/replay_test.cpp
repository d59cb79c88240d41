// replay_test.cpp — `ukemi replay` and what it prints.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/read_file.hpp"
#include "records/ledger.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A trace of an hour with an instance and an hour without.

// 10 h in 20 h on one instance; spot 1 USD/h, on-demand 3 USD/h; nothing else costs time.
const std::string small_replay = R"({"name": "small", "seed": 1,
 "job": {"work": "10 h", "deadline": "20 h"},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["on_demand", "greedy"]})";

json runs_of(const Ran& ran) {
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out).at("runs");
}

}  // namespace

TEST_CASE("ukemi replay: --json is one document with the books of every run balanced",
          "[cli][replay]") {
    const ScratchFolder scratch;
    const std::string demo = shipped("market/demo.json").string();
    const Ran ran = run_ukemi(scratch.path(), {"replay", demo, "--json", "--seeds", "1,2"});
    CHECK(ran.err.empty());
    const json runs = runs_of(ran);
    CHECK(runs.size() == 12);                 // 6 policies × 2 seeds
    CHECK(names_in(scratch.path()).empty());  // --json alone writes no files
    for (const json& run : runs) {
        CAPTURE(run.dump());
        for (const char* key : {"scenario", "trace", "policy", "event_hash"}) {
            CHECK(run.at(key).is_string());
        }
        for (const char* key : {"seed", "revocations", "launches", "checkpoints"}) {
            CHECK(run.at(key).is_number_integer());
        }
        for (const char* key : {"deadline_met", "finished", "oracle"}) {
            CHECK(run.at(key).is_boolean());
        }
        double sum_s = 0;
        double sum_usd = 0;
        for (const std::string_view cause : records::cause_names()) {
            sum_s += run.at(fmt::format("{}_s", cause)).get<double>();
            sum_usd += run.at(fmt::format("{}_usd", cause)).get<double>();
        }
        const auto held_s = run.at("held_s").get<double>();
        const auto cost_usd = run.at("cost_usd").get<double>();
        CHECK(std::abs(sum_s - held_s) <= 1e-9 * held_s);
        CHECK(std::abs(sum_usd - cost_usd) <= 1e-9 * cost_usd);
        CHECK(run.at("duration_s").get<double>() > 0);
    }
}

TEST_CASE("ukemi replay: the same seed gives the same bits, on any number of threads",
          "[cli][replay]") {
    const ScratchFolder scratch;
    const std::string demo = shipped("market/demo.json").string();
    const Ran one =
        run_ukemi(scratch.path(), {"replay", demo, "--json", "--seeds", "1..3", "-j", "1"});
    const Ran four =
        run_ukemi(scratch.path(), {"replay", demo, "--json", "--seeds", "1..3", "-j", "4"});
    CHECK(one.code == 0);
    CHECK(one.out == four.out);
    const json seeds = runs_of(run_ukemi(
        scratch.path(), {"replay", demo, "--json", "--seeds", "9,1..2,5", "--policies", "greedy"}));
    std::vector<int> order;
    for (const json& run : seeds) order.push_back(run.at("seed").get<int>());
    CHECK(order == std::vector<int>{9, 1, 2, 5});
}

TEST_CASE("ukemi replay: the table is sorted by cost and at most 100 columns wide",
          "[cli][replay]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"replay", shipped("market/demo.json").string(),
                                               "--no-files", "--seeds", "1..3"});
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());  // no progress where nobody watches
    CHECK(names_in(scratch.path()).empty());
    std::istringstream stream(ran.out);
    std::vector<double> costs;
    for (std::string line; std::getline(stream, line);) {
        CHECK(columns_in(line) <= 100);
        double cost = 0;
        if (line.size() > 90 && std::sscanf(line.c_str() + 29, "%lf", &cost) == 1) {
            costs.push_back(cost);
        }
    }
    CHECK(costs.size() == 6);
    CHECK(std::is_sorted(costs.begin(), costs.end() - 1));
    CHECK(costs.back() < costs.front());  // spot_only, which misses every deadline
}

TEST_CASE("ukemi replay: --traces, --policies and --set replace what the scenario says",
          "[cli][replay]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", small_replay);
    write_file(scratch.path() / "x/up.csv", capacity_csv);
    write_file(scratch.path() / "y/up.csv", capacity_csv);
    const json runs = runs_of(run_ukemi(
        scratch.path(),
        {"replay", "small.json", "--json", "--traces", "*/up.csv", "--policies", "greedy,spot_only",
         "--set", "/job/deadline=12 h", "--set", "/market/on_demand_price=\"5 USD/h\"", "--set",
         R"(/cluster={"count": 1, "instance": "p3.2xlarge"})"}));
    REQUIRE(runs.size() == 4);
    CHECK(runs[0].at("trace") == "x/up");  // two files of one name keep their folders
    CHECK(runs[2].at("trace") == "y/up");
    CHECK(runs[0].at("policy") == "greedy");
    // An hour of spot at 1 USD, idle for 2 h, then the last 9 h on-demand at 5 USD.
    CHECK(runs[0].at("cost_usd").get<double>() == 46);
    CHECK(runs[0].at("duration_s").get<double>() == 12 * 3600);
    CHECK(runs[0].at("deadline_met").get<bool>());
    CHECK(runs[1].at("policy") == "spot_only");
    CHECK_FALSE(runs[1].at("finished").get<bool>());
    CHECK(runs[1].at("cost_usd").get<double>() == 1);
}

TEST_CASE("ukemi replay: wrong options are complaints about the option", "[cli][replay]") {
    struct Wrong {
        std::vector<std::string> options;
        const char* complaint;
    };
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", small_replay);
    const Wrong wrong[] = {
        {{"--policies", "greddy"}, "--policies: no policy \"greddy\" (did you mean \"greedy\"?)\n"},
        {{"--policies", "greedy+on_demand"},
         "--policies: policies \"greedy\" and \"on_demand\" both turn market\n"},
        {{"--policies", "ideal_no_overhead"}, "--policies: \"ideal_no_overhead\" needs an oracle"},
        {{"--seeds", "4..1"}, "--seeds: expected a range that goes up, found \"4..1\"\n"},
        {{"--traces", "none/*.csv"}, "--traces: no file matches \"none/*.csv\"\n"},
        {{"--set", "job/work=1 h"},
         "--set: expected /json/pointer=VALUE, found \"job/work=1 h\"\n"},
        {{"--set", "/jobs/work=1 h"},
         "small.json: at /: unknown key \"jobs\" (did you mean \"job\"?)\n"},
        {{"--set", "/job/work=1"}, "small.json: at /job/work: expected a duration such as"},
        {{"--set", "/limits={\"events_max\": 1}"},
         "on_demand on small, seed 1: run limit reached: events_max of 1"},
    };
    for (const Wrong& each : wrong) {
        CAPTURE(each.options);
        std::vector<std::string> arguments{"replay", "small.json", "--no-files"};
        arguments.insert(arguments.end(), each.options.begin(), each.options.end());
        const Ran ran = run_ukemi(scratch.path(), arguments);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::StartsWith(std::string("ukemi: ") + each.complaint));
    }
}

TEST_CASE("ukemi replay: which way round zeros and ones were read is said", "[cli][replay]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "small.json", small_replay);
    write_file(scratch.path() / "t.json", R"({"metadata": {"gap_seconds": 600}, "data": [1, 0]})");
    const Ran ran = run_ukemi(scratch.path(), {"replay", "small.json", "--no-files", "--traces",
                                               "t.json", "--set", "/market/one_means=unavailable"});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::EndsWith(
                            "traces read with 1 = unavailable, as one_means at /market says\n\n"));
}

TEST_CASE("ukemi replay: phases of transitions are a table, columns and lines of the timeline",
          "[cli][replay]") {
    const ScratchFolder scratch;
    const std::string file = shipped("size/resize_costs.json").string();
    const Ran ran = run_ukemi(scratch.path(), {"replay", file, "--out", "r", "--policies",
                                               "throughput_resize+on_demand"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("transitions by phase, mean of a run"));
    CHECK_THAT(ran.out, Catch::Contains("group stands still, s"));
    CHECK_THAT(read_file(scratch.path() / "r/summary.csv"), Catch::Contains(",spawn_phase_s,"));
    bool rendezvous = false;
    bool observed = false;
    for (const auto& entry : fs::recursive_directory_iterator(scratch.path() / "r/runs")) {
        if (entry.path().filename() == "timeline.csv") {
            rendezvous = read_file(entry.path()).find(",rendezvous\n") != std::string::npos;
        }
        if (entry.path().filename() == "decisions.jsonl") {
            observed = read_file(entry.path()).find("\"question\"") != std::string::npos;
        }
    }
    CHECK(rendezvous);
    CHECK(observed);
    // The figures read that timeline back.
    CHECK(fs::exists(scratch.path() / "r/figures"));
    // A scenario that does not tell phases apart has no such table.
    write_file(scratch.path() / "small.json", small_replay);
    const Ran plain = run_ukemi(scratch.path(), {"replay", "small.json", "--no-files"});
    CHECK(plain.out.find("transitions by phase") == std::string::npos);
}

TEST_CASE("ukemi replay: a loss between two ticks leaves the time for on-demand", "[cli][replay]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "capacity.csv", "t_s,instances\n0,1\n14424,0\n");
    write_file(scratch.path() / "off.json", R"({"name": "off", "seed": 1,
 "job": {"work": "18720 s", "deadline": "19800 s", "restart": "431 s", "clock": {"tick": "600 s"}},
 "cluster": {"count": 1},
 "market": {"availability": "capacity.csv", "spot_price": "1 USD/h", "on_demand_price": "3 USD/h",
            "after_last_row": "hold"},
 "replay": ["on_demand", "greedy", "time_sliced", "uniform_progress", "greedy+follow_capacity"]})");
    for (const json& run : runs_of(run_ukemi(
             scratch.path(), {"replay", "off.json", "--no-files", "--starts", "1", "--json"}))) {
        CAPTURE(run.at("policy").dump());
        CHECK(run.at("deadline_met") == true);
    }
}

TEST_CASE("ukemi replay: a rule over regions goes back to the spot machine that it has",
          "[cli][replay]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "two.json", R"({"name": "two", "seed": 1,
 "job": {"work": "61260 s", "deadline": "62760 s", "restart": "473 s", "clock": {"tick": "60 s"}},
 "cluster": {"count": 1},
 "market": {"zones": [{"name": "z1", "spot_price": "2 USD/h"},
                      {"name": "z2", "spot_price": "1 USD/h"}],
            "on_demand_price": "3 USD/h", "provisioning": "266 s"},
 "replay": ["greedy", "cheapest_region_net:rule=greedy",
            "cheapest_region_net:rule=time_sliced"]})");
    for (const json& run :
         runs_of(run_ukemi(scratch.path(), {"replay", "two.json", "--no-files", "--json"}))) {
        CAPTURE(run.at("policy").dump());
        CHECK(run.at("deadline_met") == true);
    }
}

TEST_CASE("ukemi replay: a run that ends where it begins has results and no timeline",
          "[cli][replay]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "none.csv", "t_s,instances\n0,0\n");
    write_file(scratch.path() / "small.json", small_replay);
    const Ran ran = run_ukemi(scratch.path(), {"replay", "small.json", "--traces", "none.csv",
                                               "--set", "/market/after_last_row=\"hold\"",
                                               "--policies", "spot_only", "--out", "r"});
    CHECK(ran.err.find("the end must be after the start") == std::string::npos);
    CHECK(ran.code == 0);
    CHECK(fs::exists(scratch.path() / "r/summary.csv"));
}

}  // namespace ukemi
