// topology.cpp — two growing lists and the questions asked of them.
#include "sim/cluster/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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
    INVARIANT(ukemi::index_of(machine) < spans_.size());
    std::vector<DeviceId> found;
    const Span& span = spans_[ukemi::index_of(machine)];
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
        if (devices_[i].kind != kind || devices_[i].machine != machine) continue;
        found.push_back(static_cast<DeviceId>(i));
    }
    return found;
}

std::vector<DeviceId> Topology::workers() const {
    std::vector<DeviceId> found;
    for (std::uint32_t machine = 0; machine < spans_.size(); ++machine) {
        const std::size_t before = found.size();
        std::optional<DeviceId> socket;
        for (std::uint32_t i = spans_[machine].begin; i < spans_[machine].end; ++i) {
            if (devices_[i].machine != static_cast<MachineId>(machine)) continue;
            const auto id = static_cast<DeviceId>(i);
            if (devices_[i].kind == DeviceKind::gpu) found.push_back(id);
            if (devices_[i].kind == DeviceKind::cpu && !socket) socket = id;
        }
        if (found.size() == before && socket) found.push_back(*socket);
    }
    return found;
}

Topology::LinkChain Topology::links_from(DeviceId id) const {
    INVARIANT(ukemi::index_of(id) < outs_.size());
    return {next_out_, outs_[ukemi::index_of(id)].first};
}

std::uint32_t Topology::lanes_between(DeviceId from, DeviceId to, LinkKind kind) const {
    std::uint32_t lanes = 0;
    for (const LinkId id : links_from(from)) {
        const Link& one = link(id);
        if (one.to == to && one.kind == kind) lanes += one.lanes;
    }
    return lanes;
}

TopologyLimit::TopologyLimit()
    : InputError("topology", "",
                 fmt::format("more than {} devices or {} links", devices_max, links_max)) {}

std::string Topology::full_name(DeviceId id) const {
    const Device& one = device(id);
    if (one.machine == no_machine) return one.name;
    return fmt::format("{}/{}", machine(one.machine).name, one.name);
}

std::string_view gpu_name_of(const Machine& machine) {
    return machine.described_gpu ? machine.described_gpu->name : std::string_view(machine.gpu);
}

const GpuProfile& gpu_profile_of(const Machine& machine, std::string_view where) {
    return machine.described_gpu ? *machine.described_gpu : gpu_named(machine.gpu, where);
}

MachineId Topology::add_machine(Machine machine) {
    INVARIANT(machines_.size() < devices_max);
    machines_.push_back(std::move(machine));
    spans_.push_back({});
    return static_cast<MachineId>(machines_.size() - 1);
}

Machine& Topology::machine_to_describe(MachineId id) {
    INVARIANT(ukemi::index_of(id) < machines_.size());
    return machines_[ukemi::index_of(id)];
}

DeviceId Topology::add_device(DeviceKind kind, MachineId machine, std::string name) {
    if (devices_.size() >= devices_max) throw TopologyLimit();
    INVARIANT(machine == no_machine || ukemi::index_of(machine) < machines_.size());
    std::uint32_t index = 0;
    // The devices of a machine are added together, so the search ends soon.
    for (std::size_t i = devices_.size(); i-- > 0 && devices_[i].machine == machine;) {
        if (devices_[i].kind != kind) continue;
        index = devices_[i].index + 1;
        break;
    }
    devices_.push_back({kind, machine, index, std::move(name)});
    outs_.push_back({});
    note_device(machine, static_cast<std::uint32_t>(devices_.size() - 1));
    return static_cast<DeviceId>(devices_.size() - 1);
}

void Topology::note_device(MachineId machine, std::uint32_t device) {
    if (machine == no_machine) return;
    Span& span = spans_[ukemi::index_of(machine)];
    if (span.end == 0) span.begin = device;
    span.end = device + 1;
}

void Topology::note_link(std::uint32_t number) {
    next_out_.push_back(none);
    Outs& outs = outs_[ukemi::index_of(links_[number].from)];
    if (outs.first == none) {
        outs.first = number;
    } else {
        next_out_[outs.last] = number;
    }
    outs.last = number;
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
    if (links_.size() + 2 > links_max) throw TopologyLimit();
    links_.push_back({a, b, kind, lanes, bandwidth, latency});
    links_.push_back({b, a, kind, lanes, bandwidth, latency});
    const auto number = static_cast<std::uint32_t>(links_.size() - 2);
    note_link(number);
    note_link(number + 1);
    return static_cast<LinkId>(number);
}

void Topology::make_room(std::size_t devices, std::size_t links) {
    devices_.reserve(std::min(devices_.size() + devices, devices_max));
    outs_.reserve(devices_.capacity());
    links_.reserve(std::min(links_.size() + links, links_max));
    next_out_.reserve(links_.capacity());
}

MachineId Topology::repeat(MachineId of, std::uint32_t link_begin, std::uint32_t link_end,
                           Machine place) {
    const Span span = spans_[ukemi::index_of(of)];
    const std::uint32_t shift = static_cast<std::uint32_t>(devices_.size()) - span.begin;
    if (devices_.size() + (span.end - span.begin) > devices_max ||
        links_.size() + (link_end - link_begin) > links_max) {
        throw TopologyLimit();
    }
    Machine like = machine(of);
    like.name = std::move(place.name);
    like.rack = place.rack;
    like.zone = place.zone;
    const MachineId id = add_machine(std::move(like));
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
        INVARIANT(devices_[i].machine == of);
        Device copy = devices_[i];
        copy.machine = id;
        devices_.push_back(std::move(copy));
        outs_.push_back({});
    }
    spans_.back() = {span.begin + shift, span.end + shift};
    for (std::uint32_t i = link_begin; i < link_end; ++i) {
        Link copy = links_[i];
        const auto moved = [&](DeviceId device) {
            INVARIANT(devices_[ukemi::index_of(device)].machine == of);
            return static_cast<DeviceId>(ukemi::index_of(device) + shift);
        };
        copy.from = moved(copy.from);
        copy.to = moved(copy.to);
        links_.push_back(copy);
        note_link(static_cast<std::uint32_t>(links_.size() - 1));
    }
    return id;
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
