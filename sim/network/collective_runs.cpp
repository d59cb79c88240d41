// collective_runs.cpp — lets each transfer start when what it waits for is over.
#include "sim/network/collective_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

// Tags: a flow's is (run, node), a run's beginning (run, beginning).
constexpr std::uint32_t beginning = 0xffffffff;
std::uint64_t tag_of(std::uint32_t run, std::uint32_t node) {
    return std::uint64_t{run} << 32 | node;
}

// Every rank sends to one other at most, and receives from one.
bool is_ring(const CollectivePhase& phase) {
    std::vector<std::int32_t> from;
    std::vector<std::int32_t> to;
    for (const TransferGraph::Edge& edge : phase.edges) {
        from.push_back(edge.from);
        to.push_back(edge.to);
    }
    std::sort(to.begin(), to.end());  // edges ascend by their sender
    const auto comes_twice = [](const std::vector<std::int32_t>& ranks) {
        return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
    };
    return !comes_twice(from) && !comes_twice(to);
}

// For each edge of a ring, the one that leads into its sender.
std::vector<std::uint32_t> edges_before(const CollectivePhase& phase) {
    if (!phase.before.empty()) return phase.before;
    std::vector<std::uint32_t> into;  // by rank
    std::uint32_t index = 0;
    for (const TransferGraph::Edge& edge : phase.edges) {
        const auto to = static_cast<std::size_t>(edge.to);
        if (to >= into.size()) into.resize(std::max(to + 1, 2 * into.size()), RingEdge::no_edge);
        into[to] = index++;
    }
    std::vector<std::uint32_t> before;
    for (const TransferGraph::Edge& edge : phase.edges) {
        const auto from = static_cast<std::size_t>(edge.from);
        before.push_back(from < into.size() ? into[from] : RingEdge::no_edge);
    }
    return before;
}

}  // namespace

std::span<const Hop> CollectiveRuns::path(const Router& router,
                                          const TransferGraph::Edge& edge) const {
    const std::span<const Hop> hops = router(edge.from, edge.to);
    if (hops.empty()) {
        throw InputError(
            "network", "",
            fmt::format("there is no path from rank {} to rank {}", edge.from, edge.to));
    }
    for (const Hop& hop : hops) {
        if (index_of_link(hop.link) < network_.link_count()) continue;
        throw InputError("network", "",
                         fmt::format("there is no link {}; there are {}", index_of_link(hop.link),
                                     network_.link_count()));
    }
    return hops;
}

std::vector<RouteId> CollectiveRuns::routes_of(const TransferGraph& graph, const Router& router) {
    std::vector<RouteId> routes;
    routes.reserve(graph.edges().size());
    for (const TransferGraph::Edge& edge : graph.edges()) {
        routes.push_back(network_.add_route(path(router, edge)));
    }
    return routes;
}

FluidPlan::Phase CollectiveRuns::coupled(const CollectivePhase& phase, const Router& router) {
    std::vector<Hop> hops;
    std::vector<std::uint32_t>& parts_on = parts_on_link_;
    parts_on.resize(network_.link_count());
    Duration longest;
    for (const TransferGraph::Edge& edge : phase.edges) {
        Duration latency;
        for (const Hop& hop : path(router, edge)) {
            std::uint32_t& parts = parts_on[index_of_link(hop.link)];
            if (parts == 0) hops.push_back({hop.link, 0});
            parts += hop.parts * phase.strands;
            latency += network_.latency(hop.link);
        }
        longest = std::max(longest, latency);
    }
    for (Hop& hop : hops) hop.parts = std::exchange(parts_on[index_of_link(hop.link)], 0);
    FluidPlan::Phase planned;
    planned.route = network_.add_route(hops, {});
    planned.latency_s = to_seconds(longest);
    return planned;
}

