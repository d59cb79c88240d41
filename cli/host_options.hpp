// host_options.hpp — the options of commands whose workers may be started on other hosts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "runtime/worker_hosts.hpp"

namespace ukemi::cli {

struct HostOptions {
    std::string hosts;  // "a:4,b:4"; empty: this machine
    std::string address;
    std::string remote_shell;
    std::string remote_program;
    bool trusted_network = false;

    void add_to(CLI::App& command);
    // Where workers are started; no hosts if it is this machine. Throws InputError.
    runtime::RemoteStart remote() const;
    // InputError where workers of a script would be on several machines, and nobody has said that
    // the network between them is trusted. `option` is the one that puts them there.
    void expect_script_may(const char* option) const;
};

}  // namespace ukemi::cli
