// nccl_place.hpp — what the ranks of one communicator of NCCL stand on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

// What NCCL's search takes a NIC for, of its line rate (src/graph/topo.h).
inline constexpr double nccl_network_share = 12 / 12.5;

inline constexpr std::int32_t nccl_board = 8;  // GPUs

enum class NcclGeneration : std::uint8_t { pascal, volta, ampere, hopper, blackwell };

// Of the piece of a message that comes farthest.
struct NcclDistance {
    double round_us = 0;       // around the ring of ranks, where it is summed or spread
    double two_rounds_us = 0;  // where it is both
    double tree_us = 0;        // from the farthest machine to the tree's root
    double hop_us = 0;         // the longest hop
};

struct NcclPlace {
    std::int32_t machines = 1;
    std::int32_t per_machine = 1;  // on the one with most
    std::int32_t fewer = 0;        // ranks that the others lack
    std::int32_t domain = 1;       // GPUs that a machine has, in use or not
    NcclGeneration generation = NcclGeneration::volta;
    // Line rates and what large messages reach of them (link_reach.hpp, or what a scenario says).
    BytesPerSecond inside = BytesPerSecond::max();   // all rings together; max() for one GPU
    BytesPerSecond between = BytesPerSecond::max();  // the NICs of a machine's ranks, each way, if
                                                     // no switch carries less; max() for a machine
    double inside_share = 1;
    double between_share = 1;
    double copy_s_per_byte = 0;  // RingEfficiency
    std::int32_t channels = 1;   // rings inside a machine; NICs where there are several machines
    bool twice = false;          // NCCL has two channels for each of these
    double hop_us = 0;           // of a hop between machines, beyond what NCCL's constants have
    // What distance adds to hops of this ring and this tree of machines: switches on the way, and
    // what a scenario says of latencies. NCCL does not know it: its choice is made without.
    NcclDistance distance;
    bool nvlink = true;     // else the rings are on PCIe
    bool switched = false;  // NVSwitches
    bool nvls = false;      // NVSwitches that can sum; between machines, NICs that NCCL
                            // combines with it
    bool sums = false;      // switches of the network that can
    bool ll128 = true;
    bool ring_only = false;  // no trees and no sums in switches: NCCL before 2.4, NCCL_ALGO=Ring
    bool amd = false;        // CPUs of AMD: other constants between machines
    std::string reach;       // in words, with sources

    std::int32_t priced_channels() const { return twice ? 2 * channels : channels; }
    // Blackwell GPUs of one board, not of a rack, where hops go through trays of switches.
    bool blackwell_board() const {
        return generation == NcclGeneration::blackwell && domain <= nccl_board;
    }
    std::int32_t ranks() const { return machines * per_machine - fewer; }
};

// What large messages reach of a link's line rate, on the way from one worker to another: 1 where a
// scenario says what its bandwidth is.
class NcclReach {
public:
    explicit NcclReach(const Topology& topology) : topology_(topology) {}
    double share(const Link& link, DeviceId from, DeviceId to);

private:
    struct Shares {
        double nvlink = 0;  // none was asked for yet
        double network = 0;
    };
    const Shares& of_machine(DeviceId device);
    const Topology& topology_;
    std::vector<Shares> shares_;  // by machine
};

struct NcclRanks {  // whose place it is
    std::vector<DeviceId> workers;
    NcclPlace place;
};

// Of these workers, those of a machine standing together. A group uses the NICs next to its GPUs,
// as many as there are on each of its machines. InputError(WHERE …) if there are fewer than two,
// machines of several kinds, or GPUs that NCCL does not know.
NcclPlace nccl_place(const Topology& topology, Routes& routes, std::span<const DeviceId> workers,
                     std::string_view where);

// Whether training there uses NCCL unless told otherwise: it can run on these workers, and their
// machines have NVLink.
bool nccl_is_usual(const Topology& topology, std::span<const DeviceId> workers);

}  // namespace ukemi::sim
