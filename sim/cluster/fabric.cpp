// fabric.cpp — the generators of networks.
#include "sim/cluster/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

std::string_view place_of_count(const ZoneSpec& zone, std::string_view where) {
    return zone.counted_at.empty() ? where : zone.counted_at;
}

class ZoneBuilder {
public:
    ZoneBuilder(Topology& topology, const ZoneSpec& zone, ZoneId id, std::string_view where)
        : topology_(topology),
          zone_(zone),
          fabric_(zone.fabric),
          where_(where),
          spec_(spec_of(zone, where)) {
        if (zone.count < 1 || zone.count > machines_max) {
            throw InputError(
                place_of_count(zone, where), "",
                fmt::format("expected 1 to {} machines, found {}", machines_max, zone.count));
        }
        nic_rate_ = fabric_.bandwidth.value_or(gigabits_per_second(spec_.nics.gbit_per_s));
        // A hop from NIC to NIC is two links.
        const Duration usual =
            Duration::of(round_nearest(nic_reach(spec_.nics.kind).latency_us * 1e3));
        const Duration of_links = zone.links ? zone.links->latency.value_or(usual) : usual;
        link_latency_ = Duration::of(fabric_.latency.value_or(of_links).raw() / 2);
        if (!(fabric_.oversubscription >= 1 && fabric_.oversubscription <= 1e6)) {
            refuse(fmt::format("expected an oversubscription of at least 1, found {}",
                               fabric_.oversubscription));
        }
        if (fabric_.machines_per_leaf < 1 || fabric_.spines < 1 || fabric_.spines > 4096) {
            refuse("expected at least one machine a leaf, and 1 to 4096 spines");
        }
        add_machines(id);
    }

    // The switches through which other zones are reached.
    std::vector<DeviceId> join() {
        switch (fabric_.kind) {
            case FabricKind::single_switch: return single_switch();
            case FabricKind::leaf_spine: return leaves_and_spines(1);
            case FabricKind::rails: return leaves_and_spines(spec_.nics.count);
            case FabricKind::fat_tree: return fat_tree();
            case FabricKind::ring: return grid({count(), 1, 1});
            case FabricKind::torus: return torus();
        }
        INVARIANT(false);
        return {};
    }

    BytesPerSecond machine_rate() const { return std::int64_t{spec_.nics.count} * nic_rate_; }

private:
    [[noreturn]] void refuse(std::string_view problem) const {
        throw InputError(where_, "", problem);
    }

    // Of a file: what its machine and the section "links" say, and nothing of the inside.
    static MachineSpec spec_of(const ZoneSpec& zone, std::string_view where) {
        MachineSpec spec;
        if (zone.inside == nullptr) {
            spec = machine_named(zone.machine, where);
        } else {
            const Machine& machine = zone.inside->machines().front();
            spec.nics.count =
                static_cast<std::uint32_t>(zone.inside->devices_of(DeviceKind::nic).size());
            spec.nics.gbit_per_s = machine.nic_gbit_per_s;
            spec.nics.kind = machine.nics;
        }
        if (!zone.links) return spec;
        spec.nics.kind = zone.links->kind;
        if (zone.links->bandwidth) spec.nics.gbit_per_s = zone.links->bandwidth->raw() * 8 / 1e9;
        return spec;
    }

    // The first one device by device, the others as its copies.
    void add_machines(ZoneId id) {
        const auto devices_before = static_cast<std::uint32_t>(topology_.devices().size());
        const auto links_before = static_cast<std::uint32_t>(topology_.links().size());
        const auto place = [&](std::uint32_t number) -> Machine {
            const std::uint32_t rack = racks() ? number / fabric_.machines_per_leaf : 0;
            return {fmt::format("machine{}", topology_.machines().size()), {}, rack, id};
        };
        machines_.reserve(zone_.count);
        machines_.push_back(added(place(0)));
        const auto devices =
            static_cast<std::uint32_t>(topology_.devices().size()) - devices_before;
        const auto links = static_cast<std::uint32_t>(topology_.links().size()) - links_before;
        // A cable of the network for each NIC, and as many again for switches.
        const std::size_t cables = std::size_t{4} * machines_.front().nics.size();
        topology_.make_room(std::size_t{zone_.count} * devices,
                            std::size_t{zone_.count} * (links + cables));
        for (std::uint32_t i = 1; i < zone_.count; ++i) {
            AddedMachine copy = machines_.front();
            copy.id = topology_.repeat(machines_.front().id, links_before, links_before + links,
                                       place(i));
            const auto shift = [&](DeviceId& device) {
                device = static_cast<DeviceId>(ukemi::index_of(device) + i * devices);
            };
            std::ranges::for_each(copy.gpus, shift);
            std::ranges::for_each(copy.nics, shift);
            machines_.push_back(std::move(copy));
        }
    }

