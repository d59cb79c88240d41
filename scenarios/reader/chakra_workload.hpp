// chakra_workload.hpp — traces of all ranks as one workload.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/reader/astra_system.hpp"
#include "scenarios/reader/chakra_trace.hpp"
#include "sim/step/workload.hpp"

namespace ukemi::scenarios {

struct RankTrace {
    std::string file;
    std::vector<ChakraNode> nodes;
};
using CommGroups = std::map<std::string, std::vector<std::int32_t>>;

// One trace a rank, or one for all `ranks`. Without `groups`, all collectives are of all ranks. A
// compute node takes its duration, or if it has none (or the system says so) the longer of its
// operations at the peak and its tensors at the memory's rate. InputError with file and node: a
// collective that is not played, a rank or node that is not there, nodes that wait for each other,
// sends that nobody receives or the other way round, or as another number of bytes.
sim::Workload chakra_workload(std::span<const RankTrace> traces, std::int32_t ranks,
                              const std::optional<CommGroups>& groups, const AstraSystem& system);

// One rank's nodes by themselves: whatever it sends is of one group.
std::vector<sim::WorkNode> lone_rank_nodes(std::span<const ChakraNode> nodes, std::string_view file,
                                           const AstraSystem& system);

}  // namespace ukemi::scenarios
