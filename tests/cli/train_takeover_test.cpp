// train_takeover_test.cpp — a coordinator that is killed, and the next one of its run.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/rng.hpp"
#include "tests/cli/agents_rig.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

constexpr int workers_of_run = 4;
constexpr int batch = 8;  // of a worker

std::set<int> children_of(const RunningProgram& program) {
    return children_of_process(program.id());
}

std::vector<std::string> successor_words(const AgentsRig& rig, const std::string& out) {
    std::vector<std::string> words = rig.train_words(out);
    words.insert(words.end(), {"--resume", "first-checkpoints"});
    return words;
}

// A successor that takes over both workers, trains with them, and is told to stop.
Ran stopped_successor(const AgentsRig& rig, const std::string& out) {
    const auto run = rig.start(successor_words(rig, out));
    await_words(*run, "took over 2 workers");
    await_words(*run, "2 workers train");
    run->send(SIGTERM);
    return run->wait();
}

int kills_wanted() {
    const char* const given = std::getenv("UKEMI_TAKEOVER_KILLS");
    return given == nullptr ? 4 : std::atoi(given);
}

nlohmann::json live_json_in(const fs::path& out) {
    return nlohmann::json::parse(
        text_in(fs::directory_iterator(out / "runs")->path() / "live.json"));
}

// "the model is saved, all 812 steps of it"
std::int64_t steps_saved(const std::string& said) {
    const std::string before = "the model is saved, all ";
    const std::size_t at = said.find(before);
    REQUIRE(at != std::string::npos);
    return std::stoll(said.substr(at + before.size()));
}

}  // namespace

TEST_CASE("ukemi train: a killed coordinator's successor goes on with its workers, bit for bit",
          "[cli][live][chaos]") {
    const AgentsRig rig(without_end, workers_of_run, workers_of_run);
    // Its decisions follow from all gradients since the first.
    const std::vector<std::string> policies{"--policies",
                                            "spot_only+checkpoint_on_notice+noise_doubling_batch"};
    const auto with_policies = [&](std::vector<std::string> words) {
        words.insert(words.end(), policies.begin(), policies.end());
        return words;
    };
    auto run = rig.start(with_policies(rig.train_words("first")));
    const auto one = rig.agent("one", 1);
    const auto three = rig.agent("three", 3);
    await_words(*run, "4 workers train");
    const std::set<int> first = children_of(*one);
    const std::set<int> others = children_of(*three);
    RandomStream random(23, "takeovers");
    for (int kill = 0; kill < kills_wanted(); ++kill) {
        CAPTURE(kill);
        // Whatever it is about just then: forming a group, saving what it found, training.
        std::this_thread::sleep_for(std::chrono::milliseconds(random.integer(0, 60)));
        run->send(SIGKILL);
        REQUIRE(run->wait().code == -SIGKILL);
        run = rig.start(with_policies(successor_words(rig, fmt::format("next-{}", kill))));
        await_words(*run, random.chance(0.5) ? "took over 4 workers" : "4 workers train");
    }
    await_words(*run, "4 workers train");
    CHECK(children_of(*one) == first);
    CHECK(children_of(*three) == others);
    run->send(SIGTERM);
    const Ran ran = run->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK(one->wait().code == 0);
    CHECK(three->wait().code == 0);
    CHECK_FALSE(fs::exists(rig.folder() / "first-checkpoints/coordinator.json"));
    // Every decision of all coordinators, in one log that says what the policies were shown.
    const std::string last = fmt::format("next-{}", kills_wanted() - 1);
    const auto log =
        fs::directory_iterator(rig.folder() / last / "runs")->path() / "decisions.jsonl";
    const Ran replayed = run_ukemi(rig.folder(), {"replay-log", log.string()});
    INFO(replayed.out);
    CHECK(replayed.code == 0);
    CHECK_THAT(replayed.out, Catch::Contains(", 0 answered otherwise"));
    CHECK(live_json_in(rig.folder() / last).at("takeovers").size() ==
          static_cast<std::size_t>(kills_wanted()));
    const std::int64_t steps = steps_saved(ran.err);
    const auto all = nlohmann::json::parse(text_in(rig.folder() / last / "runs.json"));
    const auto samples = all.at("runs").at(0).at("samples").get<std::int64_t>();
    CHECK(samples >= steps * workers_of_run * batch);
    write_file(rig.folder() / "s.json", agents_scenario(samples, workers_of_run, workers_of_run));
    const Ran home = run_ukemi(
        rig.folder(), with_policies({"train", "s.json", "--time-scale", "100", "--out", "home"}));
    REQUIRE(home.code == 0);
    CAPTURE(steps);
    const bool same = rig.newest_model("first") == rig.newest_model("home");
    CHECK(same);
}

