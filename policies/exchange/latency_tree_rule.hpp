// latency_tree_rule.hpp — the tree over which messages between peers travel fastest, from what a
// message takes between each two: a pure function.
//
// KungFu (Mai et al., OSDI'20) builds its adaptive topology so: each peer measures the round trip
// to every other, and the minimum spanning tree of (W + Wᵀ) ÷ 2 carries the collectives.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::policies {

// latencies[from * peers + to]; the diagonal is not looked at. Returns each peer's parent; peer 0
// is the root and its own parent. Of equally long edges the one to the lowest peer not yet in the
// tree is taken, from the peer that came into the tree first, so the result is one for all.
std::vector<std::size_t> minimum_latency_tree(std::span<const Duration> latencies,
                                              std::size_t peers);

}  // namespace ukemi::policies
