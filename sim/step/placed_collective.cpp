// placed_collective.cpp — routes between ranks, and the two fidelities behind one start().
#include "sim/step/placed_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/rings.hpp"

namespace ukemi::sim {

ClusterNetwork::ClusterNetwork(const Topology& topology)
    : topology_(topology), runs_(flows_), routes_(topology) {
    for (const LinkRate& rate : topology.link_rates()) flows_.add_link(rate);
}

Router ClusterNetwork::router(std::span<const DeviceId> workers) {
    return [this, workers](std::int32_t from, std::int32_t to) {
        return routes_.route(workers[static_cast<std::size_t>(from)],
                             workers[static_cast<std::size_t>(to)]);
    };
}

namespace {

void note_links(std::vector<LinkId>& links, std::span<const TransferGraph::Edge> edges,
                const Router& router) {
    for (const TransferGraph::Edge& edge : edges) {
        const auto path = router(edge.from, edge.to);
        links.insert(links.end(), path.begin(), path.end());
    }
    std::ranges::sort(links);
    links.erase(std::ranges::unique(links).begin(), links.end());
}

constexpr std::int32_t pipeline_ranks_max = 1024;  // of a collective that is played exactly

}  // namespace

PlacedCollective::PlacedCollective(ClusterNetwork& network, policies::Collective algorithm,
                                   std::span<const DeviceId> workers, std::int32_t per_host,
                                   std::string_view where) {
    const auto ranks = static_cast<std::int32_t>(workers.size());
    INVARIANT(ranks >= 2);
    const std::string refusal = kernels::schedule_refusal(algorithm, ranks, per_host);
    if (!refusal.empty()) throw InputError(where, "", refusal);
    if (per_host == 0 && goes_by_machine(algorithm)) {
        throw InputError(
            where, "",
            fmt::format("{} needs as many workers on each machine",
                        policies::collective_names()[static_cast<std::size_t>(algorithm)]));
    }
    const Router router = network.router(workers);
    if (algorithm == policies::Collective::double_binary_tree) {
        if (ranks > pipeline_ranks_max) {
            throw InputError(where, "",
                             fmt::format("double_binary_tree is played transfer by transfer, over "
                                         "at most {} workers, found {}",
                                         pipeline_ranks_max, ranks));
        }
        pipeline_ = std::make_shared<TreePipeline>(network.runs(), network.flows(), ranks, router);
        name_ = policies::collective_names()[static_cast<std::size_t>(algorithm)];
        note_links(links_, pipeline_->edges(), router);
        return;
    }
    std::optional<PhasedCollective> rings;
    if (algorithm == policies::Collective::ring) {
        rings = nvlink_rings(network.topology(), workers, per_host);
    }
    place(network, rings ? *std::move(rings) : phased_all_reduce(algorithm, ranks, per_host),
          router);
}

PlacedCollective::PlacedCollective(ClusterNetwork& network, NcclCollective collective,
                                   std::span<const DeviceId> workers, std::string_view where)
    : name_("nccl"), nccl_(std::make_shared<const NcclRun>(network, collective, workers, where)) {
    links_.assign(nccl_->links().begin(), nccl_->links().end());
}

PlacedCollective::PlacedCollective(ClusterNetwork& network, const PhasedCollective& phases,
                                   std::span<const DeviceId> workers) {
    INVARIANT(static_cast<std::size_t>(phases.ranks) == workers.size());
    place(network, phases, network.router(workers));
}

void PlacedCollective::place(ClusterNetwork& network, const PhasedCollective& phases,
                             const Router& router) {
    fluid_ = network.runs().plan_of(phases, router);
    name_ = phases.name;
    for (const CollectivePhase& phase : phases.phases) note_links(links_, phase.edges, router);
}

RunId PlacedCollective::start(ClusterNetwork& network, Bytes bytes, Instant at) const {
    if (nccl_ != nullptr) return nccl_->start(network, bytes, at);
    if (fluid_ != nullptr) return network.runs().start(fluid_, bytes, at);
    return pipeline_->start(network.runs(), bytes, at);
}

bool goes_by_machine(policies::Collective algorithm) {
    return algorithm == policies::Collective::hierarchical ||
           algorithm == policies::Collective::binary_tree_star ||
           algorithm == policies::Collective::multi_binary_tree_star;
}

std::optional<PhasedCollective> nvlink_rings(const Topology& topology,
                                             std::span<const DeviceId> workers,
                                             std::int32_t per_host) {
    const auto each = static_cast<std::size_t>(per_host);
    if (each < 2 || each > ring_gpus_max || workers.size() % each != 0) return std::nullopt;
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
    const auto ranks = static_cast<std::int32_t>(workers.size());
    const std::size_t count = plan.rings.size();
    CollectivePhase phase{{},
                          2 * (std::int64_t{ranks} - 1),
                          1.0 / (static_cast<double>(ranks) * static_cast<double>(count))};
    for (std::size_t ring = 0; ring < count; ++ring) {
        // Each ring enters a machine at another GPU, and so by another NIC where there are several.
        std::vector<std::int32_t> order;
        for (std::size_t i = 0; i < workers.size(); ++i) {
            const std::size_t place = (i + ring * each / count) % each;
            const auto first = workers.first(each);
            const auto at = std::ranges::find(first, plan.rings[ring][place]) - first.begin();
            order.push_back(static_cast<std::int32_t>(i - i % each) +
                            static_cast<std::int32_t>(at));
        }
        for (std::size_t i = 0; i < order.size(); ++i) {
            phase.edges.push_back({order[i], order[(i + 1) % order.size()]});
        }
    }
    std::ranges::sort(phase.edges, {}, [](const TransferGraph::Edge& edge) {
        return std::pair(edge.from, edge.to);
    });
    const std::string name = count == 1 ? "ring" : fmt::format("{} rings", count);
    return PhasedCollective{name, ranks, {std::move(phase)}};
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
