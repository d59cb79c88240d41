// train_takeover_test.cpp — a coordinator that is killed, and the next one of its run.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/rng.hpp"
#include "tests/cli/agents_rig.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

constexpr int workers = 4;
constexpr int batch = 8;  // of a worker

std::set<int> children_of(const RunningProgram& program) {
    std::istringstream text(
        text_in(fmt::format("/proc/{}/task/{}/children", program.id(), program.id())));
    std::set<int> all;
    for (int child = 0; text >> child;) all.insert(child);
    return all;
}

std::vector<std::string> successor_words(const AgentsRig& rig, const std::string& out) {
    std::vector<std::string> words = rig.train_words(out);
    words.insert(words.end(), {"--resume", "first-checkpoints"});
    return words;
}

int kills_wanted() {
    const char* const given = std::getenv("UKEMI_TAKEOVER_KILLS");
    return given == nullptr ? 4 : std::atoi(given);
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
    const AgentsRig rig(without_end, workers, workers);
    auto run = rig.train("first");
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
        run = rig.start(successor_words(rig, fmt::format("next-{}", kill)));
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
    const std::int64_t steps = steps_saved(ran.err);
    write_file(rig.folder() / "s.json", agents_scenario(steps * workers * batch, workers, workers));
    const Ran home =
        run_ukemi(rig.folder(), {"train", "s.json", "--time-scale", "100", "--out", "home"});
    REQUIRE(home.code == 0);
    CAPTURE(steps);
    const bool same = rig.newest_model("first") == rig.newest_model("home");
    CHECK(same);
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

TEST_CASE("ukemi train: a checkpoint that is further than the workers is where a successor begins",
          "[cli][live]") {
    const AgentsRig rig(without_end, 1, 1);
    constexpr std::int64_t ahead = 6000;
    const std::string endless = text_in(rig.folder() / "s.json");
    write_file(rig.folder() / "s.json", agents_scenario(ahead * batch, 1, 1));
    REQUIRE(run_ukemi(rig.folder(), {"train", "s.json", "--time-scale", "100", "--out", "ahead"})
                .code == 0);
    write_file(rig.folder() / "s.json", endless);
    auto run = rig.train("first");
    const auto agent = rig.agent("one", 1);
    await_words(*run, "1 workers train");
    run->send(SIGKILL);
    run->wait();
    for (const auto& entry : fs::directory_iterator(rig.folder() / "ahead-checkpoints")) {
        fs::copy(entry.path(), rig.folder() / "first-checkpoints");
    }
    run = rig.start(successor_words(rig, "next"));
    await_words(*run, "1 workers train");
    CHECK(run->said().find("took over") == std::string::npos);
    run->send(SIGTERM);
    const Ran ran = run->wait();
    CHECK(steps_saved(ran.err) > ahead);
    CHECK(agent->wait().code == 0);
}

TEST_CASE("ukemi train: a successor without workers goes on from the newest checkpoint",
          "[cli][live]") {
    const AgentsRig rig(without_end, 1, 1);
    auto run = rig.start([&] {
        std::vector<std::string> words = rig.train_words("first");
        words.insert(words.end(), {"--set", "/plan={\"checkpoint_interval\": \"2 s\"}"});
        return words;
    }());
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
    const auto next = rig.start(successor_words(rig, "next"));
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
    const std::string left = text_in(rig.folder() / "first-checkpoints/coordinator.json");
    std::vector<std::string> provided = successor_words(rig, "next");
    provided.insert(provided.end(), {"--provider", "command:./p"});
    refused(provided, "--provider: the machines of the coordinator before are not known");
    std::vector<std::string> other = successor_words(rig, "next");
    other.insert(other.end(), {"--seed", "4"});
    refused(other, "coordinator.json: at /job: is of another training");
    CHECK(text_in(rig.folder() / "first-checkpoints/coordinator.json") == left);
    write_file(rig.folder() / "first-checkpoints/coordinator.json", "{\"run\": \"x\"}");
    refused(successor_words(rig, "next"), "coordinator.json: at /run: expected 32");
}

}  // namespace ukemi
