// worker.cpp — `ukemi worker`: one worker of a live run. Started by `ukemi train`, or by any other
// launcher that puts the rendezvous and the secret into its environment.
#include "cli/command.hpp"
#include "kernels/live/crew.hpp"

namespace ukemi {

void add_worker(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "worker",
        "one worker of a live run (started by `ukemi train`, see kernels/live/README.md)");
    command->callback([] {
        const int status = run_worker();
        if (status != exit_done) throw ExitWith{status};
    });
}

}  // namespace ukemi
