// gradient_lanes.cpp — all-reduces, rings that gather, and exchanges of all with all.
#include "sim/step/gradient_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/schedule.hpp"
#include "sim/step/codec_plan.hpp"

namespace ukemi::sim {
namespace {

// Every rank passes on what it has just received; bytes are those of one rank's part.
PhasedCollective ring_of_parts(const char* name, std::int32_t ranks) {
    CollectivePhase phase{{}, ranks - 1, 1};
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        phase.edges.push_back({rank, (rank + 1) % ranks});
    }
    return {name, ranks, {std::move(phase)}};
}

constexpr std::int32_t at_once_ranks_max = 512;  // of more it takes long to play

// As NCCL has it of a group of sends, every rank to all others at once; of many ranks in rounds, in
// the k-th of which every rank sends to the k-th after it. Bytes are those of one rank's whole
// buffer.
PhasedCollective all_to_all(std::int32_t ranks) {
    PhasedCollective collective{"all_to_all", ranks, {}};
    for (std::int32_t distance = 1; distance < ranks; ++distance) {
        if (distance == 1 || ranks > at_once_ranks_max) {
            collective.phases.push_back({{}, 1, 1.0 / ranks});
        }
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            collective.phases.back().edges.push_back({rank, (rank + distance) % ranks});
        }
    }
    return collective;
}

// As a Communicator broadcasts (kernels/rank_program.hpp): ranks that have it double in every
// round. Who broadcasts does not matter to links that are alike.
PhasedCollective binomial_broadcast(std::int32_t ranks) {
    PhasedCollective collective{"broadcast", ranks, {}};
    for (std::int32_t have = 1; have < ranks; have *= 2) {
        CollectivePhase phase;
        for (std::int32_t rank = 0; rank < have && rank + have < ranks; ++rank) {
            phase.edges.push_back({rank, rank + have});
        }
        collective.phases.push_back(std::move(phase));
    }
    return collective;
}

// The ranks of each ring from the first one on.
std::vector<std::vector<std::int32_t>> orders_of(const CollectivePhase& rings) {
    std::vector<std::size_t> next(rings.edges.size());  // by edge, the one after it in its ring
    for (std::size_t i = 0; i < next.size(); ++i) {
        if (rings.before.empty()) {  // one ring, whose edges stand by sender
            next[i] = static_cast<std::size_t>(rings.edges[i].to);
        } else {
            next[rings.before[i]] = i;
        }
    }
    std::vector<std::vector<std::int32_t>> orders;
    for (std::size_t i = 0; i < next.size(); ++i) {
        if (rings.edges[i].from != 0) continue;
        std::vector<std::int32_t>& order = orders.emplace_back(1, 0);
        for (std::size_t at = i; rings.edges[at].to != 0; at = next[at]) {
            order.push_back(rings.edges[at].to);
        }
    }
    return orders;
}

constexpr double chain_chunks = 64;             // of a buffer, for each rank that passes it on
constexpr std::size_t chain_phases_max = 1024;  // in which a chain fills

// A first chunk passes down one chain as far as its last edge; a rank that has passed it on sends
// the whole buffer behind it, over all chains. Of very many edges one in so many stands for all of
// them.
PhasedCollective chain_broadcast(const std::vector<std::vector<std::int32_t>>& orders) {
    const std::size_t ranks = orders.front().size();
    const double share = 1.0 / static_cast<double>(orders.size());  // of each chain
    PhasedCollective collective{"broadcast", static_cast<std::int32_t>(ranks), {}};
    const std::size_t hops = ranks - 2;
    const std::size_t together = (hops + chain_phases_max - 1) / chain_phases_max;
    for (std::size_t end = 0; end < hops;) {
        const std::size_t count = std::min(together, hops - end);
        end += count;
        const TransferGraph::Edge edge{orders.front()[end - 1], orders.front()[end]};
        collective.phases.push_back({{edge},
                                     static_cast<std::int64_t>(count),
                                     share / (chain_chunks * static_cast<double>(hops))});
    }
    CollectivePhase rest{{}, 1, share};
    for (const std::vector<std::int32_t>& order : orders) {
        for (std::size_t i = 0; i + 1 < ranks; ++i) rest.edges.push_back({order[i], order[i + 1]});
    }
    std::ranges::sort(rest.edges, {}, [](const TransferGraph::Edge& edge) {
        return std::pair(edge.from, edge.to);
    });
    collective.phases.push_back(std::move(rest));
    return collective;
}

