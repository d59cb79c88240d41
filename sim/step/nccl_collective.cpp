// nccl_collective.cpp — NCCL's rings as one flow, and the bytes that take as long as it would.
#include "sim/step/nccl_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/invariant.hpp"
#include "sim/cluster/rings.hpp"
#include "sim/step/cluster_network.hpp"

namespace ukemi::sim {
namespace {

struct Rings {
    std::vector<std::vector<std::int32_t>> orders;  // of ranks
    // By the place in its machine at which a ring leaves: the one whose NIC it takes. Empty on
    // unequal machines.
    std::vector<std::size_t> exits;
    bool nvlink = false;
};

// Whose way to its NIC is narrow leaves by another one that has the same, where NVLink leads there
// (PXN).
std::vector<std::size_t> places_left_by(std::span<const WayOut> ways, bool nvlink) {
    std::vector<std::size_t> exits;
    for (std::size_t place = 0; place < ways.size(); ++place) {
        const auto better = std::ranges::find_if(ways, [&](const WayOut& other) {
            return other.nic == ways[place].nic && !other.is_narrow;
        });
        const bool goes_there = nvlink && ways[place].is_narrow && better != ways.end();
        exits.push_back(goes_there ? static_cast<std::size_t>(better - ways.begin()) : place);
    }
    return exits;
}

// On unequal machines all are in the order of ranks.
Rings rings_of(const Topology& topology, std::span<const DeviceId> workers,
               const NcclPlace& place) {
    if (place.fewer > 0) {
        std::vector<std::int32_t> order(workers.size());
        std::iota(order.begin(), order.end(), 0);
        return {{static_cast<std::size_t>(place.channels), order}, {}, place.nvlink};
    }
    const auto first = workers.first(static_cast<std::size_t>(place.per_machine));
    std::vector<std::vector<std::size_t>> inside{{0}};  // of a machine with one GPU
    if (first.size() > 1) inside = ring_places(find_rings(topology, first), first);
    std::vector<WayOut> ways = ways_out(topology, workers, first.size());
    if (!place.nvlink) {
        Routes routes(topology);
        for (std::size_t i = 0; i < first.size(); ++i) {
            for (const DeviceId to : first)
                ways[i].links.push_back(routes.route(first[i], to).size());
        }
    }
    return {rings_through(inside, ways, static_cast<std::size_t>(place.channels), workers.size()),
            places_left_by(ways, place.nvlink), place.nvlink};
}

// Of all rings. A ring stays on its rail (NCCL_CROSS_NIC=0, and PXN): between machines it goes from
// NIC to NIC of one place, over NVLink from and to ranks elsewhere. On unequal machines rings take
// places in turn that all of them have. Without NVLink it goes to the next rank itself: the PCIe
// link of a rank beside it would be crossed twice.
std::vector<TransferGraph::Edge> edges_of(const Rings& rings, const Topology& topology,
                                          std::span<const DeviceId> workers) {
    std::vector<std::size_t> begins;  // by rank: of its machine
    std::size_t least = workers.size();
    for (std::size_t rank = 0; rank < workers.size(); ++rank) {
        const bool same = rank > 0 && topology.device(workers[rank]).machine ==
                                          topology.device(workers[rank - 1]).machine;
        if (!same && rank > 0) least = std::min(least, rank - begins.back());
        begins.push_back(same ? begins.back() : rank);
    }
    least = std::min(least, workers.size() - begins.back());
    std::vector<TransferGraph::Edge> edges;
    for (std::size_t ring = 0; ring < rings.orders.size(); ++ring) {
        const std::vector<std::int32_t>& order = rings.orders[ring];
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto from = static_cast<std::size_t>(order[i]);
            const auto to = static_cast<std::size_t>(order[(i + 1) % order.size()]);
            if (begins[from] == begins[to] || !rings.nvlink) {
                edges.push_back({order[i], order[(i + 1) % order.size()]});
                continue;
            }
            const std::size_t place = rings.exits.empty() ? ring * least / rings.orders.size()
                                                          : rings.exits[from - begins[from]];
            edges.push_back({static_cast<std::int32_t>(begins[from] + place),
                             static_cast<std::int32_t>(begins[to] + place)});
        }
    }
    return edges;
}

// Of gathers and scatters, bytes are those of one rank's part.
Bytes buffer_of(const NcclPlace& place, NcclCollective collective, Bytes bytes) {
    return collective == NcclCollective::all_reduce ? bytes : std::int64_t{place.ranks()} * bytes;
}

// What every ring's edge carries of a buffer, or would if NICs were its edges.
double carried(const NcclPlace& place, NcclChoice choice, Bytes buffer, NcclCollective collective) {
    const double ranks = place.ranks();
    double times = (collective == NcclCollective::all_reduce ? 2 : 1) * (ranks - 1) / ranks;
    switch (choice.algorithm) {
        case NcclAlgorithm::ring: break;
        case NcclAlgorithm::tree:
        case NcclAlgorithm::nvls_tree:
            if (place.machines > 1) times = nccl_tree_crossings(place.machines);
            times /= nccl_size_correction(choice, buffer);
            break;
        case NcclAlgorithm::collnet:
        case NcclAlgorithm::nvls: times = 1; break;
    }
    // A flag beside every four bytes, or eight bytes of them beside 120.
    if (choice.protocol == NcclProtocol::ll) times *= 2;
    if (choice.protocol == NcclProtocol::ll128) times *= 128.0 / 120;
    return times * static_cast<double>(buffer.raw()) / place.channels;
}
constexpr double byte_parts = 1024;  // in which its bytes are counted

}  // namespace

