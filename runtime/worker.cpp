// worker.cpp — the whole life of a worker process.
#include <exception>
#include <iostream>
#include <thread>

#include "runtime/crew.hpp"
#include "runtime/rendezvous.hpp"
#include "runtime/worker_end.hpp"
#include "runtime/worker_link.hpp"
#include "runtime/worker_trainer.hpp"

namespace ukemi::runtime {

namespace {

int serve_coordinator(const Invitation& invitation, const kernels::ComputeBackend& backend,
                      kernels::Encryption encryption) {
    WorkerLink link(invitation);
    const auto welcome = link.await_welcome();
    if (!welcome) return complain("the coordinator does not answer", status_machine_failed);
    int status = status_done;
    std::thread training([&] {
        try {
            WorkerTrainer(link, *welcome, backend, invitation.slot, encryption).run();
        } catch (const std::exception& problem) {
            link.send(Trouble{problem.what()});
            status = status_machine_failed;
        }
        link.finish();
    });
    link.serve(*welcome);
    training.join();
    return status;
}

}  // namespace

int run_worker(const kernels::ComputeBackend& backend, InvitedBy invited,
               kernels::Encryption encryption) {
    const TakenInvitation taken =
        invited == InvitedBy::environment ? take_invitation() : read_invitation(std::cin);
    if (!taken.invitation) return complain(taken.problem, status_bad_input);
    try {
        return serve_coordinator(*taken.invitation, backend, encryption);
    } catch (const std::exception& problem) {
        return complain(problem.what(), status_machine_failed);
    }
}

}  // namespace ukemi::runtime