    AddedMachine added(Machine place) {
        if (zone_.inside == nullptr) {
            place.described_gpu = zone_.described_gpu;
            return add_machine(topology_, spec_, std::move(place));
        }
        const Machine& machine = zone_.inside->machines().front();
        place.preset = zone_.machine;
        place.gpu = machine.gpu;
        place.described_gpu = machine.described_gpu;
        place.amd = machine.amd;
        place.nics = spec_.nics.kind;
        place.nic_ports_left = machine.nic_ports_left;
        return add_copy(topology_, *zone_.inside, std::move(place));
    }

    bool racks() const {
        return fabric_.kind == FabricKind::leaf_spine || fabric_.kind == FabricKind::rails;
    }
    std::uint32_t count() const { return static_cast<std::uint32_t>(machines_.size()); }

    DeviceId add_switch(std::string name) {
        return topology_.add_device(DeviceKind::network_switch, no_machine, std::move(name));
    }
    void cable(DeviceId a, DeviceId b, BytesPerSecond rate) {
        // A machine alone may come without its NICs' rate.
        if (rate == BytesPerSecond{} && count() == 1) return;
        topology_.connect(a, b, LinkKind::network, 1, rate, link_latency_);
    }
    void attach(const AddedMachine& machine, DeviceId to) {
        for (const DeviceId nic : machine.nics) cable(nic, to, nic_rate_);
    }

    std::vector<DeviceId> single_switch() {
        const DeviceId middle = add_switch("switch");
        for (const AddedMachine& machine : machines_) attach(machine, middle);
        return {middle};
    }

    // With one rail a leaf takes all NICs of its machines; else rail i takes the i-th of each.
    std::vector<DeviceId> leaves_and_spines(std::uint32_t rails) {
        const std::uint32_t per_leaf = fabric_.machines_per_leaf;
        const std::uint32_t nics_per_machine = rails == 1 ? spec_.nics.count : 1;
        std::vector<DeviceId> leaves;
        for (std::uint32_t first = 0; first < count(); first += per_leaf) {
            for (std::uint32_t rail = 0; rail < rails; ++rail) {
                const std::uint32_t group = first / per_leaf;
                leaves.push_back(add_switch(rails == 1 ? fmt::format("leaf{}", group)
                                                       : fmt::format("leaf{}.{}", group, rail)));
                for (std::uint32_t i = first; i < std::min(first + per_leaf, count()); ++i) {
                    if (rails == 1) {
                        attach(machines_[i], leaves.back());
                    } else {
                        cable(machines_[i].nics[rail], leaves.back(), nic_rate_);
                    }
                }
            }
        }
        if (leaves.size() == 1) return leaves;
        const BytesPerSecond uplink =
            BytesPerSecond::of(nic_rate_.raw() * nics_per_machine * per_leaf /
                               fabric_.oversubscription / fabric_.spines);
        std::vector<DeviceId> spines;
        for (std::uint32_t s = 0; s < fabric_.spines; ++s) {
            spines.push_back(add_switch(fmt::format("spine{}", s)));
            for (const DeviceId leaf : leaves) cable(leaf, spines.back(), uplink);
        }
        return spines;
    }

    std::vector<DeviceId> fat_tree() {
        std::uint32_t k = 2;
        while (k * k * k / 4 < count()) k += 2;
        const std::uint32_t half = k / 2;
        std::vector<DeviceId> cores;
        for (std::uint32_t i = 0; i < half * half; ++i)
            cores.push_back(add_switch(fmt::format("core{}", i)));
        std::uint32_t next = 0;
        for (std::uint32_t pod = 0; pod < k && next < count(); ++pod) {
            std::vector<DeviceId> middle;
            for (std::uint32_t a = 0; a < half; ++a) {
                middle.push_back(add_switch(fmt::format("aggregation{}.{}", pod, a)));
                for (std::uint32_t c = 0; c < half; ++c)
                    cable(middle.back(), cores[a * half + c], machine_rate());
            }
            for (std::uint32_t e = 0; e < half && next < count(); ++e) {
                const DeviceId edge = add_switch(fmt::format("edge{}.{}", pod, e));
                for (const DeviceId above : middle) cable(edge, above, machine_rate());
                for (std::uint32_t h = 0; h < half && next < count(); ++h)
                    attach(machines_[next++], edge);
            }
        }
        return cores;
    }

