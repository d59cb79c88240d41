// nccl_place.hpp — what the ranks of one communicator of NCCL stand on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/quantity.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

enum class NcclGeneration : std::uint8_t { pascal, volta, ampere, hopper, blackwell };

struct NcclPlace {
    std::int32_t machines = 1;
    std::int32_t per_machine = 1;  // the first GPUs of each
    NcclGeneration generation = NcclGeneration::volta;
    // Line rates and what large messages reach of them (link_reach.hpp, or what a scenario says).
    BytesPerSecond inside = BytesPerSecond::max();   // all rings together; max() for one GPU
    BytesPerSecond between = BytesPerSecond::max();  // the NICs of a machine's ranks, each way, if
                                                     // no switch carries less; max() for a machine
    double inside_share = 1;
    double between_share = 1;
    double copy_s_per_byte = 0;  // RingEfficiency
    std::int32_t channels = 1;   // rings inside a machine; NICs where there are several machines
    double hop_us = 0;           // of a hop between machines, beyond what NCCL's constants have
    bool nvlink = true;          // else the rings are on PCIe
    bool nvls = false;           // NVSwitches that can sum; between machines, NICs that NCCL
                                 // combines with it
    bool ll128 = true;
    bool amd = false;   // CPUs of AMD: other constants between machines
    std::string reach;  // in words, with sources

    std::int32_t ranks() const { return machines * per_machine; }
};

// Of these workers, `per_host` on each machine in order. InputError(WHERE …) if there are fewer
// than two, not as many on each machine, machines of several kinds, or GPUs that NCCL does not
// know.
NcclPlace nccl_place(const Topology& topology, Routes& routes, std::span<const DeviceId> workers,
                     std::int32_t per_host, std::string_view where);

}  // namespace ukemi::sim
