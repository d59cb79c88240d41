// worker.cpp — the whole life of a worker process.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <thread>

#include "runtime/crew.hpp"
#include "runtime/rendezvous.hpp"
#include "runtime/worker_link.hpp"
#include "runtime/worker_trainer.hpp"

namespace ukemi::runtime {

namespace {

constexpr int status_done = 0;
constexpr int status_machine_failed = 1;
constexpr int status_bad_input = 2;

int complain(std::string_view problem, int status) {
    std::fputs(fmt::format("ukemi worker: {}\n", problem).c_str(), stderr);
    return status;
}

int serve_coordinator(const Invitation& invitation, const kernels::ComputeBackend& backend) {
    WorkerLink link(invitation);
    const auto welcome = link.await_welcome();
    if (!welcome) return complain("the coordinator does not answer", status_machine_failed);
    int status = status_done;
    std::thread training([&] {
        try {
            WorkerTrainer(link, *welcome, backend, invitation.worker).run();
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

int run_worker(const kernels::ComputeBackend& backend, InvitedBy invited) {
    const TakenInvitation taken =
        invited == InvitedBy::environment ? take_invitation() : read_invitation(std::cin);
    if (!taken.invitation) return complain(taken.problem, status_bad_input);
    try {
        return serve_coordinator(*taken.invitation, backend);
    } catch (const std::exception& problem) {
        return complain(problem.what(), status_machine_failed);
    }
}

}  // namespace ukemi::runtime
