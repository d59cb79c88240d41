// decision_log_test.cpp — a recorded run is reproduced, and a log that was changed is found out.
#include "records/decision_log.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/records/logged_run.hpp"
#include "tests/support/profile_predictor.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;
using namespace ukemi::records;
using nlohmann::json;

TEST_CASE("decision log: replaying reproduces every decision", "[decision_log]") {
    const std::vector<std::vector<LoggedPolicy>> lists = {
        {{"greedy", "{}"}, {"daly_checkpoint", "{}"}},
        {{"uniform_progress", "{}"}, {"young", R"({"mean_time_between_failures": "2 h"})"}},
        {{"rc_threshold", R"({"safety_net": "simple"})"}, {"checkpoint_on_notice", "{}"}},
        {{"time_sliced", R"({"slice": "5 h"})"}, {"periodic", R"({"interval": "30 min"})"}},
        {{"spot_only", "{}"}, {"follow_capacity", "{}"}}};
    RunOptions options;
    options.policies = GENERATE_REF(from_range(lists));
    options.seed = GENERATE(1U, 2U, 3U);
    CAPTURE(options.policies.front().name, options.seed);
    const LoggedRun run = logged_run(options);
    const LogReplay replay = replay_decisions(run.text, "run.jsonl");
    CHECK(run.decisions >= 20);
    CHECK(replay.decisions == run.decisions);
    CHECK(replay.questions == 100);
    CHECK(replay.scenario == "by hand");
    CHECK(replay.difference_count == 0);
    CHECK(replay.differences.empty());
}

TEST_CASE("decision log: Plans that were discarded are part of the story", "[decision_log]") {
    const LoggedRun run = logged_run();
    REQUIRE(run.discarded > 0);
    CHECK(run.text.find("\"discarded\"") != std::string::npos);
    CHECK(run.text.find("\"a worker died\"") != std::string::npos);
    CHECK(replay_decisions(run.text, "run.jsonl").difference_count == 0);
}

TEST_CASE("decision log: a loss that is not a number is recorded and replayed", "[decision_log]") {
    RunOptions options;
    options.policies = {{"greedy", "{}"}};
    const DecisionLogHeader header = header_of(options);
    DecisionLog log(header);
    Observation seen;
    seen.samples_total = header.samples_total;
    seen.deadline = Instant::at(hours(75));
    seen.loss = std::nan("");
    seen.gradient.noise_scale = -std::numeric_limits<double>::infinity();
    ControllerSetup setup;
    setup.plan = header.plan;
    setup.capabilities = header.capabilities;
    ConfigReader none = ConfigReader::from_text("{}", "test.json");
    setup.policies.push_back(make_policy(*find_policy("greedy"), none));
    setup.predictor = make_profile_predictor(header.profile);
    setup.seed = header.seed;
    setup.samples_total = header.samples_total;
    setup.log = &log;
    Controller controller(std::move(setup));
    CHECK_FALSE(controller.propose({Hook::on_event, EventKind::clock}, seen).has_value());
    CHECK_THAT(log.text(), Catch::Contains(R"("loss":"nan")"));
    const LogReplay replay = replay_decisions(log.text(), "run.jsonl");
    CHECK(replay.questions == 1);
    CHECK(replay.difference_count == 0);
}

TEST_CASE("decision log: the same run gives the same text", "[decision_log]") {
    CHECK(logged_run().text == logged_run().text);
    RunOptions other;
    other.seed = 2;
    CHECK(logged_run().text != logged_run(other).text);
}

