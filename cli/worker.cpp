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
    command->callback([backend] {
        const int status = runtime::run_worker(backend_named(*backend));
        if (status != exit_done) throw ExitWith{status};
    });
}

}  // namespace ukemi::cli
