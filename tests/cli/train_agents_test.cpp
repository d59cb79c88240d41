// train_agents_test.cpp — `ukemi train --agents` and `ukemi agent`: machines that come and go.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/agents_rig.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

// The sizes of the groups that trained, one after the other.
std::vector<int> groups_in(const std::filesystem::path& out) {
    std::vector<int> groups;
    for (const auto& run : std::filesystem::directory_iterator(out / "runs")) {
        const auto live = nlohmann::json::parse(text_in(run.path() / "live.json"));
        for (const auto& one : live.at("transitions"))
            groups.push_back(one.at("workers").get<int>());
    }
    return groups;
}

// Of all processes of this run: their folder is its.
std::vector<int> processes_in(const fs::path& folder) {
    std::vector<int> all;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const int process = std::atoi(entry.path().filename().c_str());
        std::error_code gone;
        if (process > 0 && fs::read_symlink(entry.path() / "cwd", gone) == folder) {
            all.push_back(process);
        }
    }
    return all;
}

}  // namespace

TEST_CASE("ukemi agent: four workers of two agents learn bit for bit what they do at home",
          "[cli][live]") {
    const AgentsRig rig(60 * 4 * 8, 4, 4);
    const auto run = rig.train("away");
    const auto one = rig.agent("one", 1);
    const auto three = rig.agent("three", 3);
    const Ran away = run->wait();
    INFO(away.err);
    REQUIRE(away.code == 0);
    CHECK_THAT(away.err, Catch::Contains("agent one joined: 1 slots") &&
                             Catch::Contains("agent three joined: 3 slots"));
    for (const auto& agent : {one.get(), three.get()}) {  // the run is over, and so are they
        const Ran ended = agent->wait();
        INFO(ended.err);
        CHECK(ended.code == 0);
    }
    const Ran home =
        run_ukemi(rig.folder(), {"train", "s.json", "--time-scale", "100", "--out", "home"});
    REQUIRE(home.code == 0);
    const bool same = rig.newest_model("away") == rig.newest_model("home");
    CHECK(same);
}

TEST_CASE("ukemi agent: workers do not encrypt only where run and agent say so", "[cli][live]") {
    const AgentsRig rig(60 * 2 * 8, 2, 2);
    std::vector<std::string> words = rig.train_words("away");
    words.emplace_back("--trusted-network");
    const auto run = rig.start(words);
    auto agent = rig.agent("ours", 2);
    await_words(*run, "could not be started: its agent was not told --trusted-network");
    agent->send(SIGKILL);
    agent->wait();
    agent = rig.agent("ours", 2, {"--trusted-network"});
    const Ran away = run->wait();
    INFO(away.err);
    REQUIRE(away.code == 0);
    CHECK(agent->wait().code == 0);
    const Ran home =
        run_ukemi(rig.folder(), {"train", "s.json", "--time-scale", "100", "--out", "home"});
    REQUIRE(home.code == 0);
    const bool same = rig.newest_model("away") == rig.newest_model("home");
    CHECK(same);
}

TEST_CASE("ukemi agent: secrets stand on no command line and stay in no environment",
          "[cli][live]") {
    const AgentsRig rig(without_end, 2, 2);
    const auto with_variable = [&](std::vector<std::string> words) {
        const auto option = std::ranges::find(words, "--secret-file");
        words.erase(option, option + 2);
        ::setenv("UKEMI_AGENT_SECRET", a_secret.c_str(), 1);
        auto program = rig.start(words);
        ::unsetenv("UKEMI_AGENT_SECRET");
        return program;
    };
    const auto run = with_variable(rig.train_words("out"));
    const auto by_file = rig.agent("file", 1);
    const auto by_variable = with_variable({"agent", "--join", rig.address, "--name", "variable",
                                            "--secret-file", "secret", "--slots", "1"});
    await_words(*run, "2 workers train");
    const std::vector<int> processes = processes_in(rig.folder());
    CHECK(processes.size() >= 5);  // the coordinator, two agents, and a worker of each
    const std::regex key("[0-9a-fA-F]{64}");
    for (const int process : processes) {
        for (const char* name : {"cmdline", "environ"}) {
            const std::string text = text_in(fmt::format("/proc/{}/{}", process, name));
            CAPTURE(process, name, text_in(fmt::format("/proc/{}/cmdline", process)));
            CHECK_FALSE(text.empty());
            CHECK(text.find(a_secret) == std::string::npos);
            CHECK_FALSE(std::regex_search(text, key));
        }
    }
    run->send(SIGTERM);
    CHECK(run->wait().code == 1);
    CHECK(by_file->wait().code == 0);
    CHECK(by_variable->wait().code == 0);
}

