// nccl_place.cpp — reads off a topology what NCCL's prices depend on.
#include "sim/cluster/nccl/nccl_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/rings.hpp"

namespace ukemi::sim {
namespace {

// What NCCL's own constants have for a hop between machines: 2 × 0.6 us inside, 1.5 us between.
constexpr double known_hop_us = 2.7;

struct Known {
    std::string_view prefix;
    NcclGeneration generation{};
};
constexpr Known generations[] = {
    // the first that fits; a10 is of a100, l4 of l40s, too
    {"k80", NcclGeneration::pascal},     {"titan_x", NcclGeneration::pascal},
    {"p100", NcclGeneration::pascal},    {"v100", NcclGeneration::volta},
    {"t4", NcclGeneration::volta},       {"rtx6000_ada", NcclGeneration::ampere},
    {"rtx6000", NcclGeneration::volta},  {"rtx8000", NcclGeneration::volta},
    {"a10", NcclGeneration::ampere},     {"a40", NcclGeneration::ampere},
    {"rtx3090", NcclGeneration::ampere}, {"rtx_a6000", NcclGeneration::ampere},
    {"rtx4090", NcclGeneration::ampere}, {"l4", NcclGeneration::ampere},
    {"h100", NcclGeneration::hopper},    {"h200", NcclGeneration::hopper},
    {"b200", NcclGeneration::blackwell}, {"gb200", NcclGeneration::blackwell},
};

const Known* generation_of_gpu(std::string_view gpu) {
    const auto found = std::ranges::find_if(
        generations, [&](const Known& known) { return gpu.starts_with(known.prefix); });
    return found == std::end(generations) ? nullptr : &*found;
}

using MachineRanks = std::vector<std::span<const DeviceId>>;  // by machine

MachineRanks groups_of(const Topology& topology, std::span<const DeviceId> workers) {
    const auto machine_of = [&](DeviceId worker) { return topology.device(worker).machine; };
    MachineRanks groups;
    for (std::size_t begin = 0, end = 0; begin < workers.size(); begin = end) {
        while (end < workers.size() && machine_of(workers[end]) == machine_of(workers[begin])) {
            ++end;
        }
        groups.push_back(workers.subspan(begin, end - begin));
    }
    return groups;
}

std::string refusal_of(const Topology& topology, const MachineRanks& groups) {
    const auto machine_of = [&](std::span<const DeviceId> group) -> const Machine& {
        return topology.machine(topology.device(group.front()).machine);
    };
    if (groups.empty() || (groups.size() == 1 && groups.front().size() == 1)) {
        return "nccl needs two workers";
    }
    const Machine& first = machine_of(groups.front());
    for (const auto& group : groups) {
        const Machine& other = machine_of(group);
        if (other.gpu == first.gpu && other.preset == first.preset) continue;
        return fmt::format("nccl needs machines of one kind, found {} and {}", first.preset,
                           other.preset);
    }
    if (first.gpu.empty()) return "nccl needs GPUs whose kind is known";
    if (generation_of_gpu(first.gpu) == nullptr) {
        return fmt::format("nccl does not run on {}", first.gpu);
    }
    const MachineId id = topology.device(groups.front().front()).machine;
    if (groups.size() > 1 && topology.devices_of(DeviceKind::nic, id).empty()) {
        return "nccl needs NICs between machines";
    }
    return {};
}

double line_rate(const Topology& topology, LinkKind kind, double reached) {
    return reached / topology.share(kind).value_or(1);
}

void place_inside(NcclPlace& place, const Topology& topology, std::span<const DeviceId> first,
                  const Machine& machine) {
    if (first.size() < 2) return;
    const RingPlan rings = find_rings(topology, first);
    place.nvlink = rings.kind != RingKind::routed;
    const LinkKind kind = place.nvlink ? LinkKind::nvlink : LinkKind::pcie;
    place.inside = BytesPerSecond::of(line_rate(topology, kind, rings.bandwidth.raw()));
    const bool switched =
        !topology.devices_of(DeviceKind::nvswitch, topology.device(first.front()).machine).empty();
    place.switched = switched;
    const RingEfficiency& reach = ring_efficiency(place.nvlink ? machine.gpu : "", switched);
    place.inside_share = topology.share(kind).value_or(reach.wire) *
                         (rings.kind == RingKind::relayed ? reach.relay : 1);
    place.copy_s_per_byte = reach.copy_s_per_byte;
    place.channels = static_cast<std::int32_t>(rings.rings.size());
    place.nvls = switched && place.generation >= NcclGeneration::hopper && first.size() > 2;
    place.ll128 = place.nvlink && place.generation >= NcclGeneration::volta;
    place.reach = fmt::format("{} at {:.3g} of the line rate ({})", reach.links, place.inside_share,
                              topology.share(kind) ? "efficiency" : reach.source);
}

// Whether PCIe switches alone lie between a GPU and a NIC (NCCL's PIX and PXB): else no LL128
// between machines.
bool shares_a_switch(const Topology& topology, DeviceId gpu) {
    std::set<DeviceId> seen{gpu};
    for (std::vector<DeviceId> next{gpu}; !next.empty();) {
        const DeviceId device = next.back();
        next.pop_back();
        for (const LinkId id : topology.links_from(device)) {
            const DeviceId neighbour = topology.link(id).to;
            const DeviceKind kind = topology.device(neighbour).kind;
            if (kind == DeviceKind::nic && device != gpu) return true;
            if (kind != DeviceKind::pcie_switch) continue;
            if (seen.insert(neighbour).second) next.push_back(neighbour);
        }
    }
    return false;
}

// A NIC next to a group's GPUs, the nearest of these (of equals the first), and the GPU of that
// one's number on the next machine, to which it leads on rails, too.
struct Exit {
    DeviceId nic{};
    DeviceId from{};
    DeviceId to{};
};
std::vector<Exit> exits_of(const Topology& topology, Routes& routes,
                           std::span<const DeviceId> group, std::span<const DeviceId> next) {
    const std::vector<DeviceId> there =
        topology.devices_of(DeviceKind::gpu, topology.device(next.front()).machine);
    std::vector<Exit> exits;
    for (const DeviceId gpu : group) {
        const std::size_t number = topology.device(gpu).index;
        const DeviceId far = number < there.size() ? there[number] : next.front();
        const auto nic = nic_towards(topology, routes, gpu, far);
        if (!nic) continue;
        const auto links = [&](DeviceId from) { return routes.route(from, *nic).size(); };
        const auto known = std::ranges::find(exits, *nic, &Exit::nic);
        if (known == exits.end()) {
            exits.push_back({*nic, gpu, far});
        } else if (links(gpu) < links(known->from)) {
            *known = {*nic, gpu, far};
        }
    }
    return exits;
}

// What links between the network's switches let through of one machine's edges to the next one,
// together: one from each NIC next to the first `each` ranks, as many on all machines.
double rate_of_switches(const Topology& topology, Routes& routes, const MachineRanks& groups,
                        std::size_t each) {
    const auto joins_switches = [&](const Link& link) {
        const auto is_nic = [&](DeviceId id) {
            return topology.device(id).kind == DeviceKind::nic;
        };
        return link.kind == LinkKind::network && !is_nic(link.from) && !is_nic(link.to);
    };
    double least = BytesPerSecond::max().raw();
    if (std::ranges::none_of(topology.links(), joins_switches)) return least;
    std::vector<std::int64_t> crossed(topology.links().size());
    std::vector<std::vector<Exit>> exits;
    std::size_t edges = each;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto next = groups[(g + 1) % groups.size()];
        exits.push_back(exits_of(topology, routes, groups[g].first(each), next));
        edges = std::min(edges, exits.back().size());
    }
    for (const std::vector<Exit>& of_group : exits) {
        for (const Exit& exit : std::span(of_group).first(edges)) {
            for (const LinkId link : routes.route(exit.from, exit.to)) {
                ++crossed[index_of_link(link)];
            }
        }
    }
    for (std::size_t i = 0; i < crossed.size(); ++i) {
        const Link& link = topology.links()[i];
        if (crossed[i] == 0 || !joins_switches(link)) continue;
        least = std::min(least, static_cast<double>(edges) * link.bandwidth.raw() /
                                    static_cast<double>(crossed[i]));
    }
    return least;
}

// What PCIe and sockets let through from a GPU to the NIC by which it reaches another machine;
// exits share a way between sockets.
double least_inside(const Topology& topology, Routes& routes, std::span<const Exit> exits) {
    double least = BytesPerSecond::max().raw();
    const double share = topology.share(LinkKind::pcie) ? 1 : ring_efficiency("", false).wire;
    std::map<LinkId, std::int32_t> between_sockets;
    for (const Exit& exit : exits) {
        for (const LinkId id : routes.route(exit.from, exit.to)) {
            const Link& link = topology.link(id);
            if (link.kind == LinkKind::network) break;
            if (link.kind == LinkKind::pcie) least = std::min(least, share * link.bandwidth.raw());
            if (link.kind == LinkKind::socket) ++between_sockets[id];
        }
    }
    for (const auto& [id, crossing] : between_sockets) {
        least = std::min(least, topology.link(id).bandwidth.raw() / crossing);
    }
    return least;
}

// The parent of a machine in NCCL's first tree (the other is its mirror, or with an odd number the
// same one machine on; half of a buffer goes by each): without its lowest bit, with the next higher
// one if there is such a machine.
std::size_t tree_parent(std::size_t machine, std::size_t machines) {
    const std::size_t low = machine & (~machine + 1);
    const std::size_t up = (machine ^ low) | (low << 1);
    return up < machines ? up : machine ^ low;
}

// From the farthest machine to the first one.
template <typename FarUs>
double depth_us(std::size_t machines, const FarUs& far_us) {
    double deepest = 0;
    std::vector<double> to_root(machines, -1);
    to_root[0] = 0;
    std::vector<std::size_t> way;
    for (std::size_t leaf = 1; leaf < machines; ++leaf) {
        std::size_t at = leaf;
        for (; to_root[at] < 0; at = tree_parent(at, machines)) way.push_back(at);
        for (; !way.empty(); way.pop_back()) {
            to_root[way.back()] = to_root[at] + far_us(way.back(), at);
            at = way.back();
        }
        deepest = std::max(deepest, to_root[leaf]);
    }
    return deepest;
}

// `far_us` of a hop from the first of a group to the first of another one.
template <typename FarUs>
NcclDistance distance_of(const NcclPlace& place, std::size_t machines, const FarUs& far_us) {
    NcclDistance distance;
    double least = std::numeric_limits<double>::max();  // hop
    double least_two = least;                           // one after the other
    double before = far_us(machines - 1, 0);
    for (std::size_t g = 0; g < machines; ++g) {
        const double far = far_us(g, (g + 1) % machines);
        distance.round_us += far;
        distance.hop_us = std::max(distance.hop_us, far);
        least = std::min(least, far);
        least_two = std::min(least_two, before + far);
        before = far;
    }
    if (distance.hop_us == 0) return {};
    // All edges of the ring of ranks but one, and once more all but two; what is spared may be
    // inside a machine.
    const std::int32_t ranks = place.per_machine;
    distance.two_rounds_us = 2 * distance.round_us - (ranks == 1   ? least_two
                                                      : ranks == 2 ? least
                                                                   : 0);
    if (ranks == 1) distance.round_us -= least;
    const bool even = machines % 2 == 0;
    distance.tree_us = std::max(
        depth_us(machines, far_us), depth_us(machines, [&](std::size_t from, std::size_t to) {
            return even ? far_us(machines - 1 - from, machines - 1 - to)
                        : far_us((from + 1) % machines, (to + 1) % machines);
        }));
    return distance;
}

// What NCCL's constants and its plugin's latency have is a hop; what the way is longer is distance.
void place_hops(NcclPlace& place, const Topology& topology, Routes& routes,
                const MachineRanks& groups, double plugin_us) {
    const auto hop_us = [&](std::size_t from, std::size_t to) {
        return to_seconds(routes.latency(groups[from].front(), groups[to].front())) * 1e6;
    };
    double inside_us = 0;  // both machines
    for (const LinkId id : routes.route(groups[0].front(), groups[1].front())) {
        const Link& link = topology.link(id);
        if (link.kind != LinkKind::network) inside_us += to_seconds(link.latency) * 1e6;
    }
    const double usual_us = std::max(known_hop_us, inside_us + plugin_us);
    double longest_us = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        longest_us = std::max(longest_us, hop_us(g, (g + 1) % groups.size()));
    }
    place.hop_us = std::max(0.0, std::min(usual_us, longest_us) - known_hop_us);
    if (longest_us <= usual_us) return;
    place.distance = distance_of(place, groups.size(), [&](std::size_t from, std::size_t to) {
        return std::max(0.0, hop_us(from, to) - usual_us);
    });
}

