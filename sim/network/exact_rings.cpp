// exact_rings.cpp — alone without flows, among others with them.
#include "sim/network/exact_rings.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

std::uint64_t edge_tag(std::uint32_t run, std::uint32_t edge) {
    return std::uint64_t{run} << 32 | edge;
}

}  // namespace

ExactRings::Run& ExactRings::added(std::uint32_t number, const PlacedRing& ring,
                                   const RingWork& work) {
    INVARIANT(work.round_bytes > 0 && work.rounds > 0 && !ring.edges.empty());
    INVARIANT(!runs_.contains(number));
    Run& run = runs_[number];
    run.ring = &ring;
    run.work = work;
    run.edges.resize(ring.edges.size());
    return run;
}

void ExactRings::start(std::uint32_t number, const PlacedRing& ring, const RingWork& work) {
    if (!start_alone(number, ring, work)) start_flows(number, added(number, ring, work));
}

bool ExactRings::start_alone(std::uint32_t number, const PlacedRing& ring, const RingWork& work) {
    if (!network_.are_quiet(ring.links)) return false;
    if (go_alone(number, added(number, ring, work))) {
        network_.keep_links(ring.links, number);
        return true;
    }
    runs_.erase(number);
    return false;
}

// Plans the end of a run on its own links; false if it has to be played.
bool ExactRings::go_alone(std::uint32_t number, Run& run) {
    run.bandwidths.clear();
    if (run.recurs()) {
        std::size_t hop_number = 0;
        for (std::size_t i = 0; i < run.edges.size(); ++i) {
            run.bandwidths.push_back(least_share(run, i, hop_number));
        }
        run.length = RingRecurrence(run.ring->edges, run.work.round_bytes, run.work.rounds)
                         .ends_not_before(run.edges, run.bandwidths);
    } else {
        for (const LinkId link : run.ring->links) {
            run.bandwidths.push_back(network_.bandwidth(link).raw());
        }
        run.length = together_ends_after(run);
    }
    if (run.length >= RingRecurrence::too_long) return false;
    run.since = network_.clock();
    run.end = network_.start_alarm(run.length, edge_tag(number, alarm_bit));
    return true;
}

// What a whole flow gets of a link of which such parts are taken.
double ExactRings::share_of(LinkId link, std::uint32_t parts) const {
    return network_.bandwidth(link).raw() * Hop::whole / parts;
}

// What an edge gets at least when all send; `hop_number` counts through the ring's parts.
double ExactRings::least_share(const Run& run, std::size_t edge, std::size_t& hop_number) const {
    double least = FairShare::unlimited;
    for (const Hop& hop : network_.hops(run.ring->routes[edge])) {
        least = std::min(least, share_of(hop.link, run.ring->parts[hop_number++]));
    }
    return least;
}

// Of a run that has just begun.
NetworkTick ExactRings::together_ends_after(const Run& run) {
    const PlacedRing& ring = *run.ring;
    const RingRecurrence recurrence(ring.edges, run.work.round_bytes, run.work.rounds);
    std::vector<double> shares;
    NetworkTick longest = 0;
    std::size_t hop_number = 0;
    for (std::size_t i = 0; i < ring.edges.size(); ++i) {
        shares.push_back(least_share(run, i, hop_number));
        longest = std::max(longest, recurrence.round_time(i, shares[i]));
    }
    NetworkTick all = 0;
    if (__builtin_mul_overflow(longest, run.work.rounds, &all)) return RingRecurrence::too_long;
    slowest_on_.resize(network_.link_count());
    for (const LinkId link : ring.links) slowest_on_[index_of_link(link)] = 0;
    hop_number = 0;
    for (std::size_t i = 0; i < ring.edges.size(); ++i) {
        const bool slowest = recurrence.round_time(i, shares[i]) == longest;
        for (const Hop& hop : network_.hops(ring.routes[i])) {
            const std::uint32_t parts = ring.parts[hop_number++];
            if (!slowest || share_of(hop.link, parts) != shares[i]) continue;
            if ((slowest_on_[index_of_link(hop.link)] += hop.parts) == parts) return all;
        }
    }
    return RingRecurrence::too_long;
}

void ExactRings::start_flows(std::uint32_t number, Run& run) {
    run.flows.resize(run.edges.size());
    run.edges_left = 0;
    for (const RingEdgeNow& edge : run.edges) run.edges_left += edge.done < run.work.rounds ? 1 : 0;
    for (std::uint32_t i = 0; i < run.edges.size(); ++i) {
        RingEdgeNow& edge = run.edges[i];
        if (!edge.sending) {
            try_edge(number, run, i);
            continue;
        }
        FlowNetwork::FlowOptions options;
        options.latency = edge.latency_left;
        ++flow_count_;
        run.flows[i] =
            network_.start(run.ring->routes[i], edge.bytes_left, edge_tag(number, i), options);
    }
}

// Lets an edge begin its next round if its rank has received what it sends.
void ExactRings::try_edge(std::uint32_t number, Run& run, std::uint32_t index) {
    RingEdgeNow& edge = run.edges[index];
    const RingEdge& plan = run.ring->edges[index];
    if (edge.sending || edge.done == run.work.rounds) return;
    if (plan.before != RingEdge::no_edge && run.edges[plan.before].done < edge.done) return;
    if (run.work.window > 0 && plan.after != RingEdge::no_edge &&
        run.edges[plan.after].done + run.work.window <= edge.done) {
        return;
    }
    edge.sending = true;
    FlowNetwork::FlowOptions options;
    options.latency = plan.latency;
    ++flow_count_;
    run.flows[index] = network_.start(run.ring->routes[index], run.work.round_bytes,
                                      edge_tag(number, index), options);
}