    std::vector<DeviceId> torus() {
        std::array<std::uint32_t, 3> sides = fabric_.sides;
        std::uint64_t places = 1;
        for (std::uint32_t& side : sides) {
            side = std::max(side, 1U);
            places *= std::min(side, machines_max);
        }
        if (places != count()) {
            refuse(fmt::format("a torus of {} x {} x {} has {} places, not {}", sides[0], sides[1],
                               sides[2], places, count()));
        }
        return grid(sides);
    }

    // A router a machine, in the order of machines, the first side running fastest.
    std::vector<DeviceId> grid(const std::array<std::uint32_t, 3>& sides) {
        std::vector<DeviceId> routers;
        for (std::uint32_t i = 0; i < count(); ++i) {
            routers.push_back(add_switch(fmt::format("router{}", i)));
            attach(machines_[i], routers.back());
        }
        std::uint32_t stride = 1;
        for (const std::uint32_t side : sides) {
            for (std::uint32_t i = 0; i < count() && side > 1; ++i) {
                const std::uint32_t place = i / stride % side;
                if (place + 1 == side && side == 2) continue;  // two have one cable, not two
                const std::uint32_t next = place + 1 < side ? i + stride : i - place * stride;
                cable(routers[i], routers[next], machine_rate());
            }
            stride *= side;
        }
        return {routers.front()};
    }

    Topology& topology_;
    const ZoneSpec& zone_;
    const FabricSpec& fabric_;
    std::string_view where_;
    MachineSpec spec_;
    BytesPerSecond nic_rate_;
    Duration link_latency_;
    std::vector<AddedMachine> machines_;
};

// The zone's machines, and of several zones its router, joined to those before.
void add_zone(Topology& topology, const ClusterSpec& spec, std::size_t number,
              std::string_view where, std::vector<DeviceId>& routers) {
    ZoneBuilder zone(topology, spec.zones[number], static_cast<ZoneId>(number), where);
    const std::vector<DeviceId> tops = zone.join();
    if (spec.zones.size() == 1) return;
    const DeviceId router =
        topology.add_device(DeviceKind::network_switch, no_machine, fmt::format("zone{}", number));
    // What the zone brings to its router is not the bottleneck; the link between zones may be.
    const BytesPerSecond up =
        std::int64_t{spec.zones[number].count} * zone.machine_rate() + spec.zone_bandwidth;
    for (const DeviceId top : tops) {
        topology.connect(top, router, LinkKind::network, 1, up, Duration{});
    }
    for (const DeviceId other : routers) {
        topology.connect(other, router, LinkKind::network, 1, spec.zone_bandwidth,
                         spec.zone_latency);
    }
    routers.push_back(router);
}

}  // namespace

Topology build_cluster(const ClusterSpec& spec, std::string_view where) {
    if (spec.whole != nullptr) return *spec.whole;
    if (spec.zones.empty()) throw InputError(where, "", "expected at least one zone");
    Topology topology;
    std::vector<DeviceId> routers;
    for (std::size_t z = 0; z < spec.zones.size(); ++z) {
        try {
            add_zone(topology, spec, z, where, routers);
        } catch (const TopologyLimit&) {
            const ZoneSpec& zone = spec.zones[z];
            throw InputError(place_of_count(zone, where), "",
                             fmt::format("expected fewer machines than {}: with their network, "
                                         "these are more than {} devices or {} links",
                                         zone.count, devices_max, links_max));
        }
    }
    return topology;
}

Topology build_cluster(std::string_view machine, std::uint32_t count, const FabricSpec& fabric,
                       std::string_view counted_at) {
    ClusterSpec spec;
    spec.zones.push_back(
        {std::string(machine), count, fabric, {}, std::nullopt, std::string(counted_at)});
    return build_cluster(spec);
}

}  // namespace ukemi::sim
