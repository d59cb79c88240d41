// agents_namespaces_test.cpp — agents over a network whose hosts are cut off, freeze and go: each a
// namespace of its own.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/cli/agents_rig.hpp"
#include "tests/cli/network_hosts.hpp"

namespace ukemi {

namespace {

// A coordinator on its host, and agents on theirs.
class NetworkRig {
public:
    NetworkRig(int host_count, std::int64_t samples, int workers_min, int workers_max)
        : hosts(host_count) {
        write_file(folder() / "s.json", agents_scenario(samples, workers_min, workers_max));
        write_secret(folder() / "secret", a_secret + "\n");
    }
    const std::filesystem::path& folder() const { return scratch_.path(); }
    std::unique_ptr<RunningProgram> train(const std::string& out) const {
        return start(hosts.here(), {"train", "s.json", "--time-scale", "100", "--agents",
                                    hub_address, "--out", out});
    }
    std::unique_ptr<RunningProgram> agent(int host, const std::string& name) const {
        return start(hosts.on(host),
                     {"agent", "--join", hub_address, "--name", name, "--slots", "2"});
    }

    const NetworkHosts hosts;

private:
    std::unique_ptr<RunningProgram> start(std::vector<std::string> words,
                                          const std::vector<std::string>& command) const {
        words.emplace_back(UKEMI_BINARY);
        words.insert(words.end(), command.begin(), command.end());
        words.insert(words.end(), {"--secret-file", "secret"});
        return std::make_unique<RunningProgram>(netns_program, folder(), std::move(words),
                                                Output::kept);
    }
    ScratchFolder scratch_;
};

// No file of the folder, but for the header of the newest model (see AgentsRig).
std::string newest_weights(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".ukemi") found.push_back(entry.path());
    }
    REQUIRE_FALSE(found.empty());
    return text_in(*std::ranges::max_element(found)).substr(AgentsRig::header_bytes);
}

}  // namespace

TEST_CASE(
    "ukemi agent: eight workers on four networked hosts learn bit for bit what they do at "
    "home",
    "[cli][live]") {
    const NetworkRig rig(4, 40 * 64, 8, 8);
    if (!rig.hosts.refusal().empty()) {
        WARN("skipped: no network namespaces here: " << rig.hosts.refusal());
        return;
    }
    const auto run = rig.train("away");
    std::vector<std::unique_ptr<RunningProgram>> agents;
    for (int k = 1; k <= 4; ++k) agents.push_back(rig.agent(k, "host " + std::to_string(k)));
    const Ran away = run->wait();
    INFO(away.err);
    REQUIRE(away.code == 0);
    for (const auto& agent : agents) CHECK(agent->wait().code == 0);
    CHECK(rig.hosts.nobody_is_left());
    const Ran home =
        run_ukemi(rig.folder(), {"train", "s.json", "--time-scale", "100", "--out", "home"});
    REQUIRE(home.code == 0);
    const bool same = newest_weights(rig.folder() / "away-checkpoints") ==
                      newest_weights(rig.folder() / "home-checkpoints");
    CHECK(same);
}

TEST_CASE("ukemi agent: a host that is cut off or deaf or mute or frozen or gone comes back",
          "[cli][live]") {
    const NetworkRig rig(2, without_end, 1, 4);
    if (!rig.hosts.refusal().empty()) {
        WARN("skipped: no network namespaces here: " << rig.hosts.refusal());
        return;
    }
    const auto run = rig.train("out");
    const auto stays = rig.agent(1, "stays");
    auto goes = rig.agent(2, "goes");
    const std::string fault = GENERATE("cut off", "mute", "deaf", "frozen", "gone");
    CAPTURE(fault);
    await_words(*run, "4 workers train");
    if (fault == "cut off") rig.hosts.cut_off(2);
    if (fault == "mute") rig.hosts.forbid_to_hub(2);
    if (fault == "deaf") rig.hosts.forbid_from_hub(2);
    if (fault == "frozen") rig.hosts.signal_all(2, "STOP");
    if (fault == "gone") rig.hosts.signal_all(2, "KILL");
    await_words(*run, "agent goes is gone");
    await_words(*run, "2 workers train", "agent goes is gone");
    if (fault == "cut off") rig.hosts.connect_again(2);
    if (fault == "mute") rig.hosts.allow_to_hub(2);
    if (fault == "deaf") rig.hosts.allow_from_hub(2);
    if (fault == "frozen") rig.hosts.signal_all(2, "CONT");
    if (fault == "gone") goes = rig.agent(2, "goes");
    await_words(*run, "agent goes joined", "agent goes is gone");
    await_words(*run, "4 workers train", "agent goes is gone");
    run->send(SIGTERM);
    const Ran ran = run->wait();
    INFO(ran.err);
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Catch::Contains("the model is saved, all "));
    CHECK(stays->wait().code == 0);
    CHECK(goes->wait().code == 0);
    CHECK(rig.hosts.nobody_is_left());
    const auto log =
        std::filesystem::directory_iterator(rig.folder() / "out/runs")->path() / "decisions.jsonl";
    const Ran again = run_ukemi(rig.folder(), {"replay-log", log.string()});
    INFO(again.err);
    CHECK(again.code == 0);
}

}  // namespace ukemi
