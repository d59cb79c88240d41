// parameter_server.cpp — every server adds up its part of the buffer and sends it to all workers.
//
// Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014, one
// synchronous step: 2 steps, each server moves workers/servers of the buffer each way.
#include "base/invariant.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::kernels {

Schedule parameter_server_schedule(std::int32_t workers, std::int32_t servers) {
    INVARIANT(workers >= 1 && servers >= 1);
    Schedule schedule{"parameter_server", workers + servers, servers, {}, servers};
    for (std::int32_t step = 0; step < 2; ++step) {
        for (std::int32_t server = 0; server < servers; ++server) {
            for (std::int32_t worker = 0; worker < workers; ++worker) {
                const std::int32_t place = workers + server;
                schedule.transfers.push_back(
                    {step == 0 ? worker : place, step == 0 ? place : worker, server, 1, step,
                     step == 0 ? TransferKind::reduce : TransferKind::copy});
            }
        }
    }
    return schedule;
}

// Every rank is worker and server: the same transfers as a clique's.
Schedule make_clique(std::int32_t ranks);
Schedule make_parameter_server(std::int32_t ranks) {
    Schedule schedule = make_clique(ranks);
    schedule.name = "parameter_server";
    return schedule;
}

}  // namespace ukemi::kernels
