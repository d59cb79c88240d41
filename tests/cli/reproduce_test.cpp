// reproduce_test.cpp — figures of the systems that we build on, asked of `ukemi reproduce`: each
// within the bound that it states, each of values that a command gave.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {
namespace {

using nlohmann::json;

// A figure of a machine at 2 USD/h that works half an hour and an hour.
const std::string own_figure = R"({
    "title": "t", "talk": "mine", "source": "s", "slide": "-", "shows": "x",
    "axis": {"name": "minutes of work", "column": "work_min"},
    "quantities": [{"name": "cost", "axis": "cost, USD", "column": "cost_usd"}],
    "runs": [{"name": "r", "command": "compare", "scenario": "one.json",
              "vary": {"/job/work": ["30 min", "60 min"]}}],
    "lines": [{"name": "on demand", "run": "r", "at": "job_work_s", "at_times": 0.016666666667,
               "published_at": [30, 60],
               "values": [{"take": "cost_usd_mean", "published": [1, 2]}]}]})";

Ran reproduced(const std::string& description) {
    const ScratchFolder scratch;
    write_file(scratch / "one.json", R"({"name": "one", "seed": 1, "job": {"work": "1 h"},
        "cluster": {}, "market": {"on_demand_price": "2 USD/h", "spot_price": "1 USD/h"},
        "replay": ["on_demand"]})");
    write_file(scratch / "own.jsonc", description);
    return run_ukemi(scratch.path(), {"reproduce", "own.jsonc", "--json"});
}

std::string with(std::string text, const std::string& part, const std::string& other) {
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), other);
}

}  // namespace

TEST_CASE("reproduce: every figure is within the bound that it states", "[cli][published]") {
#ifdef UKEMI_SANITIZED  // takes ten times as long
    const std::string which = "or_et_al";
    const std::size_t least = 8;
#else
    const std::string which = "all";
    const std::size_t least = 38;
#endif
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"reproduce", which, "--json"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json document = json::parse(ran.out);
    CHECK(document.at("left_out").empty());
    REQUIRE(document.at("figures").size() >= least);
    for (const json& figure : document.at("figures")) {
        CAPTURE(figure.at("name"));
        CHECK(!figure.at("commands").empty());
        double worst = 0;
        for (const json& value : figure.at("values")) {
            REQUIRE(value.at("simulated").is_number());
            if (!value.contains("published")) continue;
            const double error = value.at("error_percent").get<double>();
            if (value.at("role") != "measured elsewhere") worst = std::max(worst, std::abs(error));
            // What was typed in comes out as it went in, but for what a model adds.
            if (value.at("role") == "typed in") CHECK(std::abs(error) < 1);
        }
        CHECK(worst <= figure.at("bound_percent").get<double>());
        CHECK(worst == Approx(figure.at("worst_percent").get<double>()));
    }
    CHECK(lines_of(ran.err).back().ends_with("0 left out, 0 beyond the bound stated"));
    for (const json& role : document.at("roles")) {
        CAPTURE(role.dump());
        const auto median = [&](const char* whose) {
            return role.at(whose).at("median_percent").get<double>();
        };
        if (role.at("role") == "typed in") CHECK(median("ours") < 0.5);
        if (role.at("role") != "predicted") continue;
        CHECK(median("ours") < 10);
        CHECK(median("ours_with_guess") < median("naive"));
        const json& ours = role.at("ours");
        CHECK(ours.at("within_10_percent").get<double>() > 0.5 * ours.at("values").get<double>());
        CHECK(ours.at("within_20_percent").get<double>() > 0.7 * ours.at("values").get<double>());
    }
}

TEST_CASE("reproduce: the list is for programs, too", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"reproduce", "kungfu_monitors", "--list", "--json"});
    INFO(ran.err);
    const json list = json::parse(ran.out);
    REQUIRE(list.size() == 1);
    CHECK(list[0].at("name") == "kungfu_monitors");
    CHECK(list[0].at("talk") == "kungfu");
    CHECK(list[0].at("bound_percent").get<double>() > 0);
    const json all = json::parse(run_ukemi(scratch.path(), {"reproduce", "--list", "--json"}).out);
    CHECK(all.size() > 1);
}

