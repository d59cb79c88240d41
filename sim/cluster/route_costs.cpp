// route_costs.cpp — a machine's inside, the nodes outside, and what leads from one to the other.
#include "sim/cluster/route_costs.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/ids.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

constexpr std::size_t costs_kept_max = std::size_t{1} << 24;  // 400 MB

RouteCost cost_of(const Link& link) {
    return {link.kind == LinkKind::network ? 1U : 0U, link.latency.raw(), 1U};
}

}  // namespace

RouteCosts::RouteCosts(const Topology& topology) : topology_(topology) {
    const auto links = topology.links();
    for (std::size_t i = 0; i < links.size(); i += 2) {
        const Link& back = links[i + 1];  // every cable is two links, one after the other
        INVARIANT(back.from == links[i].to && back.to == links[i].from &&
                  cost_of(back) == cost_of(links[i]));
    }
    lets_through_.reserve(topology.devices().size());
    for (const Device& device : topology.devices()) {
        lets_through_.push_back(device.kind == DeviceKind::gpu ? 0 : 1);
    }
    number_nodes();
    find_insides();
    find_ports();
    join_nodes();
}

auto RouteCosts::outs_of(std::uint32_t device) const {
    return topology_.links_from(static_cast<DeviceId>(device)) |
           std::views::transform([links = topology_.links()](LinkId id) {
               const Link& link = links[index_of(id)];
               return Out{id, index_of(link.to), cost_of(link)};
           });
}

void RouteCosts::number_nodes() {
    const auto devices = topology_.devices();
    node_of_.assign(devices.size(), none);
    std::uint32_t nodes = 0;
    const auto add = [&](std::uint32_t device) {
        if (node_of_[device] == none) node_of_[device] = nodes++;
    };
    machine_of_.resize(devices.size());
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
        const bool alone = devices[i].machine == no_machine;
        machine_of_[i] = alone ? none : index_of(devices[i].machine);
        if (alone) add(i);
    }
    for (const Link& link : topology_.links()) {
        const std::uint32_t a = machine_of_[index_of(link.from)];
        const std::uint32_t b = machine_of_[index_of(link.to)];
        if (a != none && b != none && a != b) add(index_of(link.from));
    }
    outs_to_nodes_.resize(nodes);
    transits_.resize(nodes);
}

void RouteCosts::find_insides() {
    const std::size_t machines = topology_.machines().size();
    std::vector<std::vector<std::uint32_t>> devices(machines);
    local_of_.assign(machine_of_.size(), 0);
    for (std::uint32_t i = 0; i < machine_of_.size(); ++i) {
        if (machine_of_[i] == none) continue;
        local_of_[i] = static_cast<std::uint32_t>(devices[machine_of_[i]].size());
        devices[machine_of_[i]].push_back(i);
    }
    for (std::uint32_t machine = 0; machine < machines; ++machine) {
        if (machine > 0 && is_inside_like(machine, devices[machine], devices[machine - 1])) {
            inside_of_.push_back(inside_of_.back());
            continue;
        }
        std::vector<char> lets_through;
        std::vector<RouteWeb::Edge> edges;
        for (const std::uint32_t device : devices[machine]) {
            lets_through.push_back(lets_through_[device]);
            for (const Out out : outs_of(device)) {
                if (machine_of_[out.to] != machine) continue;
                edges.push_back({local_of_[device], local_of_[out.to], out.cost});
            }
        }
        const auto [known, is_new] =
            known_insides_.try_emplace(RouteWeb(std::move(lets_through), std::move(edges)),
                                       static_cast<std::uint32_t>(insides_.size()));
        if (is_new) insides_.emplace_back().searches.resize(devices[machine].size());
        inside_of_.push_back(known->second);
    }
    for (const auto& [web, inside] : known_insides_) insides_[inside].web = &web;
}

