// nccl_collective.cpp — NCCL's rings as one flow, and the bytes that take as long as it would.
#include "sim/step/nccl_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/invariant.hpp"
#include "sim/cluster/rings.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi::sim {
namespace {

// The orders of ranks, one for each ring; on unequal machines all are in the order of ranks.
std::vector<std::vector<std::int32_t>> ring_orders(const Topology& topology,
                                                   std::span<const DeviceId> workers,
                                                   const NcclPlace& place) {
    if (place.fewer > 0) {
        std::vector<std::int32_t> order(workers.size());
        std::iota(order.begin(), order.end(), 0);
        return {static_cast<std::size_t>(place.channels), order};
    }
    const auto first = workers.first(static_cast<std::size_t>(place.per_machine));
    std::vector<std::vector<std::size_t>> inside{{0}};  // of a machine with one GPU
    if (first.size() > 1) inside = ring_places(find_rings(topology, first), first);
    return rings_through(inside, nics_of_places(topology, workers, first.size()),
                         static_cast<std::size_t>(place.channels), workers.size());
}

PhasedCollective phase_of(const std::vector<std::vector<std::int32_t>>& orders, std::size_t ranks) {
    CollectivePhase phase;
    for (const std::vector<std::int32_t>& order : orders) {
        for (std::size_t i = 0; i < order.size(); ++i) {
            phase.edges.push_back({order[i], order[(i + 1) % order.size()]});
        }
    }
    std::ranges::sort(phase.edges, {}, [](const TransferGraph::Edge& edge) {
        return std::pair(edge.from, edge.to);
    });
    return {"nccl", static_cast<std::int32_t>(ranks), {std::move(phase)}};
}

// Of gathers and scatters, bytes are those of one rank's part.
Bytes buffer_of(const NcclPlace& place, NcclCollective collective, Bytes bytes) {
    return collective == NcclCollective::all_reduce ? bytes : std::int64_t{place.ranks()} * bytes;
}

}  // namespace

NcclRun::NcclRun(ClusterNetwork& network, NcclCollective collective,
                 std::span<const DeviceId> workers, std::string_view where, bool ring_only)
    : place_(nccl_place(network.topology(), network.routes(), workers, where)),
      collective_(collective) {
    place_.ring_only = ring_only;
    const Router router = network.router(workers);
    const PhasedCollective phases =
        phase_of(ring_orders(network.topology(), workers, place_), workers.size());
    plan_ = network.runs().plan_of(phases, router, RingEdges::coupled);
    std::map<LinkId, double> edges_on;
    Duration longest;
    for (const TransferGraph::Edge& edge : phases.phases.front().edges) {
        Duration latency;
        for (const LinkId link : router(edge.from, edge.to)) {
            edges_on[link] += 1;
            latency += network.topology().link(link).latency;
        }
        longest = std::max(longest, latency);
    }
    latency_s_ = to_seconds(longest);
    rate_ = BytesPerSecond::max().raw();
    for (const auto& [link, edges] : edges_on) {
        links_.push_back(link);
        rate_ = std::min(rate_, network.topology().link(link).bandwidth.raw() / edges);
    }
}

RunId NcclRun::start(ClusterNetwork& network, Bytes bytes, Instant at) const {
    const Bytes buffer = buffer_of(place_, collective_, bytes);
    const NcclChoice choice = nccl_choice(place_, buffer, collective_);
    const double whole_s = nccl_seconds(place_, choice, buffer, collective_);
    // The flow's own latency is part of what comes before the bytes.
    const double start_s = nccl_start_seconds(place_, choice, buffer, collective_);
    const double waits_s = std::max(0.0, start_s - latency_s_);
    const double moved = std::max(0.0, whole_s - waits_s - latency_s_) * rate_;
    return network.runs().start(plan_, Bytes::of(round_nearest(moved)), at + seconds(waits_s));
}

std::string words_of(const NcclPlace& place, NcclCollective collective,
                     std::span<const GradientBucket> all) {
    struct Messages {
        std::size_t count = 0;
        Bytes largest;
    };
    std::map<std::string, Messages> picked;
    for (const GradientBucket& bucket : all) {
        const Bytes buffer = buffer_of(place, collective, bucket.bytes);
        Messages& messages = picked[to_string(nccl_choice(place, buffer, collective))];
        ++messages.count;
        messages.largest = std::max(messages.largest, bucket.bytes);
    }
    std::string text;
    for (const auto& [choice, messages] : picked) {
        text += fmt::format("{}{} for {} message{} up to {:.3g} MB", text.empty() ? "" : ", ",
                            choice, messages.count, messages.count == 1 ? "" : "s",
                            static_cast<double>(messages.largest.raw()) / 1e6);
    }
    return text;
}

}  // namespace ukemi::sim