TEST_CASE("reproduce: a figure is a folder with its data, its script and its errors", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"reproduce", "kungfu_monitors", "--out", "f"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const auto folder = scratch / "f/kungfu_monitors";
    for (const char* ending : {".csv", ".gp", ".svg", ".png", ".pdf"}) {
        CAPTURE(ending);
        CHECK(std::filesystem::file_size(folder / (std::string("kungfu_monitors") + ending)) > 100);
    }
    const std::string errors = text_in(folder / "errors.csv");
    CHECK(errors.find("kungfu_monitors,batch 8,operations as "
                      "fitted,images_per_s_per_worker,noise_scale,29.15,") != std::string::npos);
    CHECK(text_in(scratch / "f/errors.csv") == errors);
    const std::string text = text_in(folder / "figure.txt");
    for (const char* part : {"osdi20-artifact", "typed in: 4 values", "predicted: 6 values",
                             "bound 20 %: kept", "ukemi simulate monitors --set /job/batch=8"}) {
        CAPTURE(part);
        CHECK(text.find(part) != std::string::npos);
    }
    CHECK(run_ukemi(scratch.path(), {"reproduce", "kungfu_monitors", "--out", "f"}).code == 2);
    // Its source names the values from the largest down.
    CHECK(run_ukemi(scratch.path(), {"reproduce", "or_stragglers", "--out", "g"}).code == 0);
    CHECK(std::filesystem::file_size(scratch / "g/or_stragglers/or_stragglers.svg") > 100);
}

TEST_CASE("reproduce: the list names every figure, and so does the page about them", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"reproduce", "--list"});
    REQUIRE(ran.code == 0);
    const std::string page = text_in(shipped("published/README.md"));
    std::size_t figures = 0;
    for (const auto& entry : std::filesystem::directory_iterator(shipped("published"))) {
        if (entry.path().extension() != ".jsonc") continue;
        ++figures;
        const std::string name = entry.path().stem().string();
        CAPTURE(name);
        CHECK(("\n" + ran.out).find("\n" + name + " ") != std::string::npos);
        CHECK(page.find("| `" + name + "` |") != std::string::npos);
    }
    CHECK(figures >= 38);
    CHECK(run_ukemi(scratch.path(), {"reproduce"}).out == ran.out);
}

TEST_CASE("reproduce: a name that is none is refused, with the nearest", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"reproduce", "kungfu_monitor"});
    CHECK(ran.code == 2);
    CHECK(is_one_line(ran.err));
    CHECK(ran.err.find("(did you mean \"kungfu_monitors\"?)") != std::string::npos);
    CHECK(names_in(scratch.path()).empty());
    const Ran listed = run_ukemi(scratch.path(), {"reproduce", "--list", "kungfu_monitor"});
    CHECK(listed.code == 2);
    CHECK(listed.out.empty());
    CHECK(listed.err == ran.err);
    const Ran one = run_ukemi(scratch.path(), {"reproduce", "--list", "kungfu_monitors"});
    CHECK(one.code == 0);
    CHECK(one.out.starts_with("kungfu_monitors "));
    CHECK(lines_of(one.out).size() == 2);
}

TEST_CASE("reproduce: a picture says what its published values are", "[cli]") {
    const ScratchFolder scratch;
    REQUIRE(run_ukemi(scratch.path(), {"reproduce", "ibm_bubbles", "--out", "f"}).code == 0);
    const std::string script = text_in(scratch / "f/ibm_bubbles/ibm_bubbles.gp");
    CHECK(script.find("published[2] = 'formula: (p - 1) / m'") != std::string::npos);
    CHECK(script.find("title published[2]") != std::string::npos);
    CHECK(script.find("title published[1]") == std::string::npos);
}

TEST_CASE("reproduce: a picture tells what is predicted from what was given", "[cli]") {
    const ScratchFolder scratch;
    REQUIRE(run_ukemi(scratch.path(), {"reproduce", "kungfu_interference", "--out", "f"}).code ==
            0);
    const std::string script = text_in(scratch / "f/kungfu_interference/kungfu_interference.gp");
    CHECK(script.find("every ::20::31 using 2:3 with points pt 5 ps 0.4 lc rgb 'white'") !=
          std::string::npos);
    CHECK(script.find("title 'simulated'") != std::string::npos);
    CHECK(script.find("title 'typed in or fitted'") != std::string::npos);
}

TEST_CASE("reproduce: names of places are whole", "[cli]") {
    const ScratchFolder scratch;
    REQUIRE(run_ukemi(scratch.path(), {"reproduce", "experts_steps", "--out", "f"}).code == 0);
    const std::string script = text_in(scratch / "f/experts_steps/experts_steps.gp");
    for (const char* place :
         {"'Qwen3 30B, 16 H100, batch 1, on 16'", "'GPT-OSS 120B, 64 B200, batch 4, on 64'",
          "'GPT-OSS 120B, 64 GB200, batch 4, on 64'"}) {
        CAPTURE(place);
        CHECK(script.find(place) != std::string::npos);
    }
}

