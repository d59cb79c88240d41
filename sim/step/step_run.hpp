// step_run.hpp — steps of jobs that share a cluster's links.
//
// A step begins on all workers when the one before has ended on all, and ends when all have
// computed and all gradients have arrived. What happens in between is said by the players:
// data_parallel_player.hpp and layout_player.hpp. The parts of a step add up to it exactly
// (step_record.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/step/step_job.hpp"
#include "sim/step/step_record.hpp"

namespace ukemi {

// Endless flows that take their fair share.
struct CrossTraffic {
    DeviceId from{};
    DeviceId to{};
    std::int64_t flows = 1;
};

// By job. All jobs begin at the start and run their steps; a job that has ended sends nothing more.
// InputError if a collective cannot run on a job's workers, or if there is no path.
std::vector<JobSteps> run_steps(const Topology& topology, std::span<const StepJob> jobs,
                                std::span<const CrossTraffic> cross_traffic,
                                const StepOptions& options);

}  // namespace ukemi