PlacedRing CollectiveRuns::by_edge(const CollectivePhase& phase, const Router& router) {
    PlacedRing ring;
    const std::vector<std::uint32_t> before = edges_before(phase);
    std::vector<std::uint32_t>& parts_on = parts_on_link_;
    parts_on.resize(network_.link_count());
    std::vector<Hop> crossed;  // by all edges, one after the other
    for (std::size_t i = 0; i < phase.edges.size(); ++i) {
        const std::size_t first = crossed.size();
        Duration latency;
        for (const Hop& hop : path(router, phase.edges[i])) {
            crossed.push_back({hop.link, hop.parts * phase.strands});
            std::uint32_t& parts = parts_on[index_of_link(hop.link)];
            if (parts == 0) ring.links.push_back(hop.link);
            parts += crossed.back().parts;
            latency += network_.latency(hop.link);
        }
        ring.routes.push_back(network_.add_route(std::span(crossed).subspan(first), {}));
        ring.edges.push_back({before[i], RingEdge::no_edge, FlowNetwork::ticks_of(latency)});
    }
    for (const Hop& hop : crossed) {
        ring.parts.push_back(parts_on[index_of_link(hop.link)]);
        ring.apart = ring.apart && ring.parts.back() == hop.parts;
    }
    for (const LinkId link : ring.links) parts_on[index_of_link(link)] = 0;
    for (std::uint32_t i = 0; i < ring.edges.size(); ++i) {
        if (before[i] != RingEdge::no_edge) ring.edges[before[i]].after = i;
    }
    return ring;
}

std::shared_ptr<const FluidPlan> CollectiveRuns::plan_of(const PhasedCollective& collective,
                                                         const Router& router,
                                                         RingEdges ring_edges) {
    FluidPlan plan{collective.name, {}};
    for (const CollectivePhase& phase : collective.phases) {
        const bool several = !phase.before.empty();
        FluidPlan::Phase planned;
        planned.coupled =
            several || ring_edges == RingEdges::coupled || phase.rounds == 1 || !is_ring(phase);
        if (planned.coupled) planned = coupled(phase, router);
        if (several || !planned.coupled) planned.ring = by_edge(phase, router);
        planned.rounds = phase.rounds;
        planned.share = phase.share;
        plan.phases.push_back(std::move(planned));
    }
    return std::make_shared<const FluidPlan>(std::move(plan));
}

RunId CollectiveRuns::start(std::shared_ptr<const TransferGraph> graph,
                            std::shared_ptr<const std::vector<RouteId>> routes, Bytes bytes,
                            Instant at, std::int64_t element_bytes) {
    INVARIANT(graph != nullptr && routes != nullptr && routes->size() == graph->edges().size());
    if (bytes < Bytes{} || element_bytes < 1 || bytes.raw() % element_bytes != 0) {
        throw InputError("network", "",
                         fmt::format("{} bytes are no whole number of elements of {}", bytes.raw(),
                                     element_bytes));
    }
    Run run;
    const auto elements = static_cast<std::size_t>(bytes.raw() / element_bytes);
    for (std::int32_t chunk = 0; chunk <= graph->chunks(); ++chunk) {
        const std::size_t before = kernels::chunk_range(elements, graph->chunks(), 0, chunk).end;
        run.chunk_begin.push_back(static_cast<std::int64_t>(before) * element_bytes);
    }
    run.left = graph->node_count();
    run.graph = std::move(graph);
    run.routes = std::move(routes);
    return added(std::move(run), at);
}

RunId CollectiveRuns::start(std::shared_ptr<const FluidPlan> plan, Bytes bytes, Instant at,
                            RingPlay play, std::int64_t window) {
    INVARIANT(plan != nullptr && (play == RingPlay::fluid || plan->is_one_ring()));
    if (bytes < Bytes{}) {
        throw InputError("network", "", fmt::format("{} bytes cannot be sent", bytes.raw()));
    }
    Run run;
    run.left = plan->phases.size();
    run.plan = std::move(plan);
    run.bytes = static_cast<double>(bytes.raw());
    run.play = play;
    run.window = window;
    return added(std::move(run), at);
}

