// gradient_lanes.hpp — which collectives carry what a job sends.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/step/gradient_sender.hpp"
#include "sim/step/layout_work.hpp"

namespace ukemi::sim {

inline SentBy sent_by(const StepJob& job) { return job.nccl ? SentBy::nccl : SentBy::anyone; }

// The lanes of a job's buckets, over groups of workers that each send at once: lane 0 is the job's
// all-reduce; lane 1 to 3, where a bucket needs them, an all-gather of messages of the given size,
// a broadcast (codec_plan.hpp) and a reduce-scatter to parts of the given size.
std::vector<GradientLane> gradient_lanes(ClusterNetwork& network, const StepJob& job,
                                         std::span<const std::vector<DeviceId>> groups);

// By which algorithm so many of a job's workers add up, `per_host` on each machine, where it has
// none of NCCL's times: those who have the same experts are fewer than all holders, and take a ring
// where the job's algorithm is not for so few.
policies::Collective all_reduce_of(const StepJob& job, std::int32_t ranks, std::int32_t per_host);

// The job's all-reduce over a group of its workers, `per_host` on each machine; `at_once` as of
// PlacedCollective.
PlacedCollective placed_all_reduce(ClusterNetwork& network, const StepJob& job,
                                   std::span<const DeviceId> group, std::int32_t per_host,
                                   std::int64_t at_once = 1);

// Of parts that the replicas of a layout divide among themselves: each brings one, or ends with the
// sum of one. `kind`: all_gather or reduce_scatter. In NVLink's rings, as an all-reduce in a ring.
PlacedCollective placed_parts(ClusterNetwork& network, ExchangeKind kind, const StepJob& job,
                              std::span<const DeviceId> group, std::int64_t at_once = 1);

// Between replicas; see ExchangeKind, but those of a cell, for what the bytes mean. Workers:
// two or more.
//
// A broadcast goes from the first worker down a pipelined chain through all others, chunk after
// chunk: as many chains as NVLink gives rings in a machine, each such a ring without the edge that
// comes back; else one in the order of ranks. It takes size / bandwidth, the latencies of all edges
// and n - 2 times a chunk, all of which are 1/64 of a chain's buffer together: NCCL's are of half a
// megabyte, whatever the size. With NCCL's times it takes those of a gather by its rings in which
// every edge carries as much: in n parts of size / (n - 1).
PlacedCollective placed_exchange(ClusterNetwork& network, ExchangeKind kind, const StepJob& job,
                                 std::span<const DeviceId> workers);
// With what bytes that is to be started, of so many workers.
Bytes exchange_bytes(ExchangeKind kind, const PlacedCollective& placed, std::size_t ranks,
                     Bytes bytes);

}  // namespace ukemi::sim
