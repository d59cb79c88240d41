// timeline_test.cpp — whole runs as one trace: what is in it, and that it has a bound.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {
namespace {

using nlohmann::json;

// What a trace says of its processes.
struct Traced {
    std::string name;
    double span_us = 0;  // of all spans
    double end_us = 0;
    std::int64_t lost = 0;
    std::map<std::string, double> last;  // of each counter's first line
};

std::map<int, Traced> traced_in(const std::filesystem::path& file) {
    std::map<int, Traced> processes;
    const json document = json::parse(text_in(file));
    for (const json& event : document.at("traceEvents")) {
        Traced& process = processes[event.at("pid").get<int>()];
        const auto name = event.at("name").get<std::string>();
        const auto kind = event.at("ph").get<std::string>();
        if (kind == "M" && name == "process_name") {
            process.name = event.at("args").at("name").get<std::string>();
        }
        if (kind == "M") continue;
        const double at = event.at("ts").get<double>();
        if (kind == "X") {
            process.span_us += event.at("dur").get<double>();
            process.end_us = std::max(process.end_us, at + event.at("dur").get<double>());
        }
        if (kind == "i") process.lost += std::stoi(name);
        if (kind == "C") process.last[name] = event.at("args").begin()->get<double>();
    }
    return processes;
}

}  // namespace

TEST_CASE("timeline: two results are one trace, a process a run", "[cli]") {
    const ScratchFolder scratch;
    const std::string scenario = shipped("smoke/two_zones.json").string();
    for (const char* out : {"a", "b"}) {
        const Ran ran = run_ukemi(scratch.path(),
                                  {"replay", scenario, "--out", out, "--only", "cost_by_cause"});
        INFO(ran.err);
        REQUIRE(ran.code == 0);
    }
    const Ran ran = run_ukemi(scratch.path(), {"timeline", "a", "b", "--out", "t.json"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json results = json::parse(text_in(scratch / "a/runs.json"));
    const json& runs = results.at("runs");
    const std::map<int, Traced> processes = traced_in(scratch / "t.json");
    CHECK(processes.size() == 2 * runs.size());
    std::map<std::string, json> by_policy;
    for (const json& run : runs) {
        auto policy = run.at("policy").get<std::string>();
        std::ranges::replace(policy, '+', '-');
        std::ranges::replace(policy, ':', '-');
        by_policy[policy] = run;
    }
    std::int64_t lost = 0;
    for (const auto& [_, process] : processes) {
        CAPTURE(process.name);
        const std::size_t begin = process.name.find(": ") + 2;
        const auto run =
            by_policy.find(process.name.substr(begin, process.name.find("--") - begin));
        REQUIRE(run != by_policy.end());
        const double duration_us = 1e6 * run->second.at("duration_s").get<double>();
        CHECK(process.end_us == Approx(duration_us));
        CHECK(process.span_us == Approx(duration_us));  // nothing is left out, or twice
        CHECK(process.lost == run->second.at("revocations").get<std::int64_t>());
        // The last step may go beyond the work, and bills round up what a machine had last.
        CHECK(process.last.at("progress") ==
              Approx(run->second.at("progress").get<double>()).epsilon(1e-3));
        CHECK(process.last.at("spent (USD)") ==
              Approx(run->second.at("cost_usd").get<double>()).epsilon(1e-3));
        lost += process.lost;
    }
    CHECK(lost > 0);
    const Ran bounded =
        run_ukemi(scratch.path(), {"timeline", "a", "--out", "s.json", "--rows-max", "40"});
    REQUIRE(bounded.code == 0);
    CHECK(bounded.out.find(" moments: --rows-max allows no more") != std::string::npos);
    CHECK(std::filesystem::file_size(scratch / "s.json") <
          std::filesystem::file_size(scratch / "t.json") / 2);
    std::int64_t still = 0;
    for (const auto& [_, process] : traced_in(scratch / "s.json")) still += process.lost;
    CHECK(2 * still == lost);  // they are counted whatever is left out
}

TEST_CASE("timeline: what has no timeline is refused, and nothing is replaced", "[cli]") {
    const ScratchFolder scratch;
    std::filesystem::create_directories(scratch / "empty");
    write_file(scratch / "bad/runs/x/timeline.csv", "t_s,phase\n0,running\n");
    write_file(scratch / "torn/runs/x/timeline.csv", "t_s,phase,spot_losses\n0,running,-1\n");
    write_file(scratch / "there.json", "mine");
    struct Wrong {
        std::vector<std::string> arguments;
        const char* complaint;
    };
    const Wrong all[] = {
        {{"empty", "--out", "t.json"}, "has no runs with a timeline"},
        {{"nowhere", "--out", "t.json"}, "nowhere: there is no such folder"},
        {{"bad", "--out", "t.json"}, "spot_losses"},
        {{"torn", "--out", "t.json"}, "timeline.csv:2:11: expected a number of losses"},
        {{"bad", "bad", "--out", "t.json"}, "named twice"},
        {{"torn", "--out", "there.json"}, "there.json"}};
    for (const Wrong& wrong : all) {
        std::vector<std::string> arguments = wrong.arguments;
        arguments.insert(arguments.begin(), "timeline");
        const Ran ran = run_ukemi(scratch.path(), arguments);
        CAPTURE(wrong.complaint, ran.err);
        CHECK(ran.code == 2);
        CHECK(is_one_line(ran.err));
        CHECK(ran.err.find(wrong.complaint) != std::string::npos);
        CHECK(!std::filesystem::exists(scratch / "t.json"));
    }
    CHECK(text_in(scratch / "there.json") == "mine");
}

}  // namespace ukemi