TEST_CASE("decision log: one Observation that was changed is found", "[decision_log]") {
    // Spot that was taken was not there after all: greedy would have waited.
    const LoggedRun run = logged_run();
    auto lines = lines_of(run.text);
    const bool near_the_start = GENERATE(true, false);
    std::size_t changed = 0;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const json line = json::parse(lines[i]);
        if (!line.contains("proposed") || line["answers"][0]["decision"]["market"] != "spot") {
            continue;
        }
        changed = i;
        if (near_the_start) break;
    }
    REQUIRE(changed > 0);
    json line = json::parse(lines[changed]);
    REQUIRE(line["seen"].at("spot_capacity") == 1);
    line["seen"]["spot_capacity"] = 0;
    lines[changed] = line.dump();
    const LogReplay replay = replay_decisions(text_of(lines), "run.jsonl");
    CHECK(replay.difference_count > 0);
    REQUIRE_FALSE(replay.differences.empty());
    CHECK(replay.differences.size() <= 10);
    CHECK_THAT(replay.differences.front(),
               Catch::StartsWith("run.jsonl:" + std::to_string(changed + 1) + ":1: question "));
}

TEST_CASE("decision log: a Plan that the policies propose and the log does not know is found",
          "[decision_log]") {
    // Spot that nobody saw when it was recorded: greedy takes it.
    const LoggedRun run = logged_run();
    auto lines = lines_of(run.text);
    std::size_t changed = 0;
    for (std::size_t i = 2; i < lines.size() && changed == 0; ++i) {
        const json line = json::parse(lines[i]);
        if (line["record"] != "question" || line.contains("proposed")) continue;
        const json& answers = line["answers"];
        if (!answers.empty() && answers[0]["decision"]["market"] == "none") changed = i;
    }
    REQUIRE(changed > 0);
    json line = json::parse(lines[changed]);
    line["seen"]["spot_capacity"] = 1;
    lines[changed] = line.dump();
    const LogReplay replay = replay_decisions(text_of(lines), "run.jsonl");
    // The policies are told that their Plan came to nothing, and go on with the log.
    CHECK(replay.difference_count == 1);
    CHECK(replay.questions == 100);
}

TEST_CASE("decision log: an answer that was changed is found", "[decision_log]") {
    auto lines = lines_of(logged_run().text);
    json line = json::parse(lines[1]);
    REQUIRE(line["answers"].size() == 2);
    SECTION("what was answered") { line["answers"][0]["decision"]["reason"] = "a whim"; }
    SECTION("that it was answered") { line["answers"].erase(1); }
    SECTION("what was proposed") { line["proposed"]["workers_max"] = 2; }
    SECTION("that it was refused") { line["refused"] = "no reason"; }
    lines[1] = line.dump();
    const LogReplay replay = replay_decisions(text_of(lines), "run.jsonl");
    CHECK(replay.difference_count == 1);
    CHECK_THAT(replay.differences.at(0), Catch::StartsWith("run.jsonl:2:1: question 1: the log "));
}

TEST_CASE("decision log: a short one holds only the questions that led to a change",
          "[decision_log]") {
    RunOptions options;
    options.all_questions = false;
    const LoggedRun run = logged_run(options);
    std::int64_t questions = 0;
    for (const std::string& text : lines_of(run.text)) {
        const json line = json::parse(text);
        if (line["record"] != "question") continue;
        ++questions;
        CHECK((line.contains("proposed") || line.contains("refused")));
    }
    CHECK(questions == run.decisions);
    CHECK_THROWS_WITH(replay_decisions(run.text, "run.jsonl"),
                      "run.jsonl:1:1: holds only the questions that led to a change; record the "
                      "run again with --log-observations");
}

TEST_CASE("decision log: seeds of 64 bits and names that are no UTF-8 can be logged",
          "[decision_log]") {
    RunOptions options;
    options.seed = 0xFFFF'FFFF'FFFF'FFFFU;
    CHECK(replay_decisions(logged_run(options).text, "run.jsonl").difference_count == 0);
    DecisionLogHeader header = header_of(options);
    header.trace = "m\xfcnchen.csv";  // Latin-1
    const DecisionLog log(header);
    CHECK(replay_decisions(log.text(), "run.jsonl").questions == 0);
}
