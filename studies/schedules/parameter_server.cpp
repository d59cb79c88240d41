// parameter_server.cpp — every server adds up its part of the buffer and sends it to all workers.
//
// Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014, one
// synchronous step: 2 steps, each server moves workers/servers of the buffer each way.
#include "base/invariant.hpp"
#include "studies/schedules/schedules.hpp"

namespace ukemi::studies {

kernels::Schedule parameter_server_schedule(std::int32_t workers, std::int32_t servers) {
    INVARIANT(workers >= 1 && servers >= 1);
    kernels::Schedule schedule{"parameter_server", workers + servers, servers, {}, servers};
    for (std::int32_t step = 0; step < 2; ++step) {
        for (std::int32_t server = 0; server < servers; ++server) {
            for (std::int32_t worker = 0; worker < workers; ++worker) {
                const std::int32_t place = workers + server;
                schedule.transfers.push_back(
                    {step == 0 ? worker : place, step == 0 ? place : worker, server, 1, step,
                     step == 0 ? kernels::TransferKind::reduce : kernels::TransferKind::copy});
            }
        }
    }
    return schedule;
}

}  // namespace ukemi::studies
