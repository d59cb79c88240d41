#include "cli/host_options.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>

#include "base/input_error.hpp"
#include "base/socket_address.hpp"
#include "cli/program_on_path.hpp"

namespace ukemi::cli {

void HostOptions::add_to(CLI::App& command) {
    command.add_option("--hosts", hosts,
                       "start the workers on these hosts, at most so many on each, as in a:4,b:4 "
                       "(default: on this machine)");
    command.add_option("--address", address,
                       "this machine's address, in numbers, where --hosts reach it; nothing "
                       "listens beyond the loopback without it");
    command.add_option("--remote-shell", remote_shell,
                       "what starts a command on a host, run as PROGRAM HOST COMMAND (default: "
                       "ssh -o BatchMode=yes)");
    command.add_option("--remote-program", remote_program,
                       "ukemi's path on the hosts (default: ukemi)");
    command.add_flag("--trusted-network", trusted_network,
                     "nobody but us is on the network between the hosts: what workers send each "
                     "other is not encrypted there, which is faster, and a script's workers "
                     "(PyTorch) may be on several hosts");
}

runtime::RemoteStart HostOptions::remote() const {
    runtime::RemoteStart remote;
    const bool named = !hosts.empty();
    if (named != !address.empty()) {
        throw InputError(named ? "--hosts" : "--address", "",
                         named ? "expected also --address, where the hosts reach this machine"
                               : "is where --hosts reach this machine: expected both");
    }
    if (!named && !(remote_shell.empty() && remote_program.empty())) {
        throw InputError(remote_shell.empty() ? "--remote-program" : "--remote-shell", "",
                         "is for --hosts: expected both");
    }
    if (!named) return remote;
    remote.hosts = runtime::parse_hosts(hosts, "--hosts");
    if (!remote_shell.empty()) {
        program_on_path(remote_shell, "--remote-shell");
        remote.shell = {remote_shell};
    }
    if (!remote_program.empty()) remote.program = remote_program;
    const auto here = SocketAddress::of_host(address, 0);
    try {
        if (here && !here->is_any()) {
            const FileDescriptor possible = listening_socket(*here);
            return remote;
        }
    } catch (const std::system_error&) {
        // said below
    }
    throw InputError(
        "--address", "",
        fmt::format("expected an address of this machine in numbers, found \"{}\"", address));
}

void HostOptions::expect_script_may(const char* option) const {
    if (trusted_network) return;
    throw InputError(option, "",
                     "workers of a script exchange by Gloo, which authenticates and encrypts "
                     "nothing: expected one machine, or --trusted-network");
}

}  // namespace ukemi::cli
