// worker.cpp — `ukemi worker`: one worker of a live run. Started by `ukemi train`, or by any other
// launcher that puts the rendezvous and the secret into its environment.
#include <memory>

#include "cli/backends.hpp"
#include "cli/command.hpp"
#include "runtime/crew.hpp"

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
    command->callback([backend, reads] {
        const auto invited =
            *reads ? runtime::InvitedBy::standard_input : runtime::InvitedBy::environment;
        const int status = runtime::run_worker(backend_named(*backend), invited);
        if (status != exit_done) throw ExitWith{status};
    });
}

}  // namespace ukemi::cli
