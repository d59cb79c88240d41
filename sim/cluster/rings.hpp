// rings.hpp — the rings that a ring all-reduce can use at once inside a machine, as NCCL looks for
// them, and the bandwidth that they give.
//
// A ring visits every GPU once; one NVLink carries one ring in each direction. find_rings() takes
// the first of three ways that gives any ring at all (NCCL's path types NVL, NVB and PIX to SYS, in
// this order of preference; src/graph/paths.cc, search.cc):
//   nvlink   every hop is an NVLink of its own, or goes through one NVSwitch
//   relayed  a hop between two GPUs without an NVLink may pass through a third of the set that has
//            NVLinks to both. The sender writes into the memory of that third, the receiver reads
//            it from there (NVIDIA/nccl#819, a maintainer on 2023-04-11): a remote read where a
//            direct hop is a write, which is why a relayed ring is slower than its wires
//   routed   one ring over shortest paths (PCIe, sockets), whose links are shared: from each GPU to
//            the nearest that is left, of equals the first given
// Bandwidth is not monotonic in the number of GPUs: 0 to 3 of a DGX-1 have four rings, 0 to 4 two.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "sim/cluster/link_reach.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

enum class RingKind : std::uint8_t { nvlink, relayed, routed };
std::string_view to_string(RingKind kind);

struct RingPlan {
    RingKind kind = RingKind::routed;
    std::vector<std::vector<DeviceId>> rings;  // GPUs in order; each begins with the first given
    BytesPerSecond bandwidth;                  // of all rings together, at line rate
    bool exhaustive = true;  // false: the search ended at its limit, there may be more rings
};

// Machines with more GPUs have NVSwitches, or no NVLink; the search is for at most so many.
inline constexpr std::size_t ring_gpus_max = 8;

// Two or more GPUs, all different. Throws InputError if two of them have no path.
RingPlan find_rings(const Topology& topology, std::span<const DeviceId> gpus);

// A plan's rings as places among the GPUs that it was made for: 0 is the first of them.
std::vector<std::vector<std::size_t>> ring_places(const RingPlan& plan,
                                                  std::span<const DeviceId> gpus);

// By what a GPU sends to another machine.
struct WayOut {
    std::size_t nic = 0;  // its number among those that are used
    // It crosses sockets by a link that carries less than all NICs that are reached over it.
    bool is_narrow = false;
    // On PCIe, by place: links to it. A ring that is opened between near ones crosses what they
    // share twice.
    std::vector<std::size_t> links;
};
// By place among the GPUs of the first machine, towards the next one. All alike where `workers`, so
// many on each machine, are on one.
std::vector<WayOut> ways_out(const Topology& topology, std::span<const DeviceId> workers,
                             std::size_t each);
// `count` rings through all machines, each in the order of ranks; `inside` are the orders in each
// machine, all machines alike, which rings have in turn. Rings enter a machine and leave it at GPUs
// of the NICs that the fewest have taken, of these by ways that are not narrow, and then between
// places that are far from each other.
std::vector<std::vector<std::int32_t>> rings_through(
    std::span<const std::vector<std::size_t>> inside, std::span<const WayOut> ways,
    std::size_t count, std::size_t ranks);

// The bus bandwidth as nccl-tests defines it (doc/PERFORMANCE.md): S/t × 2 (n − 1)/n.
BytesPerSecond ring_bus_bandwidth(const RingPlan& plan, std::size_t gpus,
                                  const RingEfficiency& efficiency);

}  // namespace ukemi::sim
