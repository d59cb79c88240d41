// variable_update.cpp — which server holds what, and the ways there and back.
#include "sim/step/variable_update.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

// The ranks that talk to servers, and those that each of them stands for besides itself.
struct Spokesmen {
    std::vector<std::int32_t> ranks;
    std::vector<TransferGraph::Edge> hand_in;  // ascending
};

Spokesmen spokesmen_of(const Topology& topology, const StepJob& job) {
    Spokesmen all;
    for (std::size_t i = 0; i < job.workers.size(); ++i) {
        const MachineId machine = topology.device(job.workers[i]).machine;
        const auto rank = static_cast<std::int32_t>(i);
        const bool same = i > 0 && topology.device(job.workers[i - 1]).machine == machine;
        if (job.sums_by_machine && same) {
            all.hand_in.push_back({rank, all.ranks.back()});
        } else {
            all.ranks.push_back(rank);
        }
    }
    return all;
}

CollectivePhase reversed(CollectivePhase phase) {
    for (TransferGraph::Edge& edge : phase.edges) std::swap(edge.from, edge.to);
    std::ranges::sort(phase.edges, {}, [](const TransferGraph::Edge& edge) {
        return std::pair(edge.from, edge.to);
    });
    return phase;
}

}  // namespace

std::vector<Bytes> place_on_servers(std::span<GradientBucket> buckets, std::size_t servers) {
    INVARIANT(servers >= 1);
    std::vector<Bytes> load(servers);
    for (std::size_t i = buckets.size(); i-- > 0;) {  // buckets are in backward order
        const auto least = std::ranges::min_element(load);
        *least += buckets[i].bytes;
        buckets[i].legs = {{static_cast<std::uint32_t>(least - load.begin()), buckets[i].bytes}};
    }
    return load;
}

std::vector<GradientLane> server_lanes(ClusterNetwork& network, const StepJob& job) {
    INVARIANT(!job.servers.empty());
    const Spokesmen spokesmen = spokesmen_of(network.topology(), job);
    std::vector<DeviceId> ends = job.workers;
    ends.insert(ends.end(), job.servers.begin(), job.servers.end());
    const auto ranks = static_cast<std::int32_t>(ends.size());
    const std::string name = fmt::format("{} parameter server{}", job.servers.size(),
                                         job.servers.size() == 1 ? "" : "s");
    std::vector<GradientLane> lanes;
    for (std::size_t server = 0; server < job.servers.size(); ++server) {
        const auto at = static_cast<std::int32_t>(job.workers.size() + server);
        CollectivePhase push;
        for (const std::int32_t rank : spokesmen.ranks) push.edges.push_back({rank, at});
        PhasedCollective way{name, ranks, {}};
        const CollectivePhase hand_in{spokesmen.hand_in};
        if (!hand_in.edges.empty()) way.phases.push_back(hand_in);
        way.phases.push_back(push);
        way.phases.push_back(reversed(push));
        PhasedCollective within{name, ranks, {}};  // one worker adds up what its machine hands in
        if (!hand_in.edges.empty()) {
            way.phases.push_back(reversed(hand_in));
            within.phases = {hand_in, reversed(hand_in)};
        }
        lanes.emplace_back().emplace_back(network, way, ends, 1, job.hosts ? &*job.hosts : nullptr,
                                          job.name, within);
    }
    return lanes;
}

}  // namespace ukemi::sim
