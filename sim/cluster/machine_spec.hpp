// machine_spec.hpp — what is inside one chassis: a table of real machines, and the wires of each.
//
// A machine is described by a handful of numbers (GPUs, how NVLink joins them, PCIe switches,
// sockets, NICs); add_machine() makes its devices and links. Link rates are line rates. Latencies
// are those of NCCL's tuning model for its LL protocol (src/graph/tuning.cc, June 2026: NVLINK
// 0.6 us a hop from GPU to GPU, PCI 1.0 us, NET 2.7 us), split over the links of such a hop; the
// socket link's 0.2 us is assumed. To add a machine: one entry in a table of machines/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

enum class NvlinkMesh : std::uint8_t {
    none,
    hybrid_cube,  // DGX-1: eight V100 with six links each; with fewer GPUs, the first of them
    nvswitch,     // all lanes of every GPU to one non-blocking plane
    all_to_all,   // lanes shared evenly among the others
    power8,       // S822LC: two lanes to the socket, two to the neighbour on the same socket
};

struct MachineSpec {
    struct Host {
        std::uint32_t sockets = 1;
        std::uint32_t cores = 1;  // hardware threads, as clouds count vCPUs
        std::uint32_t memory_gib = 1;
        double socket_gb_per_s = 0;  // between two sockets, one direction
        bool amd = false;
    };
    struct Pcie {
        int generation = 3;
        std::uint32_t switches = 0;  // spread over the sockets; 0: GPUs and NICs hang on sockets
    };
    struct Nics {
        std::uint32_t count = 1;
        double gbit_per_s = 0;  // each
        NicKind kind = NicKind::infiniband;
    };

    std::string_view name;
    std::string_view gpu;  // of gpus.cpp; empty: it has none
    std::uint32_t gpus = 0;
    NvlinkMesh mesh = NvlinkMesh::none;
    Host host;
    Pcie pcie;
    Nics nics;
    std::string_view source;
};

std::vector<MachineSpec> all_machines();
// Throws InputError("WHERE: there is no machine …") with the nearest name.
MachineSpec machine_named(std::string_view name, std::string_view where);

// Adds the machine, its devices and its inner links; the NICs wait for a network.
struct AddedMachine {
    MachineId id{};
    std::vector<DeviceId> gpus;
    std::vector<DeviceId> nics;
};
AddedMachine add_machine(Topology& topology, const MachineSpec& spec, Machine place);
// The same of the first machine of another topology, device by device.
AddedMachine add_copy(Topology& topology, const Topology& of, Machine place);

// The NVLinks between GPUs i and j of a DGX-1 with V100s, 0 ≤ i, j < 8.
std::uint32_t hybrid_cube_lanes(std::uint32_t i, std::uint32_t j);

}  // namespace ukemi::sim
