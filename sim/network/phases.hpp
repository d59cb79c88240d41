// phases.hpp — a collective whose ranks move in step, told in phases: what the fluid fidelity
// plays.
//
// In every round of a phase each of its edges carries the same share of the buffer; the next round
// begins when all have arrived. A ring all-reduce is one phase of 2(n−1) rounds over n edges, which
// fits in memory where its 2n(n−1) transfers would not.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/grid_schedule.hpp"
#include "kernels/schedule.hpp"
#include "sim/network/transfer_graph.hpp"

namespace ukemi::sim {

struct CollectivePhase {
    std::vector<TransferGraph::Edge> edges;  // ascending by (from, to), unless `before` is given
    std::int64_t rounds = 1;
    double share = 1;  // of the buffer, that an edge carries in a round
    // Of several rings over the same ranks: for each edge the one before it in its ring. Else a
    // ring is known by its edges.
    std::vector<std::uint32_t> before = {};
    std::uint32_t strands = 1;  // of a ring: so many alike move side by side, each with its share
};

struct PhasedCollective {
    std::string name;
    std::int32_t ranks = 1;
    std::vector<CollectivePhase> phases;
};

// Steps of a schedule as rounds; steps with the same edges and sizes that follow each other are one
// phase. InputError if the transfers of a step differ in size. The schedule should wait for a whole
// step before the next, or nearly so: pipelines (double_binary_tree, chain_broadcast) do not, and
// would come out too slow.
PhasedCollective phases_of(const kernels::Schedule& schedule);

// Transfer by transfer: a rank goes on to its next round when all that it sends and receives in
// this one is over. Shares are parts of the buffer cut evenly; `window` as of TransferGraph.
std::shared_ptr<const TransferGraph> graph_of(const PhasedCollective& collective,
                                              std::int32_t window = 0);
// How many transfers that are.
std::int64_t transfer_count(const PhasedCollective& collective);

// Without writing out the schedule where it is large: for a hundred thousand ranks. InputError as
// for all_reduce_graph, and for double_binary_tree.
PhasedCollective phased_all_reduce(policies::Collective algorithm, std::int32_t ranks,
                                   std::int32_t per_host = 0);
// grid_schedule(axes), told in rounds.
PhasedCollective phased_grid(std::span<const kernels::GridAxis> axes);

}  // namespace ukemi::sim
