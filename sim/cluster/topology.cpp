// topology.cpp — two growing lists and the questions asked of them.
#include "sim/cluster/topology.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/unit_text.hpp"

namespace ukemi::sim {

std::string_view to_string(DeviceKind kind) {
    switch (kind) {
        case DeviceKind::gpu: return "gpu";
        case DeviceKind::cpu: return "cpu";
        case DeviceKind::pcie_switch: return "pcie_switch";
        case DeviceKind::nvswitch: return "nvswitch";
        case DeviceKind::nic: return "nic";
        case DeviceKind::network_switch: return "network_switch";
    }
    INVARIANT(false);
    return {};
}

std::string_view to_string(LinkKind kind) {
    switch (kind) {
        case LinkKind::nvlink: return "nvlink";
        case LinkKind::pcie: return "pcie";
        case LinkKind::socket: return "socket";
        case LinkKind::network: return "network";
    }
    INVARIANT(false);
    return {};
}

const Device& Topology::device(DeviceId id) const {
    INVARIANT(ukemi::index_of(id) < devices_.size());
    return devices_[ukemi::index_of(id)];
}

const Link& Topology::link(LinkId id) const {
    INVARIANT(ukemi::index_of(id) < links_.size());
    return links_[ukemi::index_of(id)];
}

const Machine& Topology::machine(MachineId id) const {
    INVARIANT(ukemi::index_of(id) < machines_.size());
    return machines_[ukemi::index_of(id)];
}

std::vector<LinkRate> Topology::link_rates() const {
    std::vector<LinkRate> rates;
    rates.reserve(links_.size());
    for (const Link& link : links_) rates.push_back({link.bandwidth, link.latency});
    return rates;
}

std::vector<DeviceId> Topology::devices_of(DeviceKind kind) const {
    std::vector<DeviceId> found;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (devices_[i].kind == kind) found.push_back(static_cast<DeviceId>(i));
    }
    return found;
}

std::vector<DeviceId> Topology::devices_of(DeviceKind kind, MachineId machine) const {
    std::vector<DeviceId> found;
    for (const DeviceId id : devices_of(kind)) {
        if (device(id).machine == machine) found.push_back(id);
    }
    return found;
}

std::vector<DeviceId> Topology::workers() const {
    std::vector<std::vector<DeviceId>> gpus(machines_.size());
    std::vector<std::vector<DeviceId>> sockets(machines_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const Device& one = devices_[i];
        if (one.machine == no_machine) continue;
        const auto id = static_cast<DeviceId>(i);
        if (one.kind == DeviceKind::gpu) gpus[ukemi::index_of(one.machine)].push_back(id);
        if (one.kind == DeviceKind::cpu) sockets[ukemi::index_of(one.machine)].push_back(id);
    }
    std::vector<DeviceId> found;
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        if (!gpus[i].empty()) {
            found.insert(found.end(), gpus[i].begin(), gpus[i].end());
        } else if (!sockets[i].empty()) {
            found.push_back(sockets[i].front());
        }
    }
    return found;
}

std::uint32_t Topology::lanes_between(DeviceId from, DeviceId to, LinkKind kind) const {
    std::uint32_t lanes = 0;
    for (const Link& link : links_) {
        if (link.from == from && link.to == to && link.kind == kind) lanes += link.lanes;
    }
    return lanes;
}

std::string Topology::full_name(DeviceId id) const {
    const Device& one = device(id);
    if (one.machine == no_machine) return one.name;
    return fmt::format("{}/{}", machine(one.machine).name, one.name);
}

MachineId Topology::add_machine(Machine machine) {
    INVARIANT(machines_.size() < devices_max);
    machines_.push_back(std::move(machine));
    return static_cast<MachineId>(machines_.size() - 1);
}

Machine& Topology::machine_to_describe(MachineId id) {
    INVARIANT(ukemi::index_of(id) < machines_.size());
    return machines_[ukemi::index_of(id)];
}

DeviceId Topology::add_device(DeviceKind kind, MachineId machine, std::string name) {
    if (devices_.size() >= devices_max) {
        throw InputError("topology", "", fmt::format("more than {} devices", devices_max));
    }
    INVARIANT(machine == no_machine || ukemi::index_of(machine) < machines_.size());
    std::uint32_t index = 0;
    // The devices of a machine are added together, so the search ends soon.
    for (std::size_t i = devices_.size(); i-- > 0 && devices_[i].machine == machine;) {
        if (devices_[i].kind != kind) continue;
        index = devices_[i].index + 1;
        break;
    }
    devices_.push_back({kind, machine, index, std::move(name)});
    return static_cast<DeviceId>(devices_.size() - 1);
}

LinkId Topology::connect(DeviceId a, DeviceId b, LinkKind kind, std::uint32_t lanes,
                         BytesPerSecond bandwidth, Duration latency) {
    INVARIANT(ukemi::index_of(a) < devices_.size() && ukemi::index_of(b) < devices_.size() &&
              a != b);
    INVARIANT(lanes > 0);
    const auto refuse = [&](std::string_view problem) {
        throw InputError("topology", "",
                         fmt::format("{} link between {} and {}: {}", to_string(kind), full_name(a),
                                     full_name(b), problem));
    };
    if (!(bandwidth.raw() > 0) || !std::isfinite(bandwidth.raw())) {
        refuse(fmt::format("expected a bandwidth above 0, found {} bytes/s", bandwidth.raw()));
    }
    if (latency < Duration{} || latency > whole_seconds(1)) {
        refuse(fmt::format("expected a latency from 0 to 1 s, found {}", format_duration(latency)));
    }
    if (links_.size() + 2 > links_max) refuse(fmt::format("more than {} links", links_max));
    links_.push_back({a, b, kind, lanes, bandwidth, latency});
    links_.push_back({b, a, kind, lanes, bandwidth, latency});
    return static_cast<LinkId>(links_.size() - 2);
}

void Topology::derate(LinkKind kind, double factor) {
    INVARIANT(factor > 0 && factor <= 1);
    std::optional<double>& share = shares_[static_cast<std::size_t>(kind)];
    share = share.value_or(1) * factor;
    for (Link& link : links_) {
        if (link.kind == kind) link.bandwidth = BytesPerSecond::of(link.bandwidth.raw() * factor);
    }
}

}  // namespace ukemi::sim