// The NICs of one machine.
struct MachineNics {
    double rate = 0;     // line rate of those that are used, all together, behind PCIe
    double reached = 0;  // of it, by large messages
    const NicReach* reach = nullptr;
};
// `used` of them, by a group's exits.
MachineNics nics_of(const Topology& topology, Routes& routes, MachineId id,
                    std::span<const Exit> exits, std::size_t used) {
    double nic = BytesPerSecond::max().raw();
    for (const DeviceId device : topology.devices_of(DeviceKind::nic, id)) {
        for (const LinkId number : topology.links_from(device)) {
            const Link& link = topology.link(number);
            if (link.kind == LinkKind::network) nic = std::min(nic, link.bandwidth.raw());
        }
    }
    const NicReach& reach = nic_reach(topology.machine(id).nics);
    const double share = topology.share(LinkKind::network).value_or(reach.share);
    const double wires = static_cast<double>(used) * line_rate(topology, LinkKind::network, nic);
    const double slots = static_cast<double>(used) * least_inside(topology, routes, exits) / share;
    // Data sheets and NCCL's constants agree in three digits, where slots and NICs were made for
    // each other.
    const double rate = slots < 0.999 * wires ? slots : wires;
    return {rate, rate * share, &reach};
}

// From 25 GB/s a NIC on NCCL doubles its channels; from Hopper on, if it has at most four of them
// or they reach 50 GB/s (src/graph/search.cc).
bool has_two_channels(std::size_t nics, double line_rate_of_all, NcclGeneration generation) {
    const double each = nccl_network_share * line_rate_of_all / 1e9 / static_cast<double>(nics);
    return each >= 25 && (generation < NcclGeneration::hopper || nics <= 4 || each >= 50);
}

