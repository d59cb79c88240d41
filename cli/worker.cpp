// worker.cpp — `ukemi worker`: one worker of a live run. Started by `ukemi train`, or by any other
// launcher that puts the rendezvous and the secret into its environment.
#include <memory>

#include "cli/backends.hpp"
#include "cli/command.hpp"
#include "runtime/crew.hpp"
#include "runtime/script_relay.hpp"

namespace ukemi::cli {

void add_worker(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "worker", "one worker of a live run (started by `ukemi train`, see runtime/README.md)");
    auto backend = std::make_shared<std::string>("cpu");
    command->add_option("--backend", *backend, "what it computes on: cpu | cuda (default: cpu)")
        ->check(CLI::IsMember(backend_names()));
    auto reads = std::make_shared<bool>(false);
    command->add_flag("--read-invitation", *reads,
                      "read rendezvous, number and secret from standard input, as lines "
                      "NAME=value, and not from the environment");
    auto trusts = std::make_shared<bool>(false);
    command->add_flag("--trusted-network", *trusts,
                      "do not encrypt what goes from worker to worker");
    auto python = std::make_shared<std::string>();
    command->add_option("--python", *python,
                        "be the way to the coordinator for a script's worker, which this Python "
                        "runs");
    command->callback([backend, reads, trusts, python] {
        const auto invited =
            *reads ? runtime::InvitedBy::standard_input : runtime::InvitedBy::environment;
        const auto encryption =
            *trusts ? kernels::Encryption::never : kernels::Encryption::across_hosts;
        const int status = python->empty()
                               ? runtime::run_worker(backend_named(*backend), invited, encryption)
                               : runtime::run_script_relay(*python, invited);
        if (status != exit_done) throw ExitWith{status};
    });
}

}  // namespace ukemi::cli