RunId CollectiveRuns::start_capped(std::shared_ptr<const FluidPlan> plan, Bytes bytes, Instant at,
                                   double cap) {
    const RunId run = start(std::move(plan), bytes, at);
    this->at(static_cast<std::uint32_t>(run)).cap = cap;
    return run;
}

RunId CollectiveRuns::added(Run run, Instant at) {
    const auto number = first_run_ + static_cast<std::uint32_t>(runs_.size());
    runs_.push_back(std::move(run));
    ++running_count_;
    network_.plan_wake(std::max(at, network_.now()), tag_of(number, beginning));
    return static_cast<RunId>(number);
}

void CollectiveRuns::cancel(RunId id) {
    const auto number = static_cast<std::uint32_t>(id);
    if (number < first_run_) return;
    INVARIANT(number - first_run_ < runs_.size());
    if (!at(number).runs()) return;
    network_.cancel_tagged(tag_of(number, 0), tag_of(number, beginning));
    rings_.forget(number);
    exact_.forget(number);
    end_alone(at(number));
    remove(number);
}

void CollectiveRuns::begin(std::uint32_t index) {
    if (index < first_run_ || !at(index).runs()) return;  // cancelled before
    Run& run = at(index);
    if (run.plan != nullptr) return next_phase(index);
    const std::span<const std::uint32_t> waits = run.graph->waits();
    run.waits.assign(waits.begin(), waits.end());
    const bool repeats = run.placed != nullptr && run.placed->jitter_s.empty();
    if (repeats && begin_alone(index)) return;
    for (std::uint32_t node = 0; node < waits.size(); ++node) {
        if (waits[node] == 0) begin_node(run, index, node);
    }
    follow(run, index);
}

void CollectiveRuns::end(std::uint32_t index) {
    Run& run = at(index);
    const bool unchanged =
        run.placed != nullptr && run.placed->bandwidth_changes == network_.bandwidth_changes();
    if (run.alone == Alone::watched && unchanged) {
        run.placed->alone[run.size] = static_cast<NetworkTick>(network_.clock() - run.since);
    }
    end_alone(run);
    const bool exact = run.plan == nullptr || run.play != RingPlay::fluid;
    events_.push_back({NetworkEvent::Kind::run_finished, index, network_.now(), exact});
    remove(index);
}

// What is over is forgotten as soon as nothing before it runs.
void CollectiveRuns::remove(std::uint32_t index) {
    at(index) = {};
    --running_count_;
    for (; !runs_.empty() && !runs_.front().runs(); ++first_run_) runs_.pop_front();
}

void CollectiveRuns::next_phase(std::uint32_t index) {
    Run& run = at(index);
    if (run.left == 0 || run.bytes == 0) return end(index);
    const FluidPlan::Phase& phase = run.plan->phases[run.plan->phases.size() - run.left];
    --run.left;
    if (run.play == RingPlay::fluid) return start_fluid(index, phase, {});
    const RingWork work{run.bytes * phase.share, phase.rounds, run.window};
    if (run.play == RingPlay::exact) return exact_.start(index, phase.ring, work);
    if (exact_.start_alone(index, phase.ring, work)) return;
    run.play = RingPlay::fluid;
    start_fluid(index, phase, {});
}

void CollectiveRuns::start_fluid(std::uint32_t index, const FluidPlan::Phase& phase,
                                 std::span<const double> rounds_sent) {
    ++flow_count_;
    const double a_round = at(index).bytes * phase.share;
    if (!phase.coupled) {
        return rings_.start(index, phase.ring, a_round, phase.rounds, rounds_sent);
    }
    double rounds = static_cast<double>(phase.rounds);
    for (const double sent : rounds_sent) rounds -= sent / static_cast<double>(rounds_sent.size());
    FlowNetwork::FlowOptions options;
    options.cap = at(index).cap;
    if (phase.rounds > 1) {
        options.delay_s_per_byte = phase.latency_s / a_round;
    } else {  // it takes no share while it waits
        options.latency = FlowNetwork::ticks_of(seconds(phase.latency_s));
    }
    network_.start(phase.route, a_round * rounds, tag_of(index, beginning), options);
}