TEST_CASE("ukemi agent: agents come and go, and the run goes on with those that are there",
          "[cli][live]") {
    const AgentsRig rig(without_end, 1, 4);
    const auto run = rig.train("out");
    auto first = rig.agent("first", 2);
    await_words(*run, "agent first joined");
    const auto second = rig.agent("second", 2, {"--stop-within", "3"});
    await_words(*run, "agent second joined");
    await_words(*run, "4 workers train");
    // A machine whose scheduler says that it goes: its workers leave in time, then the agent.
    second->send(SIGTERM);
    await_words(*run, "agent second: its agent was told to stop");
    CHECK(second->wait().code == 0);
    await_words(*run, "agent second is gone");
    // One that is gone without a word takes its workers with it.
    first->send(SIGKILL);
    await_words(*run, "agent first is gone");
    const auto third = rig.agent("third", 3);
    await_words(*run, "agent third joined");
    await_words(*run, "3 workers train", "agent third joined");
    run->send(SIGTERM);
    const Ran ran = run->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    // The newcomers may have been told to stop before a step of theirs: what the notice saved is
    // left.
    CHECK_THAT(ran.err, Catch::Contains("the model is saved, all ") ||
                            Catch::Contains("the last checkpoint has "));
    CHECK(third->wait().code == 0);
    // Two workers left with a notice, two were killed with their machine.
    const auto runs = nlohmann::json::parse(text_in(rig.folder() / "out/runs.json")).at("runs");
    CHECK(runs.at(0).at("revocations") == 2);
    CHECK(runs.at(0).at("failures") == 2);
    CHECK_THAT(ran.out, Catch::Contains("\nlosses: 2 taken away, 2 failed\n") ||
                            Catch::Contains("\nlosses: 2 taken away, 2 failed\nincidents: "));
    const std::vector<int> groups = groups_in(rig.folder() / "out");
    CAPTURE(groups);
    CHECK(std::ranges::count(groups, 4) > 0);
    CHECK(groups.back() == 3);
    const std::string decisions = decisions_in(rig.folder() / "out");
    CHECK(decisions.find("\"kind\":\"revocation_notice\"") != std::string::npos);
    const Ran again = run_ukemi(
        rig.folder(), {"replay-log", fs::directory_iterator(rig.folder() / "out/runs")->path() /
                                         "decisions.jsonl"});
    INFO(again.err);
    CHECK(again.code == 0);
}

TEST_CASE("ukemi agent: a stranger is not let in, and the run does not mind", "[cli][live]") {
    const AgentsRig rig(60 * 8, 1, 1);
    write_secret(rig.folder() / "wrong", std::string(40, 'x'));
    const auto run = rig.train("out");
    await_words(*run, "agents may join");
    const auto stranger = rig.start(
        {"agent", "--join", rig.address, "--secret-file", "wrong", "--join-within", "0.1"});
    const Ran refused = stranger->wait();
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK_THAT(refused.err, Catch::Contains("does not let this agent in: is the secret the same?"));
    await_words(*run, "an agent at 127.0.0.1 is not let in: it has another secret");
    const auto agent = rig.agent("ours", 1);
    const Ran ran = run->wait();
    INFO(ran.err);
    CHECK(ran.code == 0);
    CHECK(ran.err.find("agent ours joined") != std::string::npos);
    CHECK(agent->wait().code == 0);
}

