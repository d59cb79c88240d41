// machine_spec.cpp — from a handful of numbers to devices and links.
#include "sim/cluster/machine_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/plain_text.hpp"
#include "sim/cluster/hops.hpp"
#include "sim/cluster/machines/tables.hpp"

namespace ukemi::sim {
namespace {

class Chassis {
public:
    Chassis(Topology& topology, const MachineSpec& spec, Machine place)
        : topology_(topology), spec_(spec) {
        place.preset = spec.name;
        place.gpu = spec.gpu;
        place.nics = spec.nics.kind;
        place.amd = spec.host.amd;
        added_.id = topology_.add_machine(std::move(place));
    }

    AddedMachine build() {
        add_sockets();
        add_switches();
        add_gpus();
        add_nvlinks();
        add_nics();
        return std::move(added_);
    }

private:
    std::vector<DeviceId> add(DeviceKind kind, std::uint32_t count, std::string_view prefix) {
        std::vector<DeviceId> ids;
        for (std::uint32_t i = 0; i < count; ++i) {
            ids.push_back(topology_.add_device(kind, added_.id, fmt::format("{}{}", prefix, i)));
        }
        return ids;
    }

    BytesPerSecond slot() const { return pcie_x16_rate(spec_.pcie.generation); }

    void add_sockets() {
        sockets_ = add(DeviceKind::cpu, spec_.host.sockets, "cpu");
        for (std::size_t i = 1; i < sockets_.size(); ++i) {
            topology_.connect(sockets_[i - 1], sockets_[i], LinkKind::socket, 1,
                              BytesPerSecond::of(spec_.host.socket_gb_per_s * 1e9), socket_hop);
        }
    }

    // GPUs and NICs hang on these, spread evenly: the switches, or the sockets where there are
    // none.
    void add_switches() {
        holders_ = add(DeviceKind::pcie_switch, spec_.pcie.switches, "pcie");
        for (std::size_t i = 0; i < holders_.size(); ++i) {
            topology_.connect(holders_[i], sockets_[i * sockets_.size() / holders_.size()],
                              LinkKind::pcie, 1, slot(), pcie_uplink);
        }
        if (holders_.empty()) holders_ = sockets_;
    }

    DeviceId holder_of(std::size_t index, std::size_t count) const {
        return holders_[index * holders_.size() / count];
    }

    void add_gpus() {
        added_.gpus = add(DeviceKind::gpu, spec_.gpus, "gpu");
        if (spec_.mesh == NvlinkMesh::power8) return;  // NVLink takes the place of PCIe
        for (std::size_t i = 0; i < added_.gpus.size(); ++i) {
            topology_.connect(added_.gpus[i], holder_of(i, added_.gpus.size()), LinkKind::pcie, 1,
                              slot(), pcie_gpu);
        }
    }

    void nvlink(DeviceId a, DeviceId b, std::uint32_t lanes, Duration latency) {
        if (lanes == 0) return;
        const GpuProfile& gpu = gpu_named(spec_.gpu, spec_.name);
        topology_.connect(a, b, LinkKind::nvlink, lanes,
                          BytesPerSecond::of(lanes * gpu.nvlink_gb_per_s * 1e9), latency);
    }

    void add_nvlinks() {
        if (spec_.mesh == NvlinkMesh::none) return;
        const std::uint32_t lanes = gpu_named(spec_.gpu, spec_.name).nvlinks;
        const std::vector<DeviceId>& gpus = added_.gpus;
        if (spec_.mesh == NvlinkMesh::nvswitch) {
            const DeviceId plane =
                topology_.add_device(DeviceKind::nvswitch, added_.id, "nvswitch");
            for (const DeviceId gpu : gpus) nvlink(gpu, plane, lanes, nvswitch_hop);
            return;
        }
        const auto count = static_cast<std::uint32_t>(gpus.size());
        for (std::uint32_t i = 0; i < count; ++i) {
            if (spec_.mesh == NvlinkMesh::power8) nvlink(gpus[i], holder_of(i, count), 2, pcie_gpu);
            for (std::uint32_t j = i + 1; j < count; ++j) {
                nvlink(gpus[i], gpus[j], lanes_of_pair(i, j, lanes), nvlink_hop);
            }
        }
    }

    std::uint32_t lanes_of_pair(std::uint32_t i, std::uint32_t j, std::uint32_t lanes) const {
        switch (spec_.mesh) {
            case NvlinkMesh::hybrid_cube: return hybrid_cube_lanes(i, j);
            case NvlinkMesh::all_to_all: return lanes / (spec_.gpus - 1);
            case NvlinkMesh::power8: return i / 2 == j / 2 ? 2 : 0;
            default: return 0;
        }
    }

    void add_nics() {
        added_.nics = add(DeviceKind::nic, spec_.nics.count, "nic");
        for (std::size_t i = 0; i < added_.nics.size(); ++i) {
            topology_.connect(added_.nics[i], holder_of(i, added_.nics.size()), LinkKind::pcie, 1,
                              slot(), pcie_nic);
        }
    }

    Topology& topology_;
    const MachineSpec& spec_;
    AddedMachine added_;
    std::vector<DeviceId> sockets_;
    std::vector<DeviceId> holders_;
};

}  // namespace

std::uint32_t hybrid_cube_lanes(std::uint32_t i, std::uint32_t j) {
    // Rows 0 to 3 as in the NCCL dump of github NVIDIA/nccl#671, the rest by the same pattern.
    constexpr std::uint8_t lanes[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                          {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                          {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                          {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
    INVARIANT(i < 8 && j < 8);
    return lanes[i][j];
}

std::vector<MachineSpec> all_machines() {
    std::vector<MachineSpec> all;
    for (const auto family : {machine_tables::nvidia(), machine_tables::aws(),
                              machine_tables::azure(), machine_tables::others()}) {
        all.insert(all.end(), family.begin(), family.end());
    }
    return all;
}

MachineSpec machine_named(std::string_view name, std::string_view where) {
    std::vector<std::string_view> names;
    for (const MachineSpec& machine : all_machines()) {
        if (machine.name == name) return machine;
        names.push_back(machine.name);
    }
    throw InputError(
        where, "",
        fmt::format("there is no machine {}{}", ukemi::quoted(name), did_you_mean(name, names)));
}

AddedMachine add_machine(Topology& topology, const MachineSpec& spec, Machine place) {
    return Chassis(topology, spec, std::move(place)).build();
}

AddedMachine add_copy(Topology& topology, const Topology& of, Machine place) {
    constexpr MachineId first{0};
    AddedMachine added;
    added.id = topology.add_machine(std::move(place));
    std::vector<DeviceId> copies;
    for (const Device& device : of.devices()) {
        INVARIANT(device.machine == first);
        copies.push_back(topology.add_device(device.kind, added.id, device.name));
        if (device.kind == DeviceKind::gpu) added.gpus.push_back(copies.back());
        if (device.kind == DeviceKind::nic) added.nics.push_back(copies.back());
    }
    for (std::size_t i = 0; i < of.links().size(); i += 2) {  // both directions of a cable
        const Link& link = of.links()[i];
        topology.connect(copies[ukemi::index_of(link.from)], copies[ukemi::index_of(link.to)],
                         link.kind, link.lanes, link.bandwidth, link.latency);
    }
    return added;
}

}  // namespace ukemi::sim
