// network_faults_test.cpp — workers on hosts whose network is slow, late and lossy, and whose
// clocks are wrong.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/cli/agents_rig.hpp"
#include "tests/cli/network_hosts.hpp"

namespace ukemi {

namespace {

using namespace std::chrono_literals;

// A coordinator on its host, and workers on others by a remote shell, or by agents.
class SwitchedRig {
public:
    SwitchedRig(int host_count, std::int64_t samples, int workers_min, int workers_max)
        : hosts(host_count, HostNetwork::switched) {
        write_file(folder() / "s.json", agents_scenario(samples, workers_min, workers_max));
        write_secret(folder() / "secret", a_secret + "\n");
        hosts.write_shell(folder() / "shell");
    }
    const std::filesystem::path& folder() const { return scratch_.path(); }

    std::unique_ptr<RunningProgram> train_on(const std::string& on, const std::string& out) const {
        return start(hosts.here(), {"train", "s.json", "--time-scale", "100", "--address",
                                    "10.77.0.1", "--out", out, "--remote-shell", "./shell",
                                    "--remote-program", UKEMI_BINARY, "--hosts", on});
    }
    std::unique_ptr<RunningProgram> train_by_agents(const std::string& out) const {
        return start(hosts.here(), {"train", "s.json", "--time-scale", "100", "--agents",
                                    hub_address, "--secret-file", "secret", "--out", out});
    }
    // On a host whose clock is wrong by so much.
    std::unique_ptr<RunningProgram> agent(int host, std::int64_t skew_s) const {
        std::vector<std::string> words = hosts.on(host);
        words.insert(words.end(), {"/usr/bin/env", "LD_PRELOAD=" UKEMI_SKEWED_CLOCK,
                                   fmt::format("UKEMI_TEST_SKEW_S={}", skew_s)});
        return start(words, {"agent", "--join", hub_address, "--secret-file", "secret", "--name",
                             fmt::format("host {}", host), "--slots", "2"});
    }
    std::string weights(const std::string& out) const {
        std::vector<std::filesystem::path> found;
        for (const auto& entry :
             std::filesystem::directory_iterator(folder() / (out + "-checkpoints"))) {
            if (entry.path().extension() == ".ukemi") found.push_back(entry.path());
        }
        REQUIRE_FALSE(found.empty());
        return text_in(*std::ranges::max_element(found)).substr(AgentsRig::header_bytes);
    }
    std::string weights_at_home() const {
        const Ran home =
            run_ukemi(folder(), {"train", "s.json", "--time-scale", "100", "--out", "home"});
        REQUIRE(home.code == 0);
        return weights("home");
    }
    bool nobody_is_left(int host_count) const {
        for (int k = 1; k <= host_count; ++k) {
            if (!hosts.processes(k).empty()) return false;
        }
        return true;
    }

    NetworkHosts hosts;

private:
    std::unique_ptr<RunningProgram> start(std::vector<std::string> words,
                                          const std::vector<std::string>& command) const {
        words.emplace_back(UKEMI_BINARY);
        words.insert(words.end(), command.begin(), command.end());
        return std::make_unique<RunningProgram>(netns_program, folder(), std::move(words),
                                                Output::kept);
    }
    ScratchFolder scratch_;
};

bool is_skipped(const SwitchedRig& rig) {
    if (rig.hosts.refusal().empty()) return false;
    WARN("skipped: no network namespaces, or no TUN devices here: " << rig.hosts.refusal());
    return true;
}

}  // namespace

TEST_CASE(
    "networked hosts: over ways that are late, narrow and lossy eight workers learn bit for bit "
    "what they do at home",
    "[cli][live]") {
    SwitchedRig rig(4, 10 * 64, 8, 8);
    if (is_skipped(rig)) return;
    rig.hosts.set_ways({.delay = 2ms, .bytes_per_second = 5'000'000, .lost = 0.005});
    const auto run = rig.train_on("1:2,2:2,3:2,4:2", "away");
    const Ran away = run->wait();
    INFO(away.err);
    REQUIRE(away.code == 0);
    CHECK(rig.hosts.delivered(1, 2) > 0);
    const bool same = rig.weights("away") == rig.weights_at_home();
    CHECK(same);
    CHECK(rig.nobody_is_left(4));
}

TEST_CASE("networked hosts: clocks that are wrong by a day either way change nothing",
          "[cli][live]") {
    SwitchedRig rig(2, 20 * 32, 4, 4);
    if (is_skipped(rig)) return;
    const auto run = rig.train_by_agents("away");
    const auto slow = rig.agent(1, -86'400);
    const auto fast = rig.agent(2, 86'400);
    const Ran away = run->wait();
    INFO(away.err);
    REQUIRE(away.code == 0);
    CHECK(slow->wait().code == 0);
    CHECK(fast->wait().code == 0);
    const bool same = rig.weights("away") == rig.weights_at_home();
    CHECK(same);
}

}  // namespace ukemi