TEST_CASE("ukemi train: a successor whose workers have the model needs no whole checkpoint",
          "[cli][live]") {
    const AgentsRig rig(without_end, 2, 2);
    auto run = rig.train("first");
    const auto agent = rig.agent("early", 2);
    await_words(*run, "2 workers train");
    const auto damage_all = [&] {
        std::size_t count = 0;
        for (const auto& entry : fs::directory_iterator(rig.folder() / "first-checkpoints")) {
            if (entry.path().extension() != ".ukemi") continue;
            fs::resize_file(entry.path(), 100);
            ++count;
        }
        return count;
    };
    run->send(SIGKILL);
    run->wait();
    write_file(rig.folder() / "first-checkpoints/checkpoint-000000000001.ukemi", "none");
    CHECK(damage_all() > 0);
    const Ran ran = stopped_successor(rig, "second");
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Catch::Contains("no checkpoint in it is whole") &&
                            Catch::Contains("the model is saved"));
    agent->wait();
}

TEST_CASE("ukemi train: a resumed run's successor has the bill of all its pieces", "[cli][live]") {
    const AgentsRig rig(without_end, 2, 2);
    auto run = rig.train("first");
    const auto early = rig.agent("early", 2);
    await_words(*run, "2 workers train");
    run->send(SIGTERM);
    REQUIRE(run->wait().code == 1);
    early->wait();
    const auto result_in = [&](const char* out) {
        const auto runs = nlohmann::json::parse(text_in(rig.folder() / out / "runs.json"));
        return runs.at("runs").at(0);
    };
    const auto first = result_in("first");
    run = rig.start(successor_words(rig, "second"));
    const auto late = rig.agent("late", 2);
    await_words(*run, "goes on after ");
    await_words(*run, "2 workers train");
    run->send(SIGKILL);
    run->wait();
    const Ran ran = stopped_successor(rig, "third");
    INFO(ran.err);
    CHECK(ran.code == 1);
    const auto resumed = live_json_in(rig.folder() / "third").at("resumed");
    CHECK(resumed.at("earlier_pieces") == 1);
    CHECK(resumed.at("earlier_s") == first.at("duration_s"));
    CHECK(resumed.at("earlier_usd") == first.at("cost_usd"));
    const auto third = result_in("third");
    CHECK(third.at("duration_s").get<double>() > first.at("duration_s").get<double>());
    CHECK(third.at("cost_usd").get<double>() > first.at("cost_usd").get<double>());
    CHECK(third.at("launches") == first.at("launches").get<std::int64_t>() + 2);
}

TEST_CASE("ukemi train: a successor at another address finds the workers, too", "[cli][live]") {
    const AgentsRig rig(without_end, 2, 2);
    auto run = rig.train("first");
    const std::string other = free_address();
    const auto agent = rig.start(
        {"agent", "--join", rig.address + "," + other, "--secret-file", "secret", "--slots", "2"});
    await_words(*run, "2 workers train");
    const std::set<int> first = children_of(*agent);
    run->send(SIGKILL);
    run->wait();
    std::vector<std::string> words = successor_words(rig, "next");
    *std::ranges::find(words, rig.address) = other;
    run = rig.start(words);
    await_words(*run, "took over 2 workers");
    await_words(*run, "2 workers train");
    CHECK(children_of(*agent) == first);
    run->send(SIGTERM);
    CHECK(run->wait().code == 1);
    CHECK(agent->wait().code == 0);
}