// As the machine before it, device by device and link by link.
bool RouteCosts::is_inside_like(std::uint32_t machine, std::span<const std::uint32_t> devices,
                                std::span<const std::uint32_t> before) const {
    if (devices.size() != before.size()) return false;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (lets_through_[devices[i]] != lets_through_[before[i]]) return false;
        const auto inner_of = [&](std::uint32_t device, std::uint32_t of) {
            return outs_of(device) | std::views::filter([this, of](const Out& out) {
                       return machine_of_[out.to] == of;
                   });
        };
        const bool alike = std::ranges::equal(
            inner_of(devices[i], machine), inner_of(before[i], machine - 1),
            [&](const Out& one, const Out& other) {
                return local_of_[one.to] == local_of_[other.to] && one.cost == other.cost;
            });
        if (!alike) return false;
    }
    return true;
}

void RouteCosts::find_ports() {
    ports_.resize(topology_.machines().size());
    for (std::uint32_t i = 0; i < machine_of_.size(); ++i) {
        if (machine_of_[i] == none) continue;
        std::vector<Port>& ports = ports_[machine_of_[i]];
        if (node_of_[i] != none) ports.push_back({i, local_of_[i], node_of_[i], LinkId{}, {}});
        for (const Out out : outs_of(i)) {
            if (machine_of_[out.to] != none) continue;
            ports.push_back({i, local_of_[i], node_of_[out.to], out.link, out.cost});
        }
    }
}

// Whether a way may go on behind it; where the device is the node, the way begins or ends there.
bool RouteCosts::is_crossed(const Port& port) const {
    return lets_through_[port.device] != 0 || node_of_[port.device] == port.node;
}

bool RouteCosts::joined_like_the_last(std::uint32_t machine) const {
    return machine > 0 && inside_of_[machine] == inside_of_[machine - 1] &&
           std::ranges::equal(
               ports_[machine], ports_[machine - 1],
               [](const Port& port, const Port& other) { return port.is_like(other); });
}

