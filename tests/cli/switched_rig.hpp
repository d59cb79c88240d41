// switched_rig.hpp — a live run over a network of a test's own: a coordinator on its host, and
// workers on others.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/cli/agents_rig.hpp"
#include "tests/cli/network_hosts.hpp"

namespace ukemi {

// Workers are started by a remote shell, or by agents.
class SwitchedRig {
public:
    SwitchedRig(int host_count, std::int64_t samples, int workers_min, int workers_max)
        : hosts(host_count, HostNetwork::switched) {
        write_file(folder() / "s.json", agents_scenario(samples, workers_min, workers_max));
        write_secret(folder() / "secret", a_secret + "\n");
        hosts.write_shell(folder() / "shell");
    }
    const std::filesystem::path& folder() const { return scratch_.path(); }

    std::unique_ptr<RunningProgram> train_on(const std::string& on, const std::string& out,
                                             const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words{"train", "s.json", "--time-scale", "100", "--out", out};
        const auto there = on_hosts(on);
        words.insert(words.end(), there.begin(), there.end());
        words.insert(words.end(), more.begin(), more.end());
        return start(hosts.here(), words);
    }
    std::unique_ptr<RunningProgram> calibrate_on(const std::string& on,
                                                 const std::vector<std::string>& more) const {
        std::vector<std::string> words{"calibrate", "s.json"};
        const auto there = on_hosts(on);
        words.insert(words.end(), there.begin(), there.end());
        words.insert(words.end(), more.begin(), more.end());
        return start(hosts.here(), words);
    }
    std::unique_ptr<RunningProgram> train_by_agents(
        const std::string& out, const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words{"train",    "s.json",    "--time-scale",  "100",
                                       "--agents", hub_address, "--secret-file", "secret",
                                       "--out",    out};
        words.insert(words.end(), more.begin(), more.end());
        return start(hosts.here(), words);
    }
    // On a host whose clock is wrong by so much; `finds`: how it finds the coordinator.
    std::unique_ptr<RunningProgram> agent(int host, std::int64_t skew_s = 0,
                                          const std::vector<std::string>& finds = {
                                              "--join", hub_address}) const {
        std::vector<std::string> words = hosts.on(host);
        words.insert(words.end(), {"/usr/bin/env", "LD_PRELOAD=" UKEMI_SKEWED_CLOCK,
                                   fmt::format("UKEMI_TEST_SKEW_S={}", skew_s)});
        std::vector<std::string> command{
            "agent", "--secret-file", "secret", "--name", fmt::format("host {}", host), "--slots",
            "2"};
        command.insert(command.end(), finds.begin(), finds.end());
        return start(words, command);
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
    NetworkHosts hosts;

private:
    static std::vector<std::string> on_hosts(const std::string& on) {
        return {"--address", "10.77.0.1", "--remote-shell",   "./shell",
                "--hosts",   on,          "--remote-program", UKEMI_BINARY};
    }
    std::unique_ptr<RunningProgram> start(std::vector<std::string> words,
                                          const std::vector<std::string>& command) const {
        words.emplace_back(UKEMI_BINARY);
        words.insert(words.end(), command.begin(), command.end());
        return std::make_unique<RunningProgram>(netns_program, folder(), std::move(words),
                                                Output::kept);
    }
    ScratchFolder scratch_;
};

inline bool is_skipped(const SwitchedRig& rig) {
    if (rig.hosts.refusal().empty()) return false;
    WARN("skipped: no network namespaces, or no TUN devices here: " << rig.hosts.refusal());
    return true;
}

}  // namespace ukemi
