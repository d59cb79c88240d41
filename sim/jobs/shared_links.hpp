// shared_links.hpp — how long steps take of jobs that send over the same links at once.
#pragma once

#include <span>
#include <vector>

#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

class SharedLinks {
public:
    struct PlacedJob {
        std::size_t kind = 0;  // of its steps (LinkedStep)
        std::span<const GpusOnMachine> machines;
    };

    virtual ~SharedLinks() = default;
    // Of each, in the mean, while all of them run. `together`: in the order of the workload.
    virtual std::vector<Duration> step_times(std::span<const PlacedJob> together) = 0;
};

}  // namespace ukemi::sim
