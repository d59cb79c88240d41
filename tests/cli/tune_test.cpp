// tune_test.cpp — `ukemi tune`: it finds what trying everything finds, and says what that is worth
// on markets that it was not chosen on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Saving costs 6 min, and so does nobody who loses nothing; losses take what was not saved.
const std::string tuned_scenario = R"({"name": "small", "seed": 1,
 "job": {"work": "10 h", "deadline": "30 h", "restart": "2 min",
         "checkpoint": {"cost": "6 min", "restore": "1 min"}},
 "cluster": {"count": 1},
 "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
 "replay": ["greedy+periodic"]})";

// 90 h (three windows), in which the machine is taken for ten minutes again and again.
std::string lost_every(int period_s, const std::string& zone) {
    std::string text = fmt::format("# id={} duration_s=324000\nt_s,instances\n0,1\n", zone);
    for (int at = period_s; at < 324000 - 600; at += period_s) {
        text += fmt::format("{},0\n{},1\n", at, at + 600);
    }
    return text;
}

void write_traces(const fs::path& folder, const std::string& name, int count, int period_s) {
    for (int i = 0; i < count; ++i) {
        // A little apart, so that no two zones are the same.
        write_file(folder / fmt::format("{}-{}.csv", name, i),
                   lost_every(period_s + 60 * i, fmt::format("{}-{}", name, i)));
    }
}

Ran tuned(const fs::path& folder, std::vector<std::string> options) {
    write_file(folder / "small.json", tuned_scenario);
    const std::vector<std::string> begin{"tune", "small.json", "--policy", "greedy+periodic"};
    options.insert(options.begin(), begin.begin(), begin.end());
    return run_ukemi(folder, options);
}

json best_of(const Ran& ran) {
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out).at("best").at(0);
}

}  // namespace

TEST_CASE("ukemi tune: the best is what trying every setting finds", "[cli][tune]") {
    const ScratchFolder scratch;
    write_traces(scratch.path(), "train", 3, 3 * 3600);
    write_traces(scratch.path(), "other", 3, 3 * 3600);
    const Ran ran = tuned(scratch.path(), {"--over", "interval=10min..5h:log", "--tries", "12",
                                           "--traces", "train-*.csv", "--held-out", "other-*.csv",
                                           "--json", "--csv", "tried.csv"});
    const json best = best_of(ran);
    const json document = json::parse(ran.out);
    CHECK(document.at("training").at("runs_a_setting") == 9);
    CHECK(document.at("held_out").at("runs_a_setting") == 9);
    CHECK(document.at("rungs").size() == 3);
    CHECK(document.at("rungs").back() == json({{"settings", 2}, {"runs_a_setting", 9}}));

    // Every setting on every window, by replay.
    std::vector<std::string> policies;
    for (const std::string& line : lines_of(text_in(scratch.path() / "tried.csv"))) {
        if (line.starts_with("greedy")) policies.push_back(line.substr(0, line.find(',')));
    }
    REQUIRE(policies.size() == 13);
    CHECK(policies.front() == "greedy+periodic");
    const auto means = [&](const std::string& traces) {
        const Ran replay =
            run_ukemi(scratch.path(), {"replay", "small.json", "--traces", traces, "--policies",
                                       fmt::format("{}", fmt::join(policies, ",")), "--json"});
        INFO(replay.err);
        REQUIRE(replay.code == 0);
        std::map<std::string, double> costs;
        const json results = json::parse(replay.out);
        for (const json& row : results.at("policies")) {
            costs[row.at("policy").get<std::string>()] =
                row.at("cost_usd").at("mean").get<double>();
        }
        return costs;
    };
    const std::map<std::string, double> training = means("train-*.csv");
    const std::map<std::string, double> held_out = means("other-*.csv");
    const auto least =
        std::ranges::min_element(training, {}, [](const auto& one) { return one.second; });
    CHECK(best.at("policies").get<std::string>() == least->first);
    CHECK(best.at("training").at("cost_usd").at("mean").get<double>() == Approx(least->second));
    CHECK(best.at("held_out").at("cost_usd").at("mean").get<double>() ==
          Approx(held_out.at(least->first)));
    const double gain = held_out.at(least->first) - held_out.at("greedy+periodic");
    CHECK(best.at("held_out").at("difference").at("mean").get<double>() == Approx(gain));
    CHECK(gain < 0);
    CHECK_THAT(document.at("verdict").get<std::string>(), Catch::EndsWith("tuning carried over"));
}