TEST_CASE("ukemi train: a successor has the bill, the ledger and the hard stops of the one before",
          "[cli][live]") {
    const AgentsRig rig(without_end, 2, 2);
    const std::vector<std::string> dear{"--stop-within", "0.5", "--set",
                                        "/market/spot_price=\"4 USD/h\""};
    auto run = rig.start([&] {
        std::vector<std::string> words = rig.train_words("first");
        words.insert(words.end(), dear.begin(), dear.end());
        words.insert(words.end(), {"--budget", "1"});
        return words;
    }());
    const auto agent = rig.agent("one", 2);
    constexpr int takeovers = 2;
    for (int i = 0; i < takeovers; ++i) {
        await_words(*run, "2 workers train");
        run->send(SIGKILL);
        run->wait();
        run = rig.start([&] {
            std::vector<std::string> words = successor_words(rig, "last");
            words.insert(words.end(), dear.begin(), dear.end());
            return words;
        }());
    }
    const Ran ran = run->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Catch::Contains("the budget of 1.00 USD would be spent"));
    CHECK(agent->wait().code == 0);
    const auto all = nlohmann::json::parse(text_in(rig.folder() / "last/runs.json"));
    const auto& result = all.at("runs").at(0);
    // Two machines for 4 USD/h each, from the first to the last moment, no matter who led the run.
    const double cost = result.at("cost_usd").get<double>();
    CHECK(cost < 1);
    CHECK(cost > 0.8);
    CHECK(cost == Approx(result.at("held_s").get<double>() * 4 / 3600).epsilon(0).margin(1e-7));
    const auto live = live_json_in(rig.folder() / "last");
    REQUIRE(live.at("takeovers").size() == takeovers);
    double gaps_usd = 0;
    for (const auto& one : live.at("takeovers")) {
        CHECK(one.at("cost_usd").get<double>() ==
              Approx(2 * one.at("gap_s").get<double>() * 4 / 3600).epsilon(0).margin(1e-7));
        gaps_usd += one.at("cost_usd").get<double>();
    }
    CHECK(gaps_usd > 0);
    CHECK(gaps_usd < result.at("transition_usd").get<double>());
    CHECK(result.at("useful_usd").get<double>() > 0);
}