void RouteCosts::join_nodes() {
    std::vector<char> lets_through(outs_to_nodes_.size());
    std::vector<RouteWeb::Edge> edges;
    for (std::uint32_t i = 0; i < node_of_.size(); ++i) {
        if (node_of_[i] == none) continue;
        lets_through[node_of_[i]] = lets_through_[i];
        for (const Out out : outs_of(i)) {
            if (node_of_[out.to] == none) continue;
            const bool inside = machine_of_[i] != none && machine_of_[i] == machine_of_[out.to];
            if (inside) continue;
            outs_to_nodes_[node_of_[i]].push_back(out);
            edges.push_back({node_of_[i], node_of_[out.to], out.cost});
        }
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, RouteCost> least;
    for (std::uint32_t machine = 0; machine < topology_.machines().size(); ++machine) {
        if (joined_like_the_last(machine)) continue;
        for (const Port& in : ports_[machine]) {
            for (const Port& out : ports_[machine]) {
                if (in.node == out.node || !is_crossed(in) || !is_crossed(out)) continue;
                const RouteCost cost = in.cost + within(machine, in.local, out.local) + out.cost;
                if (cost.is_far()) continue;
                const auto [entry, is_new] = least.try_emplace({in.node, out.node}, cost);
                if (!is_new) entry->second = std::min(entry->second, cost);
            }
        }
    }
    for (const auto& [ends, cost] : least) {
        transits_[ends.first].push_back({ends.first, ends.second, cost});
        edges.push_back(transits_[ends.first].back());
    }
    outside_ = RouteWeb(std::move(lets_through), std::move(edges));
}

// Between two devices of a machine, by their numbers in it, without leaving it.
RouteCost RouteCosts::within(std::uint32_t machine, std::uint32_t from, std::uint32_t to) {
    Inside& inside = insides_[inside_of_[machine]];
    std::optional<RouteSearch>& search = inside.searches[to];
    if (!search) search.emplace(*inside.web, to);
    return search->cost_from(from);
}

RouteCosts::Target RouteCosts::target(std::uint32_t device) {
    Target found{device, {}, {}};
    if (machine_of_[device] == none) {
        found.gates.push_back({node_of_[device], {}});
        return found;
    }
    for (const Port& port : ports_[machine_of_[device]]) {
        if (port.device != device && lets_through_[port.device] == 0) continue;
        const RouteCost left =
            port.cost + within(machine_of_[device], port.local, local_of_[device]);
        if (left.is_far()) continue;
        const auto known = std::ranges::find(found.gates, port.node, &Target::Gate::node);
        if (known == found.gates.end()) {
            found.gates.push_back({port.node, left});
        } else {
            known->left = std::min(known->left, left);
        }
    }
    return found;
}

RouteCost RouteCosts::left_outside(std::uint32_t node, const Target& target) {
    RouteCost least = RouteCost::far();
    for (const Target::Gate& gate : target.gates) {
        auto search = searches_.find(gate.node);
        if (search == searches_.end()) {
            // They may not fill a machine, and are seldom asked for again when all had their turn.
            if ((searches_.size() + 1) * outside_.size() > costs_kept_max) searches_.clear();
            search = searches_.try_emplace(gate.node, outside_, gate.node).first;
        }
        least = std::min(least, search->second.cost_from(node) + gate.left);
    }
    return least;
}

// A way asks for a machine's few ports again and again.
RouteCost RouteCosts::left_behind(const Port& port, Target& target) {
    const auto known = std::ranges::find(target.asked, port.node, &Target::Gate::node);
    if (known != target.asked.end()) return known->left;
    target.asked.push_back({port.node, left_outside(port.node, target)});
    return target.asked.back().left;
}

RouteCost RouteCosts::left(std::uint32_t from, Target& target) {
    const std::uint32_t machine = machine_of_[from];
    if (machine == none) return left_outside(node_of_[from], target);
    RouteCost least = RouteCost::far();
    if (machine == machine_of_[target.device]) {
        least = within(machine, local_of_[from], local_of_[target.device]);
    }
    for (const Port& port : ports_[machine]) {
        if (port.device != from && lets_through_[port.device] == 0) continue;
        const RouteCost out = within(machine, local_of_[from], port.local) + port.cost;
        if (out < least) least = std::min(least, out + left_behind(port, target));
    }
    return least;
}

void RouteCosts::keep_if_best(const Out& out, RouteCost left_here, Target& target,
                              std::vector<Step>& steps) {
    if (out.to != target.device && lets_through_[out.to] == 0) return;
    if (out.cost + left(out.to, target) == left_here) steps.push_back({out.link, out.to});
}

void RouteCosts::best_steps(std::uint32_t from, Target& target, std::vector<Step>& steps) {
    steps.clear();
    const RouteCost here = left(from, target);
    const std::uint32_t node = node_of_[from];
    bool look_at_all = machine_of_[from] != none;
    for (std::size_t i = 0; !look_at_all && i < transits_[node].size(); ++i) {
        const RouteWeb::Edge& edge = transits_[node][i];
        look_at_all = edge.cost + left_outside(edge.to, target) == here;
    }
    if (look_at_all) {
        for (const Out out : outs_of(from)) keep_if_best(out, here, target, steps);
        return;
    }
    // A switch may have links to thousands of machines, of which one is the target's.
    for (const Out& out : outs_to_nodes_[node]) keep_if_best(out, here, target, steps);
    if (machine_of_[target.device] == none) return;
    for (const Port& port : ports_[machine_of_[target.device]]) {
        if (port.node != node || node_of_[port.device] != none) continue;  // looked at above
        const auto back = static_cast<LinkId>(index_of(port.link) ^ 1U);
        keep_if_best({back, port.device, port.cost}, here, target, steps);
    }
    std::ranges::sort(steps, {}, &Step::link);
}

}  // namespace ukemi::sim