// Machines may have NICs of several kinds: rings are as fast as the slowest.
void place_between(NcclPlace& place, const Topology& topology, Routes& routes,
                   const MachineRanks& groups) {
    const DeviceId first = groups.front().front();
    const MachineId id = topology.device(first).machine;
    const std::size_t gpus = topology.devices_of(DeviceKind::gpu, id).size();
    const std::size_t nics = topology.devices_of(DeviceKind::nic, id).size();
    const std::size_t each = std::ranges::min(groups, {}, &MachineRanks::value_type::size).size();
    // GPUs with several each share them evenly; of others, those next to the ranks are used, by
    // other groups, too.
    std::size_t used = std::max<std::size_t>(1, nics * each / gpus);
    const auto next_of = [&](std::size_t g) { return groups[(g + 1) % groups.size()]; };
    if (nics < gpus) {
        std::set<std::pair<ZoneId, std::vector<std::uint32_t>>> looked_at;  // GPUs' numbers
        used = nics;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const ZoneId zone = topology.machine(topology.device(groups[g].front()).machine).zone;
            std::vector<std::uint32_t> numbers;
            for (const DeviceId gpu : groups[g]) numbers.push_back(topology.device(gpu).index);
            if (!looked_at.emplace(zone, std::move(numbers)).second) continue;
            const std::size_t exits = exits_of(topology, routes, groups[g], next_of(g)).size();
            used = std::min(used, std::max<std::size_t>(1, exits));
        }
    }
    MachineNics slowest;
    double latency_us = 0;
    bool all_nvls_tree = true;
    bool all_sum = true;
    bool all_ll128 = true;
    std::vector<ZoneId> seen;  // whose machines are copies of each other
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const ZoneId zone = topology.machine(topology.device(groups[g].front()).machine).zone;
        if (std::ranges::find(seen, zone) != seen.end()) continue;
        seen.push_back(zone);
        const std::vector<Exit> exits = exits_of(topology, routes, groups[g], next_of(g));
        const MachineId machine = topology.device(groups[g].front()).machine;
        const MachineNics here = nics_of(topology, routes, machine, exits, used);
        const auto speed = [](const MachineNics& nics_of_one) {
            return std::pair(nics_of_one.reached, nics_of_one.reach->share);
        };
        if (slowest.reach == nullptr || speed(here) < speed(slowest)) slowest = here;
        latency_us = std::max(latency_us, here.reach->latency_us);
        all_nvls_tree = all_nvls_tree && here.reach->nvls_tree;
        all_sum = all_sum && here.reach->sums;
        all_ll128 = all_ll128 && here.reach->ll128;
    }
    place.between_share = topology.share(LinkKind::network).value_or(slowest.reach->share);
    const double switches =
        line_rate(topology, LinkKind::network, rate_of_switches(topology, routes, groups, each));
    place.between = BytesPerSecond::of(std::min(slowest.rate, switches));
    place.channels = static_cast<std::int32_t>(used);
    place.twice = has_two_channels(used, slowest.rate, place.generation);
    place.nvls = place.nvls && all_nvls_tree;
    place.sums = all_sum;
    // Gathers of two machines of eight B200 take Simple's time from 2 MiB on in all five clouds'
    // tables, though NCCL's prices have LL128 before it.
    place.ll128 = all_ll128 && place.generation >= NcclGeneration::volta &&
                  place.generation < NcclGeneration::blackwell && place.nvlink &&
                  shares_a_switch(topology, first);
    place_hops(place, topology, routes, groups, latency_us);
    place.reach +=
        fmt::format("{}{} at {:.3g} ({})", place.reach.empty() ? "" : ", ", slowest.reach->name,
                    place.between_share,
                    topology.share(LinkKind::network) ? "efficiency" : slowest.reach->source);
}

}  // namespace

