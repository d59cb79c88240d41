// shared_cluster.cpp — sums over the groups of machines of a cluster.
#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

std::int32_t SharedCluster::machines() const {
    return first_machine(static_cast<std::int32_t>(groups.size()));
}

std::int32_t SharedCluster::gpus() const {
    std::int32_t sum = 0;
    for (const MachineGroup& group : groups) sum += group.gpus();
    return sum;
}

std::int32_t SharedCluster::first_machine(std::int32_t group) const {
    std::int32_t first = 0;
    for (std::int32_t i = 0; i < group; ++i) first += groups[static_cast<std::size_t>(i)].machines;
    return first;
}

}  // namespace ukemi::sim
