// free_gpus.hpp — which GPUs of a cluster are free, and where a job's are taken from.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

class FreeGpus {
public:
    explicit FreeGpus(const SharedCluster& cluster)
        : free_of_(static_cast<std::size_t>(cluster.machines), cluster.gpus_per_machine),
          machines_with_(static_cast<std::size_t>(cluster.gpus_per_machine) + 1) {
        for (std::int32_t i = 0; i < cluster.machines; ++i) machines_with_.back().insert(i);
    }

    // The freest machine (of equals the first) gives all that it has, until there are enough: the
    // rule of the simulator that came with Pollux (Qiao et al., OSDI'21). So many must be free.
    std::vector<GpusOnMachine> take(std::int32_t gpus) {
        std::vector<GpusOnMachine> taken;
        std::size_t free = machines_with_.size() - 1;
        while (gpus > 0) {
            while (machines_with_[free].empty()) {
                INVARIANT(free > 1);
                --free;
            }
            const std::int32_t machine = *machines_with_[free].begin();
            const std::int32_t some = std::min(gpus, static_cast<std::int32_t>(free));
            set_free(machine, static_cast<std::int32_t>(free) - some);
            taken.push_back({machine, some});
            gpus -= some;
        }
        return taken;
    }
    void give_back(const std::vector<GpusOnMachine>& taken) {
        for (const auto& [machine, gpus] : taken) {
            set_free(machine, free_of_[static_cast<std::size_t>(machine)] + gpus);
        }
    }

private:
    void set_free(std::int32_t machine, std::int32_t gpus) {
        std::int32_t& free = free_of_[static_cast<std::size_t>(machine)];
        machines_with_[static_cast<std::size_t>(free)].erase(machine);
        free = gpus;
        machines_with_[static_cast<std::size_t>(free)].insert(machine);
    }

    std::vector<std::int32_t> free_of_;
    std::vector<std::set<std::int32_t>> machines_with_;  // by how many are free
};

}  // namespace ukemi::sim
