// phases.hpp — a collective whose ranks move in step, told in phases: what the fluid fidelity
// plays.
//
// In every round of a phase each of its edges carries the same share of the buffer; the next round
// begins when all have arrived. A ring all-reduce is one phase of 2(n−1) rounds over n edges, which
// fits in memory where its 2n(n−1) transfers would not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/schedule.hpp"
#include "sim/network/transfer_graph.hpp"

namespace ukemi::sim {

struct CollectivePhase {
    std::vector<TransferGraph::Edge> edges;  // ascending by (from, to); one may come twice
    std::int64_t rounds = 1;
    double share = 1;  // of the buffer, that an edge carries in a round
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

// Without writing out the schedule where it is large: for a hundred thousand ranks. InputError as
// for all_reduce_graph, and for double_binary_tree.
PhasedCollective phased_all_reduce(policies::Collective algorithm, std::int32_t ranks,
                                   std::int32_t per_host = 0);
PhasedCollective phased_multi_ring(std::span<const std::int32_t> sizes);

}  // namespace ukemi::sim