TEST_CASE("ukemi tune: what was fitted to its markets is said", "[cli][tune]") {
    const ScratchFolder scratch;
    // Where nothing is lost, the less one saves the better; elsewhere that loses everything.
    write_traces(scratch.path(), "calm", 3, 300000);
    write_traces(scratch.path(), "rough", 3, 2 * 3600);
    const Ran ran = tuned(scratch.path(), {"--over", "interval=30min..9h", "--tries", "9",
                                           "--traces", "calm-*.csv", "--held-out", "rough-*.csv"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    INFO(ran.out);
    CHECK_THAT(ran.out, Catch::Contains("tuning did not carry over: it is worse there"));
    CHECK_THAT(ran.out, Catch::Contains("\noptimum "));
    CHECK_THAT(ran.out, Catch::Contains("\nuntuned: greedy+periodic "));
    for (const std::string& line : lines_of(ran.out)) CHECK(columns_in(line) <= 100);
}

TEST_CASE("ukemi tune: the same numbers with any number of threads", "[cli][tune]") {
    const ScratchFolder scratch;
    write_traces(scratch.path(), "train", 5, 3 * 3600);
    const std::vector<std::string> options{"--over",     "interval=10min..5h:log",
                                           "--over",     "greedy.safety_net=simple,strong",
                                           "--tries",    "10",
                                           "--json",     "--traces",
                                           "train-*.csv"};
    std::vector<std::string> outputs;
    for (const char* threads : {"1", "4"}) {
        std::vector<std::string> all = options;
        all.insert(all.end(), {"-j", threads});
        const Ran ran = tuned(scratch.path(), all);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        outputs.push_back(ran.out);
    }
    CHECK(outputs[0] == outputs[1]);
    const json document = json::parse(outputs[0]);
    CHECK(document.at("held_out").at("chosen") == "every third trace");
    CHECK(document.at("held_out").at("traces") == json({"train-2"}));
    CHECK(document.at("training").at("traces") ==
          json({"train-0", "train-1", "train-3", "train-4"}));
    CHECK(document.at("best").at(0).at("parameters").size() == 2);
}

TEST_CASE("ukemi tune: of one trace the later windows are held out, of seeds others",
          "[cli][tune]") {
    const ScratchFolder scratch;
    write_traces(scratch.path(), "train", 1, 3 * 3600);
    const json of_windows = json::parse(
        tuned(scratch.path(), {"--over", "interval=1h,2h", "--traces", "train-0.csv", "--json"})
            .out);
    CHECK(of_windows.at("held_out").at("runs_a_setting") == 1);
    CHECK(of_windows.at("training").at("runs_a_setting") == 2);
    CHECK_THAT(of_windows.at("held_out").at("chosen").get<std::string>(),
               Catch::Contains("last third"));
    const Ran generated =
        run_ukemi(scratch.path(),
                  {"tune", shipped("market/demo.json").string(), "--policy", "greedy+periodic",
                   "--over", "interval=20min,2h", "--seeds", "1..4", "--json"});
    INFO(generated.err);
    REQUIRE(generated.code == 0);
    const json of_seeds = json::parse(generated.out);
    CHECK(of_seeds.at("held_out").at("chosen") == "seeds 5 to 8");
    CHECK(of_seeds.at("training").at("runs_a_setting") == 4);
}

TEST_CASE("ukemi tune: files, and what is there already", "[cli][tune]") {
    const ScratchFolder scratch;
    write_traces(scratch.path(), "train", 3, 3 * 3600);
    const std::vector<std::string> options{"--over",      "interval=1h,2h", "--traces",
                                           "train-*.csv", "--out",          "t"};
    const Ran ran = tuned(scratch.path(), options);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("\nresults: t\n"));
    const Names names = names_in(scratch.path() / "t");
    for (const char* name : {"manifest.json", "tune.csv", "tune.json", "tuned.csv", "tuned.gp"}) {
        CAPTURE(name);
        CHECK(std::ranges::count(names, name) == 1);
    }
    // The untuned list and two settings, in training and held out, beside the optimum.
    const std::string drawn = text_in(scratch.path() / "t/tuned.csv");
    CHECK(lines_of(drawn).size() == 13);
    for (const char* part :
         {"mean of the runs,training: chosen here", "optimum,held out: what it is worth"}) {
        CHECK_THAT(drawn, Catch::Contains(part));
    }
    const Ran again = tuned(scratch.path(), options);
    CHECK(again.code == 2);
    CHECK(is_one_line(again.err));

    // A report of it has the same numbers and the same sentence.
    REQUIRE(run_ukemi(scratch.path(), {"report", "t", "--out", "t.html"}).code == 0);
    const json document = json::parse(text_in(scratch.path() / "t/tune.json"));
    const std::string page = text_in(scratch.path() / "t.html");
    CHECK_THAT(page, Catch::Contains(document.at("verdict").get<std::string>()));
    for (const char* markets : {"training", "held_out"}) {
        const double mean =
            document.at("best").at(0).at(markets).at("cost_usd").at("mean").get<double>();
        CHECK_THAT(page, Catch::Contains(fmt::format("data-value=\"{}\"", mean)));
    }
    CHECK(document.at("resolved").at("job").at("work") == "10 h");
}

TEST_CASE("ukemi tune: what cannot be tuned is refused in a line", "[cli][tune]") {
    const ScratchFolder scratch;
    write_traces(scratch.path(), "train", 3, 3 * 3600);
    const std::pair<std::vector<std::string>, std::string> cases[] = {
        {{"--over", "intervall=1h..2h"},
         "--over: policy \"periodic_checkpoint\" has no parameter \"intervall\" (did you mean "
         "\"interval\"?) (see ukemi list policies periodic_checkpoint)"},
        {{"--over", "greedy.safetynet=simple,strong"},
         "--over: policy \"greedy\" has no parameter \"safetynet\" (did you mean "
         "\"safety_net\"?)"},
        {{"--over", "colour=1h..2h"},
         "--over: no policy of \"greedy+periodic\" has a parameter \"colour\": \"greedy\" has "},
        {{"--over", "daly.interval=1h..2h"},
         "--over: there is no policy \"daly\" in \"greedy+periodic\""},
        {{"--over", "interval"}, "--over: expected PARAMETER=LOW..HIGH"},
        {{"--over", "interval=2h..1h"}, "--over: expected a range from a lower to a higher value"},
        {{"--over", "interval=1..2"}, "--over: expected a duration"},
        {{"--over", "interval=0s..2h:log"}, "--over: a logarithmic range begins above zero"},
        {{"--over", "interval=0s..2h"}, "--over: policy \"periodic_checkpoint\": at /interval: "},
        {{"--over", "interval=1h,,2h"}, "--over: expected different values of interval"},
        {{"--over", "safety_net=a..b"}, "--over: safety_net is no number or duration"},
        {{"--over", "safety_net=simple,weak"}, "--over: policy \"greedy\": at /safety_net: "},
        {{"--over", "interval=1h,2h", "--over", "periodic.interval=1h..2h"},
         "--over: interval is named twice"},
        {{"--over", "interval=1h,2h", "--held-out", "train-0.csv"},
         "--held-out: train-0.csv is among the training traces, too"}};
    for (const auto& [arguments, complaint] : cases) {
        std::vector<std::string> all = arguments;
        all.insert(all.end(), {"--traces", "train-*.csv"});
        const Ran ran = tuned(scratch.path(), all);
        CAPTURE(arguments.back(), ran.err);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::StartsWith("ukemi: " + complaint));
    }
    const Ran set =
        run_ukemi(scratch.path(), {"tune", "small.json", "--policy", "greedy+periodic:1h", "--over",
                                   "interval=1h..2h", "--traces", "train-*.csv"});
    CHECK(set.code == 2);
    CHECK(set.err == "ukemi: --over: \"greedy+periodic:1h\" sets interval itself\n");
}

}  // namespace ukemi
