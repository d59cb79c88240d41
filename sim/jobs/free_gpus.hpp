// free_gpus.hpp — which GPUs of a cluster are free, and where a job's are taken from.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

// Those of machines that are alike.
class FreeGpusOfGroup {
public:
    FreeGpusOfGroup(const MachineGroup& group, std::int32_t first_machine)
        : first_(first_machine),
          free_of_(static_cast<std::size_t>(group.machines), group.gpus_per_machine),
          closed_(static_cast<std::size_t>(group.machines)),
          machines_with_(static_cast<std::size_t>(group.gpus_per_machine) + 1) {
        for (std::int32_t i = 0; i < group.machines; ++i) machines_with_.back().insert(i);
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
            taken.push_back({first_ + machine, some});
            gpus -= some;
        }
        return taken;
    }
    void change(std::int32_t machine, std::int32_t by) {
        const std::int32_t own = machine - first_;
        if (closed_.at(static_cast<std::size_t>(own))) {
            INVARIANT(by > 0);  // what was taken comes back, and nobody has it again
            return;
        }
        const std::int32_t free = free_of_.at(static_cast<std::size_t>(own)) + by;
        INVARIANT(free >= 0 && free < static_cast<std::int32_t>(machines_with_.size()));
        set_free(own, free);
    }
    // Nobody gets any of a machine any more, until it opens with all of them free.
    void close(std::int32_t machine) {
        set_free(machine - first_, 0);
        closed_[static_cast<std::size_t>(machine - first_)] = true;
    }
    void open(std::int32_t machine) {
        closed_[static_cast<std::size_t>(machine - first_)] = false;
        set_free(machine - first_, static_cast<std::int32_t>(machines_with_.size()) - 1);
    }

private:
    void set_free(std::int32_t machine, std::int32_t gpus) {
        std::int32_t& free = free_of_[static_cast<std::size_t>(machine)];
        machines_with_[static_cast<std::size_t>(free)].erase(machine);
        free = gpus;
        machines_with_[static_cast<std::size_t>(free)].insert(machine);
    }

    std::int32_t first_;
    std::vector<std::int32_t> free_of_;
    std::vector<bool> closed_;
    std::vector<std::set<std::int32_t>> machines_with_;  // by how many are free
};

class FreeGpus {
public:
    explicit FreeGpus(const SharedCluster& cluster) {
        std::int32_t first = 0;
        for (const MachineGroup& group : cluster.groups) {
            groups_.emplace_back(group, first);
            first += group.machines;
        }
    }
    std::vector<GpusOnMachine> take(std::int32_t group, std::int32_t gpus) {
        return groups_[static_cast<std::size_t>(group)].take(gpus);
    }
    // Those that a scheduler chose, which must be free.
    void take(std::int32_t group, std::span<const GpusOnMachine> chosen) {
        for (const auto& [machine, gpus] : chosen) {
            groups_[static_cast<std::size_t>(group)].change(machine, -gpus);
        }
    }
    void give_back(std::int32_t group, std::span<const GpusOnMachine> taken) {
        for (const auto& [machine, gpus] : taken) {
            groups_[static_cast<std::size_t>(group)].change(machine, gpus);
        }
    }

    void close(std::int32_t group, std::int32_t machine) {
        groups_[static_cast<std::size_t>(group)].close(machine);
    }
    void open(std::int32_t group, std::int32_t machine) {
        groups_[static_cast<std::size_t>(group)].open(machine);
    }

private:
    std::vector<FreeGpusOfGroup> groups_;
};

}  // namespace ukemi::sim