PlacedCollective placed_broadcast(ClusterNetwork& network, const StepJob& job,
                                  std::span<const DeviceId> workers) {
    if (job.nccl) return {network, NcclCollective::all_gather, workers, job.name, true};
    const auto rings =
        nvlink_rings(network.topology(), workers, workers_per_machine(network.topology(), workers));
    if (rings) {
        return {network, chain_broadcast(orders_of(rings->phases.front())), workers,
                SentBy::nvlink_rings};
    }
    std::vector<std::int32_t> order(workers.size());
    std::iota(order.begin(), order.end(), 0);
    return {network, chain_broadcast({order}), workers};
}

std::uint32_t highest_lane(const StepJob& job) {
    std::uint32_t highest = all_reduce_lane;
    const auto look = [&](const std::vector<GradientBucket>& buckets) {
        for (const GradientBucket& bucket : buckets) {
            for (const BucketLeg& leg : bucket.legs) highest = std::max(highest, leg.lane);
        }
    };
    look(job.buckets);
    if (job.layout) {
        for (const StageWork& stage : job.layout->stages) {
            look(stage.buckets);
            look(stage.expert_buckets);
        }
    }
    return highest;
}

// Of a group of workers, at most.
std::int64_t messages_at_once(const StepJob& job) {
    if (job.launch.kind != LaunchKind::by_name) return 1;
    std::size_t most = job.buckets.size();
    if (job.layout) {
        for (const StageWork& stage : job.layout->stages) {
            most = std::max({most, stage.buckets.size(), stage.expert_buckets.size()});
        }
    }
    return static_cast<std::int64_t>(most);
}

// Of more ranks it takes seconds to find every link that they cross.
constexpr std::size_t linked_ranks_max = 4096;

NcclPlace place_alone(ClusterNetwork& network, const StepJob& job,
                      std::span<const DeviceId> group) {
    const bool is_known =
        job.nccl_place != nullptr && std::ranges::equal(job.nccl_place->workers, group);
    NcclPlace place = is_known ? job.nccl_place->place
                               : nccl_place(network.topology(), network.routes(), group, job.name);
    place.ring_only = job.nccl_ring_only;
    return place;
}

}  // namespace

policies::Collective all_reduce_of(const StepJob& job, std::int32_t ranks, std::int32_t per_host) {
    const bool of_experts = job.layout && ranks != job.layout->adders();
    const bool fits = !of_experts || refusal_of(job.collective, ranks, per_host).empty();
    return fits ? job.collective : policies::Collective::ring;
}

PlacedCollective placed_all_reduce(ClusterNetwork& network, const StepJob& job,
                                   std::span<const DeviceId> group, std::int32_t per_host,
                                   std::int64_t at_once) {
    if (job.nccl) {
        const bool alone = network.serves_one_job() && !job.layout && at_once == 1 &&
                           highest_lane(job) == all_reduce_lane && group.size() > linked_ranks_max;
        if (alone) return PlacedCollective(place_alone(network, job, group));
        return {network, NcclCollective::all_reduce, group, job.name, job.nccl_ring_only};
    }
    return {network,
            all_reduce_of(job, static_cast<std::int32_t>(group.size()), per_host),
            group,
            per_host,
            job.name,
            at_once,
            job.hosts ? &*job.hosts : nullptr};
}

