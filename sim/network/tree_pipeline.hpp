// tree_pipeline.hpp — the double binary tree, cut into as many chunks as suit a buffer's size.
//
// A chunk passes through `stages` edges on its way up a tree and down again, and the next chunk
// follows behind it: k chunks a tree take k + stages - 1 rounds, each with its latency. The busiest
// link carries all in `transfer`, if it always has something to carry. While the pipeline fills and
// runs dry, chunks go only up or only down, half of what goes there in a round; so that in one
// piece the buffer takes stages / 2 times its transfer, and in k chunks
//
//   transfer + (stages - 2) / 2 × transfer / k + (k + stages - 1) × latency,
//
// which is least at k = √((stages - 2) / 2 × transfer / latency). The nearest power of two adds at
// most 6 % to what depends on k.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/network/collective_runs.hpp"

namespace ukemi::sim {

class TreePipeline {
public:
    // Ranks: two or more; `window` as of TransferGraph. InputError if there is no path.
    TreePipeline(CollectiveRuns& runs, const FlowNetwork& network, std::int32_t ranks,
                 const Router& router, std::int32_t window = 0);

    // Of each of the two trees, a power of two. By the bandwidths of when it was placed.
    std::int32_t chunks_for(Bytes bytes) const;
    RunId start(CollectiveRuns& runs, Bytes bytes, Instant at);
    std::span<const TransferGraph::Edge> edges() const { return edges_; }

private:
    using Ends = std::pair<std::int32_t, std::int32_t>;  // ranks from and to
    const std::shared_ptr<PlacedGraph>& cut_into(const CollectiveRuns& runs,
                                                 std::int32_t chunks_per_tree);

    std::int32_t ranks_ = 2;
    std::int32_t window_ = 0;
    std::int32_t stages_ = 1;
    double seconds_per_byte_ =
        0;                  // of the buffer, on the link with most to carry for its bandwidth
    double latency_s_ = 0;  // of the longest route
    std::vector<TransferGraph::Edge> edges_;
    std::map<Ends, RouteId> routes_;
    std::map<std::int32_t, std::shared_ptr<PlacedGraph>> cuts_;  // by chunks of a tree
};

}  // namespace ukemi::sim
