// cluster_network.cpp — routes between ranks; the connections and threads of hosts as links.
#include "sim/step/cluster_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"
#include "sim/cluster/nccl/nccl_place.hpp"

namespace ukemi::sim {

ClusterNetwork::ClusterNetwork(const Topology& topology, const NetworkRule& rule,
                               std::shared_ptr<Routes> routes)
    : topology_(topology), rule_(rule), runs_(flows_), routes_(std::move(routes)) {}

void ClusterNetwork::use_links() {
    if (std::exchange(has_links_, true)) return;
    for (const LinkRate& rate : topology_.link_rates()) flows_.add_link(rate);
}

std::shared_ptr<RandomStream> ClusterNetwork::draws_of(std::string_view job) {
    const auto known = draws_.find(job);
    if (known != draws_.end()) return known->second;
    const std::string name = fmt::format("step/{}/jitter", job);
    return draws_.try_emplace(std::string(job), std::make_shared<RandomStream>(seed_, name))
        .first->second;
}

namespace {

using RankPair = std::pair<std::int32_t, std::int32_t>;

// From rank to rank in an all-reduce, of its buffer: all that passes, and what is added up of it,
// which is what passes in the first half of the rounds.
struct Passed {
    double all = 0;
    double added = 0;
    double share() const { return added / all; }
};
std::map<RankPair, Passed> passed_in(const PhasedCollective& sums) {
    std::int64_t all_rounds = 0;
    for (const CollectivePhase& phase : sums.phases) all_rounds += phase.rounds;
    std::map<RankPair, Passed> passed;
    std::int64_t before = 0;
    for (const CollectivePhase& phase : sums.phases) {
        const std::int64_t adds = std::clamp<std::int64_t>(all_rounds - 2 * before, 0,
                                                           2 * phase.rounds);  // half rounds
        for (const TransferGraph::Edge& edge : phase.edges) {
            Passed& here = passed[{edge.from, edge.to}];
            here.all += phase.share * static_cast<double>(phase.rounds);
            here.added += phase.share * static_cast<double>(adds) / 2;
        }
        before += phase.rounds;
    }
    return passed;
}

}  // namespace

Router ClusterNetwork::router(std::span<const DeviceId> workers, SentBy sent_by,
                              std::uint64_t flow) {
    use_links();
    const bool is_nccl = sent_by == SentBy::nccl || sent_by == SentBy::nccl_rings;
    return [this, workers, sent_by, flow, is_nccl, hops = std::vector<Hop>(),
            reach = NcclReach(topology_)](std::int32_t from,
                                          std::int32_t to) mutable -> std::span<const Hop> {
        const auto go = [&](DeviceId first, DeviceId second) {
            for (const LinkId link : routes().route(first, second, flow)) {
                hops.push_back({link});
                if (!is_nccl) continue;
                const double share = reach.share(topology_.link(link), first, second);
                hops.back().parts = static_cast<std::uint32_t>(round_nearest(Hop::whole / share));
            }
        };
        const DeviceId first = workers[static_cast<std::size_t>(from)];
        const DeviceId last = workers[static_cast<std::size_t>(to)];
        const DeviceId relay = relay_of(first, last, sent_by);
        hops.clear();
        go(first, relay);
        go(relay, last);
        return hops;
    };
}

// Of a way between machines: by which it enters the last.
DeviceId ClusterNetwork::nic_at_end(std::span<const LinkId> route) const {
    const auto is_network = [&](LinkId id) { return topology_.link(id).kind == LinkKind::network; };
    const auto last = std::ranges::find_if(route.rbegin(), route.rend(), is_network);
    INVARIANT(last != route.rend());
    return topology_.link(*last).to;
}

DeviceId ClusterNetwork::peer_by_nvlink(DeviceId from, std::uint32_t number) {
    const auto [entry, is_new] = peers_.try_emplace({from, number}, from);
    if (!is_new) return entry->second;
    const std::vector<DeviceId> gpus =
        topology_.devices_of(DeviceKind::gpu, topology_.device(from).machine);
    if (number >= gpus.size()) return from;
    const bool by_nvlink = std::ranges::all_of(
        routes().route(from, gpus[number]),
        [&](LinkId link) { return topology_.link(link).kind == LinkKind::nvlink; });
    if (by_nvlink) entry->second = gpus[number];
    return entry->second;
}

// Its NICs are on several switches.
bool ClusterNetwork::is_on_rails(MachineId machine) {
    const auto [entry, is_new] = on_rails_.try_emplace(machine, false);
    if (!is_new) return entry->second;
    std::optional<DeviceId> first;
    for (const DeviceId nic : topology_.devices_of(DeviceKind::nic, machine)) {
        for (const LinkId id : topology_.links_from(nic)) {
            const Link& link = topology_.link(id);
            if (link.kind != LinkKind::network) continue;
            entry->second = entry->second || first.value_or(link.to) != link.to;
            first = link.to;
        }
    }
    return entry->second;
}

// PXN, of NCCL 2.12 and later: a message leaves its machine beside the GPU that has the receiver's
// number, if NVLink leads there, and so by the receiver's rail. Rings do so in place of a longer
// way, through PCIe and CPUs of either machine; where an NVSwitch gives way (single NVLinks are
// filled by the rings), also in place of one that stays on the sender's rail.
DeviceId ClusterNetwork::relay_of(DeviceId from, DeviceId to, SentBy sent_by) {
    if (sent_by == SentBy::anyone || sent_by == SentBy::nccl_rings) return from;
    const MachineId machine = topology_.device(from).machine;
    const Device& receiver = topology_.device(to);
    if (machine == receiver.machine) return from;
    if (sent_by == SentBy::nccl) return peer_by_nvlink(from, receiver.index);
    if (!is_on_rails(machine)) return from;
    const DeviceId relay = peer_by_nvlink(from, receiver.index);
    if (relay == from) return from;
    const std::span<const LinkId> direct = routes().route(from, to);
    const std::span<const LinkId> straight = routes().route(relay, to);
    const bool by_switch = routes().route(from, relay).size() > 1;
    const bool pays = straight.size() < direct.size() ||
                      (by_switch && nic_at_end(direct) != nic_at_end(straight));
    return pays ? relay : from;
}

Router ClusterNetwork::router(std::span<const DeviceId> workers, const HostTransport& hosts) {
    use_links();
    return [this, workers, &hosts](std::int32_t from, std::int32_t to) {
        return between_hosts(workers[static_cast<std::size_t>(from)],
                             workers[static_cast<std::size_t>(to)], hosts, {});
    };
}

Router ClusterNetwork::router(std::span<const DeviceId> workers, const HostTransport& hosts,
                              const PhasedCollective& sums) {
    use_links();
    const std::map<RankPair, Passed> passed = passed_in(sums);
    std::map<std::int32_t, std::int32_t> connections;  // of a rank, on which it adds
    for (const auto& [edge, here] : passed) connections[edge.second] += here.added > 0 ? 1 : 0;
    std::map<RankPair, Adding> adding;
    for (const auto& [edge, here] : passed) {
        adding[edge] = {here.share(), here.added > 0 && connections[edge.second] > 1};
    }
    return [this, workers, &hosts, adding = std::move(adding)](std::int32_t from, std::int32_t to) {
        const auto of_phases = adding.find({from, to});
        return between_hosts(workers[static_cast<std::size_t>(from)],
                             workers[static_cast<std::size_t>(to)], hosts,
                             of_phases == adding.end() ? Adding{} : of_phases->second);
    };
}

// The connection is a link that is nobody else's, in front of those from socket to socket.
std::span<const Hop> ClusterNetwork::between_hosts(DeviceId from, DeviceId to,
                                                   const HostTransport& hosts,
                                                   const Adding& adding) {
    const auto [entry, is_new] = connections_.try_emplace({from, to, hosts, adding});
    std::vector<Hop>& hops = entry->second;
    if (!is_new) return hops;
    const DeviceId first = socket_of(topology_, routes(), from);
    const DeviceId second = socket_of(topology_, routes(), to);
    const bool within = topology_.device(from).machine == topology_.device(to).machine;
    const auto path = first == second ? std::span<const LinkId>() : routes().route(first, second);
    Duration once;
    for (const LinkId link : path) once += topology_.link(link).latency;
    const Duration waits = within ? Duration{} : 2 * std::int64_t{hosts.round_trips} * once;
    hops.push_back(
        {flows_.add_link({BytesPerSecond::of(hosts.rate(within, adding.share)), waits})});
    for (const LinkId link : path) hops.push_back({link});
    if (adding.one_thread) {
        const auto [adder, is_first] = adders_.try_emplace({to, hosts});
        if (is_first) adder->second = flows_.add_link({BytesPerSecond::of(hosts.sum), {}});
        const auto parts = static_cast<std::uint32_t>(round_nearest(adding.share * Hop::whole));
        hops.push_back({adder->second, std::max<std::uint32_t>(parts, 1)});
    }
    return hops;
}

}  // namespace ukemi::sim