void CollectiveRuns::begin_node(const Run& run, std::uint32_t number, std::uint32_t node) {
    const TransferGraph::Node& what = run.graph->node(node);
    if (what.edge == TransferGraph::join) return over_.push(node);
    const auto first = static_cast<std::size_t>(what.first_chunk);
    const std::int64_t bytes = run.chunk_begin[first + static_cast<std::size_t>(what.chunk_count)] -
                               run.chunk_begin[first];
    if (bytes == 0) return over_.push(node);
    ++flow_count_;
    const RouteId route = (*run.routes)[what.edge];
    FlowNetwork::FlowOptions options;
    if (run.placed != nullptr && !run.placed->jitter_s.empty()) {
        const double mean_s = run.placed->jitter_s[what.edge];
        const Duration drawn = seconds(mean_s > 0 ? run.placed->draws->exponential(mean_s) : 0);
        options.latency = network_.latency_of(route) + FlowNetwork::ticks_of(drawn);
    }
    network_.start(route, static_cast<double>(bytes), tag_of(number, node), options);
}

// Lets everything begin that waited for the nodes that are over, and ends the run after the last.
void CollectiveRuns::follow(Run& run, std::uint32_t number) {
    const TransferGraph& graph = *run.graph;
    while (!over_.empty()) {
        const std::uint32_t node = over_.back();
        over_.pop();
        --run.left;
        for (const std::uint32_t next : graph.successors(node)) {
            if (--run.waits[next] == 0) begin_node(run, number, next);
        }
    }
    if (run.left == 0) end(number);
}

void CollectiveRuns::take(const FlowNetwork::Happening& happening) {
    const auto number = static_cast<std::uint32_t>(happening.tag >> 32);
    const auto node = static_cast<std::uint32_t>(happening.tag);
    if (happening.kind == FlowNetwork::Kind::link_changed) {
        events_.push_back({NetworkEvent::Kind::link_changed, happening.tag, network_.now()});
        return;
    }
    if (happening.kind == FlowNetwork::Kind::woken && node == beginning) return begin(number);
    Run& run = at(number);
    if (happening.kind == FlowNetwork::Kind::flow_finished) {
        if (run.plan == nullptr) {
            over_.push(node);
            follow(run, number);
        } else if (run.play != RingPlay::fluid) {
            if (exact_.flow_finished(number, node)) next_phase(number);
        } else if (node == beginning || rings_.flow_finished(number, node)) {
            next_phase(number);
        }
    } else if (run.plan == nullptr) {
        end(number);
    } else if (run.play != RingPlay::fluid) {
        if (exact_.alarm(number)) next_phase(number);
    } else {
        rings_.alarm(number, node & ~FluidRings::alarm_bit);
    }
}

void CollectiveRuns::disturbed(std::span<const Disturbance> all) {
    for (const auto& [number, shared] : all) {
        if (number < first_run_) continue;  // over, or, as below, told before
        if (at(number).alone != Alone::no) play_again(number);
        if (!exact_.is_alone(number)) continue;
        Run& run = at(number);
        const FluidPlan::Phase& phase = run.plan->phases.front();
        if (run.play == RingPlay::exact || (!shared && phase.ring.apart)) {
            exact_.disturbed(number, shared);
            continue;
        }
        run.play = RingPlay::fluid;
        start_fluid(number, phase, exact_.stop(number));
    }
}

std::optional<NetworkEvent> CollectiveRuns::run_until(Instant limit) {
    while (told_count_ == events_.size()) {
        events_.clear();
        told_count_ = 0;
        if (!network_.step(limit)) return std::nullopt;
        for (const FlowNetwork::Happening& happening : network_.happenings()) take(happening);
    }
    return events_[told_count_++];
}

}  // namespace ukemi::sim