NcclRun::NcclRun(ClusterNetwork& network, NcclCollective collective,
                 std::span<const DeviceId> workers, std::string_view where, bool ring_only)
    : place_(nccl_place(network.topology(), network.routes(), workers, where)),
      collective_(collective) {
    place_.ring_only = ring_only;
    const Topology& topology = network.topology();
    const std::vector<TransferGraph::Edge> edges =
        edges_of(rings_of(topology, workers, place_), topology, workers);
    // Rings that leave by one GPU have the NICs in turn that are equally near to it.
    std::vector<Router> routers;
    std::map<std::int32_t, std::size_t> leave_by;
    const auto router_of = [&](const TransferGraph::Edge& edge) -> const Router& {
        const auto machine_of = [&](std::int32_t rank) {
            return topology.device(workers[static_cast<std::size_t>(rank)]).machine;
        };
        const bool leaves = !place_.nvlink && machine_of(edge.from) != machine_of(edge.to);
        const std::size_t flow = leaves ? leave_by[edge.from]++ : 0;
        while (routers.size() <= flow) {
            routers.push_back(network.router(workers, SentBy::nccl_rings, routers.size()));
        }
        return routers[flow];
    };
    std::map<LinkId, std::uint32_t> parts_on;
    Duration longest;
    for (const TransferGraph::Edge& edge : edges) {
        Duration latency;
        for (const Hop& hop : router_of(edge)(edge.from, edge.to)) {
            parts_on[hop.link] += hop.parts;
            latency += topology.link(hop.link).latency;
        }
        longest = std::max(longest, latency);
    }
    latency_s_ = to_seconds(longest);
    rate_ = BytesPerSecond::max().raw();
    std::vector<Hop> hops;
    for (const auto& [link, parts] : parts_on) {
        links_.push_back(link);
        hops.push_back({link, parts});
        // Sockets may be slower than what NCCL's time supposes: there its bytes take longer.
        if (topology.link(link).kind == LinkKind::socket) continue;
        rate_ = std::min(rate_, topology.link(link).bandwidth.raw() / parts * Hop::whole);
    }
    FluidPlan plan{"nccl", {}};
    FluidPlan::Phase& phase = plan.phases.emplace_back();
    phase.route = network.flows().add_route(hops, Duration{});
    phase.latency_s = latency_s_;
    phase.share = 1.0 / byte_parts;
    plan_ = std::make_shared<const FluidPlan>(std::move(plan));
}

RunId NcclRun::start(ClusterNetwork& network, Bytes bytes, Instant at) const {
    const Bytes buffer = buffer_of(place_, collective_, bytes);
    const NcclChoice choice = nccl_choice(place_, buffer, collective_);
    const double whole_s = nccl_seconds(place_, choice, buffer, collective_);
    // The flow's own latency is part of what comes before the bytes.
    const double start_s = nccl_start_seconds(place_, choice, buffer, collective_);
    const double waits_s = std::max(0.0, start_s - latency_s_);
    const double moves_s = std::max(0.0, whole_s - waits_s - latency_s_);
    const double moved = std::min(carried(place_, choice, buffer, collective_), moves_s * rate_);
    const double cap = moves_s > 0 ? moved / moves_s : rate_;
    return network.runs().start_capped(plan_, Bytes::of(round_nearest(moved * byte_parts)),
                                       at + seconds(waits_s), cap);
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