const NcclReach::Shares& NcclReach::of_machine(DeviceId device) {
    const MachineId id = topology_.device(device).machine;
    shares_.resize(topology_.machines().size());
    Shares& shares = shares_[static_cast<std::size_t>(id)];
    if (shares.nvlink > 0) return shares;
    const Machine& machine = topology_.machine(id);
    const bool switched = !topology_.devices_of(DeviceKind::nvswitch, id).empty();
    shares = {ring_efficiency(machine.gpu, switched).wire, nic_reach(machine.nics).share};
    return shares;
}

double NcclReach::share(const Link& link, DeviceId from, DeviceId to) {
    if (topology_.share(link.kind)) return 1;
    switch (link.kind) {
        case LinkKind::nvlink: return of_machine(link.from).nvlink;
        case LinkKind::network: return std::min(of_machine(from).network, of_machine(to).network);
        case LinkKind::pcie: return ring_efficiency("", false).wire;
        case LinkKind::socket: return 1;
    }
    INVARIANT(false);
}

bool nccl_is_usual(const Topology& topology, std::span<const DeviceId> workers) {
    if (!refusal_of(topology, groups_of(topology, workers)).empty()) return false;
    const MachineId machine = topology.device(workers.front()).machine;
    if (topology.machine(machine).preset.empty()) return false;  // a network of ASTRA-sim's
    // Of one NVLink both directions are links.
    return std::ranges::any_of(topology.devices_of(DeviceKind::gpu, machine), [&](DeviceId gpu) {
        return std::ranges::any_of(topology.links_from(gpu), [&](LinkId link) {
            return topology.link(link).kind == LinkKind::nvlink;
        });
    });
}

NcclPlace nccl_place(const Topology& topology, Routes& routes, std::span<const DeviceId> workers,
                     std::string_view where) {
    const MachineRanks groups = groups_of(topology, workers);
    const std::string refused = refusal_of(topology, groups);
    if (!refused.empty()) throw InputError(where, "", refused);
    const auto largest = std::ranges::max(groups, {}, &MachineRanks::value_type::size);
    const Machine& machine = topology.machine(topology.device(workers.front()).machine);
    NcclPlace place;
    place.machines = static_cast<std::int32_t>(groups.size());
    place.per_machine = static_cast<std::int32_t>(largest.size());
    place.fewer = place.ranks() - static_cast<std::int32_t>(workers.size());
    place.generation = generation_of_gpu(machine.gpu)->generation;
    place.amd = machine.amd;
    place.domain = static_cast<std::int32_t>(
        topology.devices_of(DeviceKind::gpu, topology.device(workers.front()).machine).size());
    place_inside(place, topology, largest, machine);
    if (groups.size() > 1) place_between(place, topology, routes, groups);
    return place;
}

}  // namespace ukemi::sim
