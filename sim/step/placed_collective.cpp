// placed_collective.cpp — the fidelities behind one start().
#include "sim/step/placed_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/nccl/nccl_times.hpp"
#include "sim/cluster/rings.hpp"

namespace ukemi::sim {

namespace {

Duration start_of(SentBy sent_by) {
    return sent_by == SentBy::nccl ? seconds(nccl_message_start_s) : Duration{};
}

void note_links(std::vector<LinkId>& links, std::span<const TransferGraph::Edge> edges,
                const Router& router) {
    for (const TransferGraph::Edge& edge : edges) {
        for (const Hop& hop : router(edge.from, edge.to)) links.push_back(hop.link);
    }
    std::ranges::sort(links);
    links.erase(std::ranges::unique(links).begin(), links.end());
}

// Through all machines, each of whose first `each` workers the plan's rings join.
PhasedCollective all_rings(const Topology& topology, const RingPlan& plan,
                           std::span<const DeviceId> workers, std::size_t each) {
    using Edge = TransferGraph::Edge;
    const std::size_t count = plan.rings.size();
    const std::size_t ranks = workers.size();
    const std::vector<std::vector<std::size_t>> places = ring_places(plan, workers.first(each));
    std::vector<std::vector<Edge>> rings(count);
    const auto orders = rings_through(places, ways_out(topology, workers, each), count, ranks);
    for (std::size_t ring = 0; ring < count; ++ring) {
        const std::vector<std::int32_t>& order = orders[ring];
        for (std::size_t i = 0; i < ranks; ++i) {
            rings[ring].push_back({order[i], order[(i + 1) % ranks]});
        }
    }
    const std::string name = count == 1 ? "ring" : fmt::format("{} rings", count);
    const auto rounds = 2 * (static_cast<std::int64_t>(ranks) - 1);
    CollectivePhase phase{{}, rounds, 1.0 / static_cast<double>(ranks * count)};
    std::vector<std::vector<Edge>> sorted = rings;
    const auto by_ranks = [](const Edge& edge) { return std::pair(edge.from, edge.to); };
    for (std::vector<Edge>& ring : sorted) std::ranges::sort(ring, {}, by_ranks);
    const auto as_first = [&](const std::vector<Edge>& ring) {
        return std::ranges::equal(ring, sorted.front(), {}, by_ranks, by_ranks);
    };
    if (std::ranges::all_of(sorted, as_first)) {
        phase.edges = sorted.front();
        phase.strands = static_cast<std::uint32_t>(count);
        return {name, static_cast<std::int32_t>(ranks), {std::move(phase)}};
    }
    for (const std::vector<Edge>& ring : rings) {
        const std::size_t first = phase.edges.size();
        phase.edges.insert(phase.edges.end(), ring.begin(), ring.end());
        for (std::size_t i = 0; i < ranks; ++i) {
            phase.before.push_back(static_cast<std::uint32_t>(first + (i + ranks - 1) % ranks));
        }
    }
    return {name, static_cast<std::int32_t>(ranks), {std::move(phase)}};
}

constexpr std::int32_t pipeline_ranks_max = 1024;  // of a collective that is played exactly
constexpr std::int32_t graph_ranks_max = 4096;     // whose parts are followed one by one
// In the air at once: ten seconds and more, and minutes where many messages meet on a link.
constexpr std::int64_t exact_transfers_max = 1 << 23;
constexpr std::int64_t far_transfers_max = 1 << 26;  // where fluid is far off; some gigabytes

// On an idle network fluid is within 0.1 % of exact (sim/network/README.md).
bool is_near_fluid(policies::Collective algorithm, std::int32_t ranks) {
    using policies::Collective;
    if (algorithm == Collective::halving_doubling) {
        return std::has_single_bit(static_cast<std::uint32_t>(ranks));
    }
    return algorithm == Collective::ring || algorithm == Collective::star ||
           algorithm == Collective::clique;
}

}  // namespace

PlacedCollective::PlacedCollective(ClusterNetwork& network, policies::Collective algorithm,
                                   std::span<const DeviceId> workers, std::int32_t per_host,
                                   std::string_view where, std::int64_t at_once,
                                   const HostTransport* hosts) {
    const auto ranks = static_cast<std::int32_t>(workers.size());
    INVARIANT(ranks >= 2);
    const std::string refusal = refusal_of(algorithm, ranks, per_host);
    if (!refusal.empty()) throw InputError(where, "", refusal);
    const bool jitters = hosts != nullptr && hosts->jitter > Duration{};
    if (algorithm == policies::Collective::double_binary_tree) {
        const Router router =
            hosts != nullptr ? network.router(workers, *hosts) : network.router(workers);
        if (jitters) {
            throw InputError(where, "",
                             "\"jitter\" is not for double_binary_tree: expected another "
                             "\"collective\"");
        }
        pipeline_ = std::make_shared<TreePipeline>(network.runs(), network.flows(), ranks, router,
                                                   network.rule().window_chunks);
        name_ = policies::collective_names()[static_cast<std::size_t>(algorithm)];
        note_links(links_, pipeline_->edges(), router);
        return;
    }
    std::optional<PhasedCollective> rings;
    if (algorithm == policies::Collective::ring && hosts == nullptr) {
        rings = nvlink_rings(network.topology(), workers, per_host);
    }
    const PhasedCollective phases =
        rings ? *std::move(rings) : phased_all_reduce(algorithm, ranks, per_host);
    const Router router =
        hosts != nullptr ? network.router(workers, *hosts, phases)
                         : network.router(workers, rings ? SentBy::nvlink_rings : SentBy::anyone);
    place(network, phases, router, {at_once, jitters, is_near_fluid(algorithm, ranks)}, [&] {
        const std::int32_t window = network.rule().window_chunks;
        // Who holds which part is more than one can follow among so many; rounds are not.
        if (ranks > graph_ranks_max) return graph_of(phases, window);
        return all_reduce_graph(algorithm, ranks, per_host, window);
    });
    if (jitters) draw_jitter(network, workers, *hosts, where);
}

PlacedCollective::PlacedCollective(ClusterNetwork& network, NcclCollective collective,
                                   std::span<const DeviceId> workers, std::string_view where,
                                   bool ring_only)
    : name_("nccl"),
      nccl_(std::make_shared<const NcclRun>(network, collective, workers, where, ring_only)) {
    links_.assign(nccl_->links().begin(), nccl_->links().end());
}

PlacedCollective::PlacedCollective(NcclPlace place)
    : name_("nccl"), alone_(std::make_shared<const NcclPlace>(std::move(place))) {}

PlacedCollective::PlacedCollective(ClusterNetwork& network, std::span<const kernels::GridAxis> axes,
                                   std::span<const DeviceId> workers, std::int64_t at_once) {
    const PhasedCollective phases = phased_grid(axes);
    INVARIANT(static_cast<std::size_t>(phases.ranks) == workers.size());
    place(network, phases, network.router(workers), {at_once, false, false}, [&] {
        const std::int32_t window = network.rule().window_chunks;
        return std::make_shared<const TransferGraph>(kernels::grid_schedule(axes),
                                                     TransferGraph::Order::data, window);
    });
}

PlacedCollective::PlacedCollective(ClusterNetwork& network, const PhasedCollective& phases,
                                   std::span<const DeviceId> workers, std::int64_t at_once,
                                   const HostTransport* hosts, std::string_view job,
                                   const PhasedCollective& sums) {
    INVARIANT(static_cast<std::size_t>(phases.ranks) == workers.size());
    const bool jitters = hosts != nullptr && hosts->jitter > Duration{};
    const Router router =
        hosts != nullptr ? network.router(workers, *hosts, sums) : network.router(workers);
    place(network, phases, router, {at_once, jitters, true},
          [&] { return graph_of(phases, network.rule().window_chunks); });
    if (jitters) draw_jitter(network, workers, *hosts, job);
}

PlacedCollective::PlacedCollective(ClusterNetwork& network, const PhasedCollective& phases,
                                   std::span<const DeviceId> workers, SentBy sent_by,
                                   std::int64_t at_once)
    : starts_(start_of(sent_by)) {
    INVARIANT(static_cast<std::size_t>(phases.ranks) == workers.size());
    place(network, phases, network.router(workers, sent_by), {at_once, false, true},
          [&] { return graph_of(phases, network.rule().window_chunks); });
}

// Transfers between machines alone are late by chance.
void PlacedCollective::draw_jitter(ClusterNetwork& network, std::span<const DeviceId> workers,
                                   const HostTransport& hosts, std::string_view job) {
    const auto machine_of = [&](std::int32_t rank) {
        return network.topology().device(workers[static_cast<std::size_t>(rank)]).machine;
    };
    for (const TransferGraph::Edge& edge : graph_->graph->edges()) {
        const bool within = machine_of(edge.from) == machine_of(edge.to);
        graph_->jitter_s.push_back(within ? 0 : to_seconds(hosts.jitter));
    }
    graph_->draws = network.draws_of(job);
}

PlacedTransfer PlacedTransfer::between(ClusterNetwork& network, std::span<const DeviceId> from,
                                       std::span<const DeviceId> to, SentBy sent_by) {
    INVARIANT(from.size() == to.size());
    const auto count = static_cast<std::int32_t>(from.size());
    CollectivePhase phase;
    for (std::int32_t i = 0; i < count; ++i) phase.edges.push_back({i, count + i});
    const PhasedCollective phases{"transfer", 2 * count, {phase}};
    std::vector<DeviceId> ends(from.begin(), from.end());
    ends.insert(ends.end(), to.begin(), to.end());
    const Router router = network.router(ends, sent_by);
    PlacedTransfer placed{PlacedCollective(), {}};
    placed.sends.name_ = phases.name;
    placed.sends.starts_ = start_of(sent_by);
    note_links(placed.sends.links_, phase.edges, router);
    const auto graph = graph_of(phases, network.rule().window_chunks);
    std::vector<RouteId> routes;
    for (const TransferGraph::Edge& edge : graph->edges()) {
        const std::span<const Hop> hops = router(edge.from, edge.to);
        Duration way;
        for (const Hop& hop : hops) way += network.flows().latency(hop.link);
        routes.push_back(network.flows().add_route(hops, Duration{}));
        placed.latency = std::max(placed.latency, way);
    }
    placed.sends.graph_ = network.runs().place(graph, routes);
    return placed;
}

void PlacedCollective::place(ClusterNetwork& network, const PhasedCollective& phases,
                             const Router& router, const Played& played, const GraphMaker& graph) {
    name_ = phases.name;
    for (const CollectivePhase& phase : phases.phases) note_links(links_, phase.edges, router);
    const NetworkRule& rule = network.rule();
    if (played.by_transfer && transfer_count(phases) > exact_transfers_max) {
        throw InputError("transport", "",
                         fmt::format("\"jitter\" is drawn for each transfer: expected at most {} "
                                     "in a message, found {}",
                                     exact_transfers_max, transfer_count(phases)));
    }
    const std::int64_t most = played.near_fluid ? exact_transfers_max : far_transfers_max;
    const bool exact =
        played.by_transfer || rule.fidelity == NetworkFidelity::exact ||
        (rule.fidelity == NetworkFidelity::automatic &&
         (rule.window_chunks > 0 || transfer_count(phases) * played.at_once <= most));
    const bool one_phase = phases.phases.size() == 1 && phases.phases.front().rounds > 1;
    if ((one_phase && !played.by_transfer) || !exact)
        plan_ = network.runs().plan_of(phases, router);
    if (plan_ != nullptr && plan_->is_one_ring() && rule.fidelity != NetworkFidelity::fluid) {
        play_ = exact ? RingPlay::exact : RingPlay::exact_if_alone;
        window_ = rule.window_chunks;
    } else if (exact) {
        plan_ = nullptr;
        const auto transfers = graph();
        graph_ = network.runs().place(transfers, network.runs().routes_of(*transfers, router));
    }
}

std::optional<Duration> PlacedCollective::takes(Bytes bytes) const {
    if (alone_ == nullptr) return std::nullopt;
    return seconds(nccl_seconds(*alone_, nccl_choice(*alone_, bytes), bytes));
}

RunId PlacedCollective::start(ClusterNetwork& network, Bytes bytes, Instant at) const {
    if (nccl_ != nullptr) return nccl_->start(network, bytes, at);
    at = at + starts_;
    CollectiveRuns& runs = network.runs();
    if (plan_ != nullptr) return runs.start(plan_, bytes, at, play_, window_);
    if (graph_ != nullptr) return runs.start(graph_, bytes, at);
    return pipeline_->start(runs, bytes, at);
}

bool goes_by_machine(policies::Collective algorithm) {
    return algorithm == policies::Collective::hierarchical ||
           algorithm == policies::Collective::binary_tree_star ||
           algorithm == policies::Collective::multi_binary_tree_star;
}

std::string refusal_of(policies::Collective algorithm, std::int32_t ranks, std::int32_t per_host) {
    std::string refusal = kernels::schedule_refusal(algorithm, ranks, per_host);
    if (refusal.empty() && per_host == 0 && goes_by_machine(algorithm)) {
        refusal = fmt::format("{} needs as many workers on each machine",
                              policies::collective_names()[static_cast<std::size_t>(algorithm)]);
    }
    if (algorithm == policies::Collective::double_binary_tree && ranks > pipeline_ranks_max) {
        refusal = fmt::format(
            "double_binary_tree is played transfer by transfer, over at most {} workers, found {}",
            pipeline_ranks_max, ranks);
    }
    return refusal;
}

std::optional<PhasedCollective> nvlink_rings(const Topology& topology,
                                             std::span<const DeviceId> workers,
                                             std::int32_t per_host) {
    const auto each = static_cast<std::size_t>(per_host);
    if (each < 2 || workers.size() % each != 0) return std::nullopt;
    // The same GPUs of the same kind of machine everywhere, so one search serves all.
    const auto kind_of = [&](std::size_t rank) {
        const Device& device = topology.device(workers[rank]);
        return std::pair(topology.machine(device.machine).preset, device.index);
    };
    for (std::size_t rank = each; rank < workers.size(); ++rank) {
        if (kind_of(rank) != kind_of(rank % each) || kind_of(rank).first.empty()) {
            return std::nullopt;
        }
    }
    const RingPlan plan = find_rings(topology, workers.first(each));
    if (plan.kind != RingKind::nvlink) return std::nullopt;
    return all_rings(topology, plan, workers, each);
}

std::int32_t workers_per_machine(const Topology& topology, std::span<const DeviceId> workers) {
    std::size_t count = 0;
    while (count < workers.size() &&
           topology.device(workers[count]).machine == topology.device(workers[0]).machine) {
        ++count;
    }
    if (count == 0 || workers.size() % count != 0) return 0;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        const MachineId machine = topology.device(workers[i]).machine;
        if (machine != topology.device(workers[i - i % count]).machine) return 0;
        if (i >= count && i % count == 0 && machine == topology.device(workers[i - 1]).machine) {
            return 0;
        }
    }
    return static_cast<std::int32_t>(count);
}

}  // namespace ukemi::sim
