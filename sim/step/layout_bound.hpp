// layout_bound.hpp — what no step of a job is shorter than, reckoned without playing it.
//
// One replica goes through its passes block by block, as the player lets it (layout_player.hpp).
// What is sent takes no longer than its bytes need into the GPU that receives them, and into its
// machine, on all of their links at full rates; under NCCL's times, what NCCL takes on an idle
// network. Each moment of the player is the latest of earlier ones plus a time that is not shorter
// than here, and the order of passes is the same, so no moment of the player is earlier.
#pragma once

#include "sim/cluster/topology.hpp"
#include "sim/step/step_job.hpp"

namespace ukemi::sim {

// Nothing where stragglers may make a worker faster than its own pace. Of jobs without servers.
Duration least_step(const Topology& topology, const StepJob& job);

}  // namespace ukemi::sim