std::vector<GradientLane> gradient_lanes(ClusterNetwork& network, const StepJob& job,
                                         std::span<const std::vector<DeviceId>> groups) {
    std::vector<GradientLane> lanes(std::size_t{1} + highest_lane(job));
    const std::int64_t at_once = messages_at_once(job) * static_cast<std::int64_t>(groups.size());
    for (const std::vector<DeviceId>& group : groups) {
        const std::int32_t per_host =
            job.layout ? workers_per_machine(network.topology(), group) : job.per_host;
        const auto ranks = static_cast<std::int32_t>(group.size());
        if (!job.axes.empty() && kernels::ranks_of(job.axes) == ranks) {
            lanes[all_reduce_lane].emplace_back(network, job.axes, group, at_once);
        } else {
            lanes[all_reduce_lane].push_back(
                placed_all_reduce(network, job, group, per_host, at_once));
        }
        if (lanes.size() > gather_lane) {
            lanes[gather_lane].push_back(
                placed_parts(network, ExchangeKind::all_gather, job, group, at_once));
        }
        if (lanes.size() > broadcast_lane) {
            lanes[broadcast_lane].emplace_back(network, binomial_broadcast(ranks), group, at_once);
        }
        if (lanes.size() > scatter_lane) {
            lanes[scatter_lane].push_back(
                placed_parts(network, ExchangeKind::reduce_scatter, job, group, at_once));
        }
    }
    return lanes;
}

PlacedCollective placed_parts(ClusterNetwork& network, ExchangeKind kind, const StepJob& job,
                              std::span<const DeviceId> group, std::int64_t at_once) {
    const bool gathers = kind == ExchangeKind::all_gather;
    INVARIANT(gathers || kind == ExchangeKind::reduce_scatter);
    if (job.nccl) {
        return {network, gathers ? NcclCollective::all_gather : NcclCollective::reduce_scatter,
                group, job.name, job.nccl_ring_only};
    }
    const char* name = gathers ? "all_gather" : "reduce_scatter";
    const auto ranks = static_cast<std::int32_t>(group.size());
    auto rings =
        nvlink_rings(network.topology(), group, workers_per_machine(network.topology(), group));
    if (!rings) return {network, ring_of_parts(name, ranks), group, at_once};
    // Half of an all-reduce, whose buffer is all parts.
    CollectivePhase& phase = rings->phases.front();
    phase.rounds /= 2;
    phase.share *= ranks;
    rings->name = fmt::format("{} in {}", name, rings->name);
    return {network, *rings, group, SentBy::nvlink_rings, at_once};
}

PlacedCollective placed_exchange(ClusterNetwork& network, ExchangeKind kind, const StepJob& job,
                                 std::span<const DeviceId> workers) {
    const auto ranks = static_cast<std::int32_t>(workers.size());
    switch (kind) {
        case ExchangeKind::all_reduce: {
            const std::int32_t each = workers_per_machine(network.topology(), workers);
            if (job.nccl) return placed_all_reduce(network, job, workers, each);
            return {network, job.layout->exchange_collective, workers, each, job.name};
        }
        case ExchangeKind::all_gather:
            return {network, ring_of_parts("all_gather", ranks), workers};
        case ExchangeKind::reduce_scatter:
            return {network, ring_of_parts("reduce_scatter", ranks), workers};
        case ExchangeKind::broadcast: return placed_broadcast(network, job, workers);
        case ExchangeKind::all_to_all:
        case ExchangeKind::token_all_to_all:
        case ExchangeKind::context_all_to_all:
            return {network, all_to_all(ranks), workers, sent_by(job)};
        case ExchangeKind::context_ring:
            return {network, ring_of_parts("context_ring", ranks), workers, sent_by(job)};
        case ExchangeKind::context_gather:
            return placed_parts(network, ExchangeKind::all_gather, job, workers);
        case ExchangeKind::context_scatter:
            return placed_parts(network, ExchangeKind::reduce_scatter, job, workers);
        case ExchangeKind::tensor_all_reduce:
        case ExchangeKind::tensor_gather:
        case ExchangeKind::tensor_scatter: break;
    }
    INVARIANT(false);
}

Bytes exchange_bytes(ExchangeKind kind, const PlacedCollective& placed, std::size_t ranks,
                     Bytes bytes) {
    if (kind != ExchangeKind::broadcast || !placed.is_nccl()) return bytes;
    const auto edges = static_cast<std::int64_t>(ranks) - 1;
    return Bytes::of((bytes.raw() + edges - 1) / edges);
}

}  // namespace ukemi::sim
