// graphs_alone.cpp — runs of a graph whose links nobody else uses, in CollectiveRuns.
#include <algorithm>
#include <map>

#include "base/invariant.hpp"
#include "sim/network/collective_runs.hpp"

namespace ukemi::sim {
namespace {

constexpr std::uint64_t end_of(std::uint32_t run) {
    return std::uint64_t{run} << 32 | ExactRings::alarm_bit;
}

}  // namespace

std::shared_ptr<PlacedGraph> CollectiveRuns::place(std::shared_ptr<const TransferGraph> graph,
                                                   std::vector<RouteId> routes) const {
    std::vector<LinkId> links;
    for (const RouteId route : routes) {
        for (const Hop& hop : network_.hops(route)) links.push_back(hop.link);
    }
    std::ranges::sort(links);
    links.erase(std::ranges::unique(links).begin(), links.end());
    return std::make_shared<PlacedGraph>(
        PlacedGraph{std::move(graph), std::move(routes), std::move(links)});
}

RunId CollectiveRuns::start(std::shared_ptr<PlacedGraph> placed, Bytes bytes, Instant at_instant) {
    const std::shared_ptr<const std::vector<RouteId>> routes(placed, &placed->routes);
    const RunId id = start(placed->graph, routes, bytes, at_instant);
    Run& run = at(static_cast<std::uint32_t>(id));
    run.size = bytes.raw();
    run.placed = std::move(placed);
    return id;
}

// True if nothing of it needs to be played as far as is known.
bool CollectiveRuns::begin_alone(std::uint32_t index) {
    Run& run = at(index);
    PlacedGraph& placed = *run.placed;
    if (run.size == 0 || !network_.are_quiet(placed.links)) return false;
    network_.keep_links(placed.links, index);
    run.since = network_.clock();
    run.alone = Alone::watched;
    if (placed.bandwidth_changes != network_.bandwidth_changes()) {
        placed.bandwidth_changes = network_.bandwidth_changes();
        placed.alone.clear();
        placed.bandwidths.clear();
        for (const LinkId link : placed.links) {
            placed.bandwidths.push_back(network_.bandwidth(link));
        }
    }
    const auto known = placed.alone.find(run.size);
    if (known == placed.alone.end()) return false;
    run.alone = Alone::known;
    run.end = network_.start_alarm(known->second, end_of(index));
    return true;
}

void CollectiveRuns::end_alone(Run& run) {
    if (run.alone == Alone::no) return;
    network_.let_go(run.placed->links);
    run.alone = Alone::no;
}

// Its links are its own no more. What was not played is played anew up to now, on links with the
// bandwidths that they had.
void CollectiveRuns::play_again(std::uint32_t index) {
    Run& run = at(index);
    if (run.alone == Alone::watched) return end_alone(run);
    const auto past = static_cast<NetworkTick>(network_.clock() - run.since);
    if (past >= run.placed->alone.at(run.size)) return;  // it ends at this very tick
    network_.cancel(run.end);
    end_alone(run);
    FlowNetwork network;
    std::map<LinkId, LinkId> own;
    for (std::size_t i = 0; i < run.placed->links.size(); ++i) {
        const LinkId link = run.placed->links[i];
        const BytesPerSecond bandwidth = run.placed->bandwidths[i];
        constexpr BytesPerSecond any = BytesPerSecond::of(1);
        own[link] = network.add_link({std::max(any, bandwidth), {}});
        network.set_bandwidth(own[link], bandwidth);  // perhaps it is down
    }
    std::vector<RouteId> routes;
    for (const RouteId route : run.placed->routes) {
        std::vector<Hop> hops;
        for (const Hop& hop : network_.hops(route)) hops.push_back({own.at(hop.link), hop.parts});
        routes.push_back(network.add_route(hops, network_.latency(route)));
    }
    CollectiveRuns runs(network);
    runs.start(run.graph, std::make_shared<const std::vector<RouteId>>(std::move(routes)),
               bytes(run.size), {});
    network.step(Instant{});
    runs.begin(0);
    if (past > 0) network.start_alarm(past, end_of(0));
    for (bool there = past == 0; !there;) {
        INVARIANT(network.step(Instant::never()));
        for (const FlowNetwork::Happening& happening : network.happenings()) {
            there = there || happening.kind == FlowNetwork::Kind::woken;
            if (happening.kind != FlowNetwork::Kind::woken) runs.take(happening);
        }
    }
    if (runs.running_count() == 0) return end(index);  // by a tick's rounding
    run.waits = std::move(runs.at(0).waits);
    run.left = runs.at(0).left;
    for (const FlowNetwork::FlowNow& flow : network.flows_now()) {
        const auto node = static_cast<std::uint32_t>(flow.tag);
        FlowNetwork::FlowOptions options;
        options.latency = flow.latency_left;
        ++flow_count_;
        network_.start((*run.routes)[run.graph->node(node).edge], flow.bytes_left,
                       std::uint64_t{index} << 32 | node, options);
    }
}

}  // namespace ukemi::sim