TEST_CASE("ukemi agent: what does not fit together is refused in one line", "[cli]") {
    const AgentsRig rig(60 * 8, 1, 1);
    write_file(rig.folder() / "open", a_secret);
    ::chmod((rig.folder() / "open").c_str(), 0644);
    write_secret(rig.folder() / "short", "password");
    const std::string at = rig.address;
    const std::vector<std::pair<std::vector<std::string>, std::string>> table{
        {{"agent", "--join", "localhost:1", "--secret-file", "secret"},
         "--join: expected an address in numbers and a port"},
        {{"agent", "--join", "0.0.0.0:1", "--secret-file", "secret"}, "--join: expected"},
        {{"agent", "--join", "127.0.0.1:0", "--secret-file", "secret"}, "--join: expected"},
        {{"agent", "--join", at}, "--secret-file: expected it, or the secret in"},
        {{"agent", "--join", at, "--secret-file", "open"}, "open: others may read this secret"},
        {{"agent", "--join", at, "--secret-file", "short"}, "short: expected a secret of 32"},
        {{"agent", "--join", at, "--secret-file", "none"}, "none"},
        {{"agent", "--join", at, "--secret-file", "secret", "--slots", "0"}, "--slots"},
        {{"agent", "--join", at, "--secret-file", "secret", "--notices", "moon"}, "--notices"},
        {{"train", "s.json", "--secret-file", "secret"}, "--secret-file: is for --agents"},
        {{"train", "s.json", "--ranks"}, "--ranks: is for --agents"},
        {{"train", "s.json", "--rendezvous", "redis:127.0.0.1:1"}, "--rendezvous: is for --agents"},
        {{"agent", "--secret-file", "secret"}, "--join: expected it, or --rendezvous"},
        {{"agent", "--rendezvous", "redis:localhost:1", "--secret-file", "secret"},
         "--rendezvous: "},
        {{"train", "s.json", "--agents", at}, "--secret-file: expected it"},
        {{"train", "s.json", "--agents", "192.0.2.1:80", "--secret-file", "secret"},
         "--agents: expected an address of this machine"},
        {{"train", "s.json", "--agents", at, "--secret-file", "secret", "--hosts", "a:1"},
         "--hosts: agents bring their machines"},
        {{"train", "s.json", "--agents", at, "--secret-file", "secret", "--revocations",
          "scenario"},
         "--revocations: agents bring their machines"},
        {{"train", "s.json", "--agents", at, "--secret-file", "secret", "--provider",
          "command:./none"},
         "--provider: expected a program, found none named ./none"},
        {{"train", "s.json", "--agents", at, "--secret-file", "secret", "--rendezvous",
          "redis:127.0.0.1:1", "--redis-password-file", "open", "--out", "o"},
         "open: others may read this secret"},
        {{"train", "s.json", "--trusted-network"}, "--trusted-network: is for --hosts and"},
        {{"agent", "--join", at, "--secret-file", "secret", "--python", "python3"}, "--python"},
        {{"train", "s.json", "--agents", at, "--secret-file", "secret", "--ranks"},
         "--ranks: expected to be started by mpirun or srun"},
    };
    for (const auto& [words, expected] : table) {
        const Ran ran = run_ukemi(rig.folder(), words);
        INFO(ran.err);
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::Contains(expected));
        CHECK(std::ranges::count(ran.err, '\n') == 1);
    }
    CHECK(names_in(rig.folder()) == Names{"open", "s.json", "secret", "short"});
}

namespace {

// Like srun -n COUNT PROGRAM …: as many processes, each with its number.
void write_srun(const fs::path& file) {
    write_file(file,
               "#!/bin/sh\ncount=$1\nshift\nrank=0\n"
               "while [ $rank -lt $count ]; do\n  SLURM_PROCID=$rank \"$@\" &\n"
               "  rank=$((rank + 1))\ndone\nwait\n");
    ::chmod(file.c_str(), 0755);
}

}  // namespace

TEST_CASE("ukemi train --ranks: the ranks of mpirun and of srun are the workers", "[cli][live]") {
    const AgentsRig rig(60 * 3 * 8, 3, 3);
    const std::string by = GENERATE("mpirun", "srun");
    std::vector<std::string> words{UKEMI_BINARY};
    const std::vector<std::string> train = rig.train_words("away");
    words.insert(words.end(), train.begin(), train.end());
    words.emplace_back("--ranks");
    std::string program = "/usr/bin/mpirun";
    if (by == "srun") {
        program = (rig.folder() / "srun").string();
        write_srun(program);
        words.insert(words.begin(), "3");
    } else {
        if (!fs::exists(program)) {
            WARN("skipped: no mpirun here");
            return;
        }
        const std::vector<std::string> first{"--allow-run-as-root", "--oversubscribe", "-n", "3"};
        words.insert(words.begin(), first.begin(), first.end());
    }
    const Ran away = run_program(program.c_str(), rig.folder(), words);
    INFO(by << "\n" << away.err);
    REQUIRE(away.code == 0);
    for (const char* rank : {"rank 0 joined", "rank 1 joined", "rank 2 joined"}) {
        CHECK_THAT(away.err, Catch::Contains(rank));
    }
    const Ran home =
        run_ukemi(rig.folder(), {"train", "s.json", "--time-scale", "100", "--out", "home"});
    REQUIRE(home.code == 0);
    const bool same = rig.newest_model("away") == rig.newest_model("home");
    CHECK(same);
}

}  // namespace ukemi
