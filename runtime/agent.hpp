// agent.hpp — what runs on a machine that comes and goes, and lends it to a live run: it joins the
// run's coordinator, starts workers when told to, and tells of notices to its machine.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/socket_address.hpp"
#include "runtime/messages.hpp"
#include "runtime/notices/notice_source.hpp"

namespace ukemi::runtime {

struct AgentSetup {
    std::vector<SocketAddress> coordinators;  // where one may be: each is tried in turn
    // Where one is just now, by who knows; nothing if nobody does. std::system_error if who
    // should know does not answer.
    std::function<std::optional<SocketAddress>()> find;
    Secret secret{};
    std::string name;                      // as logs call this machine
    int slots = 1;                         // workers at once
    std::filesystem::path worker_program;  // run with what the coordinator says after `worker`
    // Whether that may be that a worker does not encrypt, or runs a script by this Python.
    bool trusts_network = false;
    std::string python = "python3";
    // It tries again for so long while nobody answers, also after a run whose coordinator is gone.
    std::chrono::milliseconds join_within{60'000};
    bool stays = false;  // for the next run, when one is over
    // Counts, from outside, how often it was told to end. The first time is a notice that its
    // machine goes in `stop_within`; at the second its workers are killed.
    const std::atomic<int>* stop_requests = nullptr;
    std::chrono::milliseconds stop_within{30'000};
    std::function<std::optional<HostNotice>()> host_loss;
    std::function<void(const std::string&)> say;  // a sentence
};

enum class AgentEnd : std::uint8_t {
    dismissed,       // the run is over
    stopped,         // told to, or its machine goes
    no_coordinator,  // nobody let it in
};

// Until it ends; its workers have ended then.
AgentEnd run_agent(const AgentSetup& setup);

// This machine's name, as short as an agent's may be.
std::string agent_name_of_host();

}  // namespace ukemi::runtime