// A second one into a folder that is there is refused.
TEST_CASE("reproduce: each page names a folder of its own", "[cli][docs]") {
    std::map<std::string, std::string> pages;
    for (const char* page :
         {"README.md", "docs/talks/README.md", "scenarios/published/README.md"}) {
        CAPTURE(page);
        const std::string text = text_in(std::filesystem::path(UKEMI_SOURCE_DIR) / page);
        const std::size_t command = text.find("--out ", text.find("ukemi reproduce "));
        REQUIRE(command != text.npos);
        const std::size_t name = command + std::string_view("--out ").size();
        const std::string folder = text.substr(name, text.find_first_of(" `\n", name) - name);
        CAPTURE(folder);
        CHECK(pages.try_emplace(folder, page).second);
    }
}

TEST_CASE("reproduce: a figure of one's own, and what is wrong with one", "[cli]") {
    const Ran good = reproduced(own_figure);
    INFO(good.err);
    REQUIRE(good.code == 0);
    const json figure = json::parse(good.out).at("figures").at(0);
    CHECK(figure.at("name") == "own");
    CHECK(figure.at("worst_percent").get<double>() < 0.01);
    CHECK(figure.at("commands").at(0) == "ukemi compare one.json --vary '/job/work=30 min,60 min'");
    struct Wrong {
        const char* part;
        const char* other;
        const char* complaint;
    };
    const Wrong all[] = {
        {R"("slide")", R"("slides")", "missing key \"slide\"; there is \"slides\""},
        {R"("axis": {)", R"("bound_percent": 20, "axis": {)", "above 10 expects a \"text\""},
        {R"("run": "r")", R"("run": "q")", "there is no such run"},
        {"[1, 2]", "[1]", "expected 2 values, one for each of \"published_at\", found 1"},
        {"[1, 2]", "[1, 2], \"role\": \"guessed\"", "\"guessed\""},
        {"[1, 2]", "[1, 2], \"fitted\": [45]", "nothing was published at 45"},
        {"[30, 60]", "[30, 45]", "nothing is simulated at 45"},
        {"cost_usd_mean", "cost_usd_meen", "(did you mean \"cost_usd_mean\"?)"},
        {R"("run": "r",)", R"("run": "r", "where": {"policy": "greedy"},)",
         "no row of run \"r\" fits"},
        {R"("vary": {"/job/work": ["30 min", "60 min"]})", R"("policies": "on_demand")",
         "no number \"job_work_s\""},
        {R"("command": "compare")", R"("command": "compare", "rows": "steps")",
         "only replay knows"},
        {R"("command": "compare")", R"("command": "compare", "from_step": 2)", "only replay knows"},
        {"one.json", "two.json", "two.json: cannot be opened"}};
    for (const Wrong& wrong : all) {
        CAPTURE(wrong.other);
        const Ran ran = reproduced(with(own_figure, wrong.part, wrong.other));
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CAPTURE(ran.err);
        CHECK(ran.err.find(wrong.complaint) != std::string::npos);
    }
}

TEST_CASE("reproduce: a program without a checkout around it says what to do", "[cli]") {
    const ScratchFolder scratch;
    std::filesystem::copy_file(UKEMI_BINARY, scratch / "ukemi");
    const std::string program = (scratch / "ukemi").string();
    for (const auto& [arguments, folder] :
         {std::pair(std::vector<std::string>{"reproduce"}, "\"scenarios/published\""),
          std::pair(std::vector<std::string>{"list", "scenarios"}, "\"scenarios\"")}) {
        const Ran ran = run_program(program.c_str(), scratch.path(), arguments);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK_THAT(ran.err, Catch::Contains(std::string("there is no folder ") + folder) &&
                                Catch::EndsWith(": run it in a checkout of ukemi\n"));
    }
}

// What a run was like on its way, and a recorded market beside the one that is generated.
// The authors' script begins to count at the second step, whose end comes 2 x 1,024 samples after
// the first step's beginning on 24 workers: 0.288 s.
TEST_CASE("reproduce: changes of the group count from the step that is said", "[cli]") {
    const auto searched = [](const std::string& from) {
        return reproduced(R"({
            "title": "t", "talk": "mine", "source": "s", "slide": "-", "shows": "x",
            "axis": {"name": "workers", "column": "workers"},
            "quantities": [{"name": "search", "axis": "s", "column": "search_s"}],
            "runs": [{"name": "r", "command": "replay", "scenario": "autoscaling_cifar10",)" +
                          from + R"("policies": "throughput_resize+on_demand",
                      "vary": {"/cluster/count_start": [24]}}],
            "lines": [{"name": "l", "run": "r", "at": "cluster_count_start", "published_at": [24],
                       "values": [{"take": "settled_s", "published": [40]}]}]})");
    };
    const auto settled = [](const Ran& ran) {
        INFO(ran.err);
        const json document = json::parse(ran.out);
        return document.at("figures").at(0).at("values").at(0).at("simulated").get<double>();
    };
    const double from_the_first = settled(searched(""));
    const double from_the_second = settled(searched(R"("from_step": 2,)"));
    CHECK(from_the_first - from_the_second == Approx(2 * 1024 / 7104.29).epsilon(0.001));
}

