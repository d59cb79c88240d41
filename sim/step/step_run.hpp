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

namespace ukemi::sim {

// Endless flows that take their fair share.
struct CrossTraffic {
    DeviceId from{};
    DeviceId to{};
    std::int64_t flows = 1;
};

// From then on a link has another bandwidth; zero: it is down, and what crosses it stands still.
struct StepLinkChange {
    Instant at;
    LinkId link{};
    BytesPerSecond bandwidth;
};

// Workers leave, and with them the replicas of a layout that they are part of: what their job has
// on its way is cancelled, the step under way is torn, and `delay` later those who are left begin
// it anew. Nothing if the job is over by then.
struct Departure {
    Instant at;
    std::size_t job = 0;
    std::vector<std::int32_t> ranks;  // as at the start; they must be there
    Duration delay;
};

struct StepEvents {
    std::vector<StepLinkChange> links;
    std::vector<Departure> departures;  // in the order of time
};

// The ranks, as they are now, of those who are left without these.
std::vector<std::size_t> ranks_left(const StepJob& job, std::span<const std::int32_t> first_ranks);
// A job without these workers, as it goes on after `steps_done` more of its steps. INVARIANT:
// somebody is left, its workers wait for each other, and no layer is split over replicas.
StepJob without(const StepJob& job, const Topology& topology,
                std::span<const std::int32_t> first_ranks, std::int64_t steps_done);

// InputError, as run_steps() would throw it, if the job cannot run on this cluster.
void expect_playable(const Topology& topology, const StepJob& job);

// By job. All jobs begin at the start and run their steps; a job that has ended sends nothing more,
// unless `options` say that all go on until the last has ended: then steps that are whole by then
// are of the result.
// InputError if a collective cannot run on a job's workers, or if there is no path.
std::vector<JobSteps> run_steps(const Topology& topology, std::span<const StepJob> jobs,
                                std::span<const CrossTraffic> cross_traffic,
                                const StepOptions& options, const StepEvents& events = {});

}  // namespace ukemi::sim