TEST_CASE("ukemi train: a successor without workers goes on from the newest checkpoint",
          "[cli][live]") {
    const AgentsRig rig(without_end, 1, 1);
    const auto saving = [](std::vector<std::string> words) {
        words.insert(words.end(), {"--set", "/plan={\"checkpoint_interval\": \"2 s\"}"});
        return words;
    };
    auto run = rig.start(saving(rig.train_words("first")));
    const auto agent = rig.agent("one", 1);
    const auto has_checkpoint = [&] {
        const Names names = names_in(rig.folder() / "first-checkpoints");
        return std::ranges::any_of(names,
                                   [](const auto& name) { return name.ends_with(".ukemi"); });
    };
    while (!fs::exists(rig.folder() / "first-checkpoints") || !has_checkpoint()) {
        REQUIRE_FALSE(run->has_ended());
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    run->send(SIGKILL);
    run->wait();
    agent->send(SIGKILL);
    agent->wait();
    const auto next = rig.start(saving(successor_words(rig, "next")));
    const auto other = rig.agent("one", 1);
    await_words(*next, "1 workers train");
    CHECK(next->said().find("took over") == std::string::npos);
    next->send(SIGTERM);
    const Ran ran = next->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK(steps_saved(ran.err) > 0);
    CHECK(other->wait().code == 0);
}

TEST_CASE("ukemi train: a coordinator from a copy of the folder is obeyed by nobody, and ends",
          "[cli][live]") {
    const AgentsRig rig(without_end, 1, 1);
    auto run = rig.train("first");
    const auto agent = rig.agent("one", 1);
    await_words(*run, "1 workers train");
    run->send(SIGKILL);
    run->wait();
    fs::copy(rig.folder() / "first-checkpoints", rig.folder() / "copy");
    run = rig.start(successor_words(rig, "next"));
    await_words(*run, "1 workers train");
    run->send(SIGKILL);
    run->wait();
    std::vector<std::string> words = successor_words(rig, "other");
    words.back() = "copy";
    const Ran other = rig.start(words)->wait();
    INFO(other.err);
    CHECK(other.code == 1);
    CHECK_THAT(other.err, Catch::Contains("another coordinator has this run, in term 2"));
    CHECK_FALSE(agent->has_ended());
    run = rig.start(successor_words(rig, "third"));
    await_words(*run, "took over 1 workers");
    run->send(SIGTERM);
    CHECK(run->wait().code == 1);
    CHECK(agent->wait().code == 0);
}

TEST_CASE("ukemi train: a successor that cannot live through the run leaves its term to the next",
          "[cli][live]") {
    const AgentsRig rig(without_end, 1, 1);
    auto run = rig.train("first");
    const auto agent = rig.agent("a machine", 1);
    await_words(*run, "1 workers train");
    run->send(SIGKILL);
    run->wait();
    const fs::path kept = rig.folder() / "first-checkpoints";
    const std::string journal = text_in(kept / "journal-0001");
    const std::string lease = text_in(kept / "coordinator.json");
    std::string damaged = journal;
    const std::size_t at = damaged.find("a machine");
    REQUIRE(at != std::string::npos);
    damaged[at] = 'A';
    write_file(kept / "journal-0001", damaged);
    for (int i = 0; i < 2; ++i) {
        const Ran refused = rig.start(successor_words(rig, "next"))->wait();
        INFO(refused.err);
        CHECK(refused.code == 2);
        CHECK_THAT(refused.err, Catch::Contains("journal-0001: at byte"));
        CHECK(std::ranges::count(refused.err, '\n') == 1);
        CHECK(text_in(kept / "coordinator.json") == lease);
        CHECK_FALSE(fs::exists(kept / "journal-0002"));
        CHECK_FALSE(agent->has_ended());
    }
    write_file(kept / "journal-0001", journal);
    run = rig.start(successor_words(rig, "next"));
    await_words(*run, "took over 1 workers");
    CHECK(nlohmann::json::parse(text_in(kept / "coordinator.json")).at("term") == 2);
    run->send(SIGTERM);
    CHECK(run->wait().code == 1);
    CHECK(agent->wait().code == 0);
}

TEST_CASE("ukemi train: two coordinators of one run, and what is no run, are refused in one line",
          "[cli][live]") {
    const AgentsRig rig(without_end, 1, 1);
    auto run = rig.train("first");
    await_words(*run, "agents may join");
    const auto refused = [&](const std::vector<std::string>& words, const std::string& expected) {
        const Ran ran = run_ukemi(rig.folder(), words);
        INFO(ran.err);
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::Contains(expected));
        CHECK(std::ranges::count(ran.err, '\n') == 1);
        CHECK_FALSE(fs::exists(rig.folder() / "next"));
    };
    std::vector<std::string> second = successor_words(rig, "next");
    *std::ranges::find(second, rig.address) = free_address();
    refused(second, "first-checkpoints: its run has a coordinator that still runs");
    fs::create_directory(rig.folder() / "empty");
    refused({"train", "s.json", "--out", "next", "--resume", "empty"},
            "empty: expected a checkpoint in this folder, found none");
    run->send(SIGKILL);
    run->wait();
    // A refused successor leaves everything as it was, the number of its term included.
    const auto lease_there = [&] {
        return text_in(rig.folder() / "first-checkpoints/coordinator.json");
    };
    const std::string left = lease_there();
    std::vector<std::string> provided = successor_words(rig, "next");
    provided.insert(provided.end(), {"--provider", "command:/bin/true"});
    refused(provided, "--provider: the run that was left there has none: expected none");
    std::vector<std::string> faster = successor_words(rig, "next");
    *std::ranges::find(faster, "100") = "101";
    refused(faster, "first-checkpoints: the run that was left there has another scenario");
    std::vector<std::string> other = successor_words(rig, "next");
    other.insert(other.end(), {"--seed", "4"});
    refused(other, "coordinator.json: at /job: is of another training");
    CHECK(lease_there() == left);
    CHECK(nlohmann::json::parse(left).at("term") == 1);
    write_file(rig.folder() / "first-checkpoints/coordinator.json", "{\"run\": \"x\"}");
    refused(successor_words(rig, "next"), "coordinator.json: at /run: expected 32");
}

}  // namespace ukemi