bool ExactRings::flow_finished(std::uint32_t number, std::uint32_t index) {
    Run& run = runs_.at(number);
    RingEdgeNow& edge = run.edges[index];
    edge.sending = false;
    if (++edge.done == run.work.rounds && --run.edges_left == 0) {
        runs_.erase(number);
        return true;
    }
    const RingEdge& plan = run.ring->edges[index];
    try_edge(number, run, index);
    if (plan.after != RingEdge::no_edge) try_edge(number, run, plan.after);
    if (run.work.window > 0 && plan.before != RingEdge::no_edge) {
        try_edge(number, run, plan.before);
    }
    return false;
}

// Where links have changed the end is looked for when it may be near: they often change again.
bool ExactRings::alarm(std::uint32_t number) {
    Run& run = runs_.at(number);
    if (!run.ends_then) {
        bring_up_to_date(run);
        run.ends_then = true;
        run.length = RingRecurrence(run.ring->edges, run.work.round_bytes, run.work.rounds)
                         .ends_after(run.edges, run.bandwidths);
        if (run.length > 0) {
            run.end = network_.start_alarm(run.length, edge_tag(number, alarm_bit));
            return false;
        }
    }
    forget(number);
    return true;
}

void ExactRings::forget(std::uint32_t number) {
    const auto found = runs_.find(number);
    if (found == runs_.end()) return;
    if (found->second.flows.empty()) network_.let_go(found->second.ring->links);
    runs_.erase(found);
}

// Of a run that is alone.
void ExactRings::bring_up_to_date(Run& run) {
    const auto past = static_cast<NetworkTick>(network_.clock() - run.since);
    if (run.recurs()) {
        RingRecurrence(run.ring->edges, run.work.round_bytes, run.work.rounds)
            .advance(run.edges, run.bandwidths, past);
    } else {
        run.edges = played_alone(run, past);
    }
    run.since = network_.clock();
}

void ExactRings::disturbed(std::uint32_t number, bool shared) {
    const auto found = runs_.find(number);
    if (found == runs_.end() || !found->second.flows.empty()) return;  // over, or flows by now
    Run& run = found->second;
    if (is_at_its_end(run)) return;
    bring_up_to_date(run);
    const auto is_over = [&](const RingEdgeNow& edge) { return edge.done == run.work.rounds; };
    if (std::ranges::all_of(run.edges, is_over)) return;  // by a tick's rounding
    network_.cancel(run.end);
    if (!shared && run.recurs() && go_alone(number, run)) {
        run.ends_then = false;
        return;
    }
    network_.let_go(run.ring->links);
    start_flows(number, run);
}

std::vector<double> ExactRings::stop(std::uint32_t number) {
    Run& run = runs_.at(number);
    INVARIANT(run.flows.empty() && !is_at_its_end(run));
    bring_up_to_date(run);
    network_.cancel(run.end);
    const RingRecurrence recurrence(run.ring->edges, run.work.round_bytes, run.work.rounds);
    std::vector<double> rounds;
    std::size_t sharer = 0;
    for (std::size_t i = 0; i < run.edges.size(); ++i) {
        const RingEdgeNow& edge = run.edges[i];
        const double share = least_share(run, i, sharer);
        rounds.push_back(static_cast<double>(edge.done));
        if (!edge.sending || share <= 0) continue;
        const double left = static_cast<double>(edge.latency_left) +
                            edge.bytes_left / share * FlowNetwork::ticks_per_second;
        const auto whole = static_cast<double>(recurrence.round_time(i, share));
        rounds.back() += std::clamp(1 - left / whole, 0.0, 1.0);
    }
    forget(number);
    return rounds;
}

// On links of their own with the bandwidths that they had, from the beginning.
std::vector<RingEdgeNow> ExactRings::played_alone(const Run& run, NetworkTick for_ticks) const {
    FlowNetwork network;
    std::map<LinkId, LinkId> own;
    for (std::size_t i = 0; i < run.ring->links.size(); ++i) {
        own[run.ring->links[i]] = network.add_link({BytesPerSecond::of(run.bandwidths[i]), {}});
    }
    PlacedRing ring{run.ring->edges, {}, {}, {}, false};
    for (const RouteId route : run.ring->routes) {
        std::vector<Hop> hops;
        for (const Hop& hop : network_.hops(route)) hops.push_back({own.at(hop.link), hop.parts});
        ring.routes.push_back(network.add_route(hops, {}));
    }
    ExactRings rings(network);
    Run& again = rings.added(0, ring, run.work);
    rings.start_flows(0, again);
    if (for_ticks > 0) network.start_alarm(for_ticks, edge_tag(0, alarm_bit));
    for (bool there = for_ticks == 0; !there && network.step(Instant::never());) {
        for (const FlowNetwork::Happening& happening : network.happenings()) {
            const bool alarm = happening.kind == FlowNetwork::Kind::woken;
            there = there || alarm;
            if (alarm || !rings.flow_finished(0, static_cast<std::uint32_t>(happening.tag)))
                continue;
            return std::vector<RingEdgeNow>(run.edges.size(), {run.work.rounds});
        }
    }
    for (std::size_t i = 0; i < again.edges.size(); ++i) {
        if (!again.edges[i].sending) continue;
        again.edges[i].latency_left = network.latency_left(again.flows[i]);
        again.edges[i].bytes_left = network.bytes_left(again.flows[i]);
    }
    return again.edges;
}

}  // namespace ukemi::sim
