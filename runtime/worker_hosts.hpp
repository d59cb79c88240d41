// worker_hosts.hpp — other machines that workers are started on, and the command that does it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ukemi::runtime {

struct WorkerHost {
    std::string name;  // as the remote shell takes it: a host, or user@host
    int slots = 1;     // workers at once
};

struct RemoteStart {
    std::vector<WorkerHost> hosts;  // empty: workers are children on this machine
    // Run as: remote_shell… HOST COMMAND, like ssh, and as long as the command runs. What comes on
    // its standard input reaches the command's.
    std::vector<std::string> shell{"ssh", "-o", "BatchMode=yes"};
    std::string program = "ukemi";  // on the hosts
};

// "a:4,b:4", where a number that is left out is 1. Throws InputError, which names `where`.
std::vector<WorkerHost> parse_hosts(std::string_view text, std::string_view where);
int slots_of(const std::vector<WorkerHost>& hosts);

// The words that start a worker on a host. It reads its invitation from standard input: nothing
// that is secret stands on a command line, here or there.
std::vector<std::string> remote_command(const RemoteStart& start, const WorkerHost& host,
                                        const std::vector<std::string>& worker_arguments);

}  // namespace ukemi::runtime
