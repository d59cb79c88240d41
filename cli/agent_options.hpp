// agent_options.hpp — what `ukemi agent` and a rank of `ukemi train --ranks` have in common.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent.hpp"
#include "runtime/redis_lease.hpp"

namespace ukemi::cli {

// "10.0.0.1:7421", where somebody can be reached. Throws InputError, which names `where`.
SocketAddress agent_address(std::string_view text, std::string_view where);

// The same for one or several, as in "10.0.0.1:7421,10.0.0.2:7421".
std::vector<SocketAddress> agent_addresses(std::string_view text, std::string_view where);

// What --rendezvous names, with the password of --redis-password-file.
runtime::RedisPlace place_of(const std::string& rendezvous,
                             const std::filesystem::path& password_file,
                             const runtime::Secret& agents);

// This very program for its workers, told to stop by signals, and says what happens.
runtime::AgentSetup agent_setup(std::vector<SocketAddress> coordinators,
                                const runtime::Secret& secret);

// Runs it; ExitWith if nobody let it in.
void be_agent(const runtime::AgentSetup& setup);

// The number of this process among those that mpirun or srun have started. InputError if it is
// none.
int own_rank();

}  // namespace ukemi::cli