TEST_CASE("reproduce: the rows of a course and of a described market", "[cli]") {
    const std::string course = R"("scenario": "one.json", "rows": "course", "every": "10 min",)";
    const std::string run = with(own_figure, R"("command": "compare", "scenario": "one.json",
              "vary": {"/job/work": ["30 min", "60 min"]})",
                                 R"("command": "replay", )" + course + R"("seeds": "1..2",
              "mean_of_runs": true)");
    const std::string line = with(with(run, R"("at": "job_work_s", "at_times": 0.016666666667)",
                                       R"("at": "t_s", "at_times": 0.016666666667)"),
                                  R"("take": "cost_usd_mean", "published": [1, 2])",
                                  R"("take": "spent_usd", "published": [1, 2])");
    const Ran ran = reproduced(line);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json figure = json::parse(ran.out).at("figures").at(0);
    REQUIRE(figure.at("values").size() == 7);  // 0, 10, … 60 min, the means of both seeds
    CHECK(figure.at("values").at(1).at("simulated").get<double>() == Approx(1 / 3.0));
    CHECK(figure.at("worst_percent").get<double>() < 0.01);
    // Places are by samples or by time.
    CHECK(reproduced(with(line, R"("every": "10 min")", R"("every_samples": 0)")).code == 2);

    const std::string described = R"({
        "title": "t", "talk": "mine", "source": "s", "slide": "-", "shows": "x",
        "axis": {"name": "hours", "column": "hours"},
        "quantities": [{"name": "alive", "axis": "alive", "column": "alive"}],
        "runs": [{"name": "r", "command": "describe", "rows": "lifetimes",
                  "traces": "tests/data/goog_preemption/lifetimes.csv", "type": "n1-highcpu-16",
                  "fitted_to": "tests/data/goog_preemption/lifetimes.csv",
                  "fitted_type": "n1-highcpu-16"}],
        "lines": [{"name": "recorded", "run": "r", "where": {"from": "recorded"}, "at": "hours",
                   "values": [{"take": "alive"}]},
                  {"name": "generated", "run": "r", "where": {"from": "generated"}, "at": "hours",
                   "values": [{"take": "alive"}]}]})";
    const Ran market = reproduced(described);
    INFO(market.err);
    REQUIRE(market.code == 0);
    const json shown = json::parse(market.out).at("figures").at(0);
    CHECK(shown.at("commands").at(0) ==
          "ukemi fit tests/data/goog_preemption/lifetimes.csv --type n1-highcpu-16 --out r.json && "
          "ukemi describe tests/data/goog_preemption/lifetimes.csv --type n1-highcpu-16 --market "
          "r.json --out r");
    // 132 of 277 were taken; a law that is fitted to them is nowhere far from them.
    std::map<std::pair<std::string, double>, double> alive;
    for (const json& value : shown.at("values")) {
        alive[{value.at("line").get<std::string>(), value.at("at").get<double>()}] =
            value.at("simulated").get<double>();
    }
    CHECK(alive.at({"recorded", 0}) == 1);
    CHECK(alive.at({"recorded", 23}) == Approx(0.5758).margin(1e-3));
    for (int hour = 1; hour < 24; ++hour) {
        CAPTURE(hour);
        CHECK(alive.at({"generated", hour}) == Approx(alive.at({"recorded", hour})).margin(0.08));
    }
}

TEST_CASE("reproduce: a figure beyond its bound, and one without its recordings, are failures",
          "[cli]") {
    const Ran beyond = reproduced(with(own_figure, "[1, 2]", "[1, 2.5]"));
    CHECK(beyond.code == 1);
    CHECK(json::parse(beyond.out).at("figures").at(0).at("is_within_bound") == false);
    CHECK(lines_of(beyond.err).back() == "1 figure made, 0 left out, 1 beyond the bound stated");
    const Ran elsewhere =
        reproduced(with(own_figure, "[1, 2]", "[1, 2.5], \"measured elsewhere\": [60]"));
    CHECK(elsewhere.code == 0);  // no bound holds for it
    const Ran absent = reproduced(
        with(own_figure, R"("scenario": "one.json",)",
             R"("scenario": "one.json", "traces": "tests/data/nobody_recorded/*.csv",)"));
    CHECK(absent.code == 1);
    CHECK(json::parse(absent.out).at("left_out").size() == 1);
    CHECK(lines_of(absent.err).back() == "0 figures made, 1 left out, 0 beyond the bound stated");
}

}  // namespace ukemi
