// replay_log_test.cpp — a recorded run, fed to its policies again.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Records demo.json with every question; the path of the log.
fs::path record(const fs::path& folder, const std::string& policies, bool all_questions = true) {
    std::vector<std::string> arguments{
        "replay", shipped("market/demo.json").string(), "--policies", policies, "--out", "run"};
    if (all_questions) arguments.emplace_back("--log-observations");
    const Ran ran = run_ukemi(folder, arguments);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const auto runs = names_in(folder / "run/runs");
    REQUIRE(runs.size() == 1);
    return folder / "run/runs" / runs.at(0) / "decisions.jsonl";
}

// Takes all spot away in the first question that led to buying spot; its line, counted from 1.
std::size_t alter_one_observation(std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        json line = json::parse(lines[i]);
        const bool bought =
            line.at("record") == "question" && line.contains("proposed") &&
            line.at("answers").dump().find("\"market\":\"spot\"") != std::string::npos;
        if (!bought) continue;
        json& seen = line.at("seen");
        seen["spot_capacity"] = 0;
        seen["spot_held"] = 0;
        for (json& zone : seen.at("zones")) zone["spot_capacity"] = 0;
        lines[i] = line.dump();
        return i + 1;
    }
    return 0;
}

}  // namespace

TEST_CASE("ukemi replay-log: the demo's policies say again what they said", "[cli][replay_log]") {
    const ScratchFolder scratch;
    const fs::path log = record(scratch.path(), "spot_only+daly");
    const Ran same = run_ukemi(scratch.path(), {"replay-log", log.string()});
    CHECK(same.code == 0);
    CHECK(same.err.empty());
    std::int64_t questions = 0;
    std::int64_t decisions = 0;
    const std::string counts = same.out.substr(log.string().size());
    REQUIRE(std::sscanf(counts.c_str(), ": %ld questions, %ld decisions, 0 answered otherwise\n",
                        &questions, &decisions) == 2);
    CHECK(questions >= decisions);
    CHECK(decisions >= 20);

    auto lines = lines_of(text_in(log));
    const std::size_t altered = alter_one_observation(lines);
    REQUIRE(altered > 1);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write_file(scratch.path() / "altered.jsonl", text);
    const Ran differs = run_ukemi(scratch.path(), {"replay-log", "altered.jsonl"});
    CHECK(differs.code == 1);
    CHECK_THAT(differs.err, Catch::StartsWith("ukemi: altered.jsonl:" + std::to_string(altered) +
                                              ":1: question "));
    CHECK_THAT(differs.out, !Catch::Contains(" 0 answered otherwise"));
}

TEST_CASE("ukemi replay-log: a list of policies with parameters beside their names replays",
          "[cli][replay_log]") {
    const ScratchFolder scratch;
    json scenario = json::parse(text_in(shipped("market/demo.json")));
    scenario.erase("replay");
    scenario["policies"] = json::parse(R"([{"name": "uniform_progress", "safety_net": "simple"},
                        {"name": "daly", "mean_time_between_failures": "3 h"}])");
    write_file(scratch.path() / "list.json", scenario.dump());
    REQUIRE(run_ukemi(scratch.path(), {"replay", "list.json", "--out", "run", "--log-observations"})
                .code == 0);
    const std::string log =
        "run/runs/" + names_in(scratch.path() / "run/runs").at(0) + "/decisions.jsonl";
    const Ran ran = run_ukemi(scratch.path(), {"replay-log", log});
    CHECK(ran.err.empty());
    CHECK(ran.code == 0);
}

TEST_CASE("ukemi replay-log: a log that cannot tell is refused, and the others are replayed",
          "[cli][replay_log]") {
    const ScratchFolder scratch;
    const fs::path short_log = record(scratch.path(), "on_demand", false);
    fs::rename(scratch.path() / "run", scratch.path() / "short");
    const fs::path log = record(scratch.path(), "on_demand");
    const std::string name =
        "short/runs/" + short_log.parent_path().filename().string() + "/decisions.jsonl";
    const Ran ran = run_ukemi(scratch.path(), {"replay-log", name, log.string()});
    CHECK(ran.code == 2);
    CHECK(ran.err == "ukemi: " + name +
                         ":1:1: holds only the questions that led to a change; record the run "
                         "again with --log-observations\n");
    CHECK_THAT(ran.out, Catch::StartsWith(log.string()));

    const std::string text = text_in(log);
    write_file(scratch.path() / "cut.jsonl", text.substr(0, text.size() - 5));
    const Ran cut = run_ukemi(scratch.path(), {"replay-log", "cut.jsonl"});
    CHECK(cut.code == 2);
    CHECK(is_one_line(cut.err));
    CHECK_THAT(cut.err, Catch::Contains("the last line is cut short"));
}

}  // namespace ukemi
