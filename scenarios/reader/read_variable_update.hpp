// read_variable_update.hpp — keys that say where a job's variables live.
#pragma once

#include <span>

#include "base/config_reader.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/variable_update.hpp"

namespace ukemi::scenarios {

struct ServerRequest {
    sim::VariableUpdate update = sim::VariableUpdate::all_reduce;
    std::int64_t count = 0;  // 0: one on each machine of the workers
    bool asynchronous = false;
    std::vector<sim::DeviceId> separate;  // servers on machines of their own
};

// Workers that a job may have, in order.
struct WorkersLeft {
    std::vector<sim::DeviceId> workers;
    std::vector<sim::MachineId> shared;  // machines of other jobs' workers
    bool placed = false;                 // the scenario names the machine of each
    bool nccl_log = false;               // links are fitted to a log of NCCL's
};

// "variable_update" and "servers". Servers on machines of their own take the last machines of
// `left` that are nobody else's; then it is without them.
ServerRequest read_variable_update(ConfigReader& job, const sim::Topology& topology,
                                   WorkersLeft& left);

// Where the servers of these workers run: the separate ones, or the first sockets of the workers'
// machines.
std::vector<sim::DeviceId> servers_of(const ConfigReader& job, const sim::Topology& topology,
                                      std::span<const sim::DeviceId> workers,
                                      const ServerRequest& request);

}  // namespace ukemi::scenarios
