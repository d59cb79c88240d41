// tree_pipeline.cpp — how many chunks, and the graphs of those that were asked for.
#include "sim/network/tree_pipeline.hpp"

#include <algorithm>

#include "base/invariant.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::sim {
namespace {

// Smaller pieces are not worth a message.
constexpr double chunk_bytes_min = 1024;
// What playing one all-reduce may cost: a quarter of a second.
constexpr double transfers_max = 1 << 18;

}  // namespace

TreePipeline::TreePipeline(CollectiveRuns& runs, const FlowNetwork& network, std::int32_t ranks,
                           const Router& router, std::int32_t window)
    : ranks_(ranks), window_(window) {
    INVARIANT(ranks >= 2);
    const kernels::Schedule schedule = kernels::double_binary_tree_schedule(ranks, 1);
    stages_ = schedule.transfers.back().step + 1;
    const TransferGraph graph(schedule);
    edges_.assign(graph.edges().begin(), graph.edges().end());
    const std::vector<RouteId> routes = runs.routes_of(graph, router);
    std::vector<double> carried(network.link_count());  // halves of the buffer
    for (const kernels::Transfer& transfer : schedule.transfers) {
        Duration latency;
        for (const Hop& hop : router(transfer.from, transfer.to)) {
            carried[index_of_link(hop.link)] += static_cast<double>(hop.parts) / Hop::whole;
            latency += network.latency(hop.link);
        }
        latency_s_ = std::max(latency_s_, to_seconds(latency));
    }
    for (std::size_t i = 0; i < carried.size(); ++i) {
        const double bandwidth = network.bandwidth(static_cast<LinkId>(i)).raw();
        if (bandwidth == 0) continue;  // however it is cut, it waits until this one is up again
        seconds_per_byte_ = std::max(seconds_per_byte_, carried[i] / 2 / bandwidth);
    }
    for (std::size_t i = 0; i < edges_.size(); ++i) {
        routes_[{edges_[i].from, edges_[i].to}] = routes[i];
    }
}

std::int32_t TreePipeline::chunks_for(Bytes bytes) const {
    const auto size = static_cast<double>(bytes.raw());
    const double most = std::min(transfers_max / (4.0 * (ranks_ - 1)), size / chunk_bytes_min / 2);
    const double filling_s = 0.5 * (stages_ - 2) * size * seconds_per_byte_;  // in one piece
    std::int32_t chunks = 1;
    // As long as twice as many are nearer to the square root of filling_s / latency_s_.
    while (2 * chunks <= most && 2.0 * chunks * chunks * latency_s_ <= filling_s) chunks *= 2;
    return chunks;
}

const std::shared_ptr<PlacedGraph>& TreePipeline::cut_into(const CollectiveRuns& runs,
                                                           std::int32_t chunks_per_tree) {
    std::shared_ptr<PlacedGraph>& cut = cuts_[chunks_per_tree];
    if (cut != nullptr) return cut;
    const auto graph = std::make_shared<const TransferGraph>(
        kernels::double_binary_tree_schedule(ranks_, chunks_per_tree), TransferGraph::Order::data,
        window_);
    std::vector<RouteId> routes;
    for (const TransferGraph::Edge& edge : graph->edges()) {
        routes.push_back(routes_.at({edge.from, edge.to}));
    }
    cut = runs.place(graph, std::move(routes));
    return cut;
}

RunId TreePipeline::start(CollectiveRuns& runs, Bytes bytes, Instant at) {
    return runs.start(cut_into(runs, chunks_for(bytes)), bytes, at);
}

}  // namespace ukemi::sim
