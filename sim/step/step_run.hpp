// step_run.hpp — steps of data-parallel jobs that share a cluster's links.
//
// A step begins on all workers when the one before has ended on all. A worker waits for its input,
// computes forward and backward, and each bucket of gradients that all workers have is sent when
// the launch rule says so, while the rest of the backward pass goes on. The step ends when all have
// computed and all buckets have arrived. (A ring in truth begins where workers are ready first; as
// it cannot end before the last one has joined, that is neglected.)
//
// The parts of a step are those of its critical path and add up to it exactly:
//   input      until the batch is there
//   compute    of the mean worker
//   straggler  how much longer the slowest worker computes
//   sending    after that: while a collective of the job is on its way (exposed communication)
//   agreeing   after that: while none is (cycles and negotiation of the launch rule)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/step_job.hpp"

namespace ukemi {

struct StepParts {
    Duration input;
    Duration compute;
    Duration straggler;
    Duration sending;
    Duration agreeing;
    Duration total() const { return input + compute + straggler + sending + agreeing; }
};

struct SentMessage {
    std::string name;  // of its first bucket
    std::int64_t buckets = 0;
    Bytes bytes;
    Instant begin;
    Instant end;
};

struct StepRecord {
    Instant begin;
    Instant end;
    StepParts parts;
    // Of the first steps only (StepOptions):
    Instant compute_begin;
    std::vector<Duration> computing;  // by rank
    std::vector<SentMessage> sent;    // in the order in which they ended
};

struct JobSteps {
    std::vector<StepRecord> steps;
    std::string collective;     // empty: nothing was sent
    std::vector<LinkId> links;  // that its collectives cross, ascending
};

// Endless flows that take their fair share.
struct CrossTraffic {
    DeviceId from{};
    DeviceId to{};
    std::int64_t flows = 1;
};

struct StepOptions {
    std::uint64_t seed = 0;
    std::int64_t detailed_steps = 0;  // how many steps of each job keep their details
};

// By job. All jobs begin at the start and run their steps; a job that has ended sends nothing more.
// InputError if a collective cannot run on a job's workers, or if there is no path.
std::vector<JobSteps> run_steps(const Topology& topology, std::span<const StepJob> jobs,
                                std::span<const CrossTraffic> cross_traffic,
                                const StepOptions& options);

}  // namespace ukemi
