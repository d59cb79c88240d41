// nccl_times.hpp — how long a collective of NCCL takes, by the algorithm and protocol that it
// picks.
//
// NCCL prices ring and tree in three protocols (LL, LL128, Simple) as latency + bytes / bandwidth,
// from constants in its source, and takes the cheapest (src/graph/tuning.cc; constants as of June
// 2026 where the reference has them, tree corrections of LL and LL128 as of commit 01afd20). Here
// the same form has two uses: with NCCL's constants it says what is picked; with numbers fitted to
// a machine it says how long that takes. That NCCL picks by constants and not by the clock is why
// recorded tables jump: eight V100 take longer for 13 MiB than for 14.
//
// Bandwidth comes from the topology: the rings inside a machine (rings.hpp), the NICs between
// machines. A ring sends 2 (n − 1)/n S over each of its edges; a tree sends S up and S down, over a
// machine's NICs 2 (m − 1)/m S for m machines. NVLS (one machine, Hopper on NVSwitches): every GPU
// asks the switches for the sum of its part, which they read from all, and stores it to all, so its
// links carry (n + 1)/n S each way. Only + − × ÷ are used.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "sim/cluster/machine_spec.hpp"

namespace ukemi::studies {

enum class NcclAlgorithm : std::uint8_t { ring, tree, nvls };  // nvls: sums in the NVSwitches
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t nccl_protocols = 3;
enum class NcclGeneration : std::uint8_t { volta, ampere, hopper };  // what its constants depend on

// Gathering and scattering go over rings alone, with half of the steps. Bytes are those of the
// whole buffer, as nccl-tests counts them.
enum class NcclCollective : std::uint8_t { all_reduce, all_gather, reduce_scatter };

struct NcclChoice {
    NcclAlgorithm algorithm = NcclAlgorithm::ring;
    NcclProtocol protocol = NcclProtocol::simple;
    friend bool operator==(const NcclChoice&, const NcclChoice&) = default;
};
std::string to_string(NcclChoice choice);  // "ring/LL128"

// What the ranks of one communicator stand on: as many of the first GPUs on each of the machines.
struct NcclPlace {
    std::int32_t machines = 1;
    std::int32_t per_machine = 1;
    NcclGeneration generation = NcclGeneration::volta;
    BytesPerSecond inside;  // line rate of all rings together; max() for one GPU a machine
    std::int32_t channels = 1;
    bool relayed = false;    // rings that pass through other GPUs (rings.hpp)
    bool nvls = false;       // NVSwitches that can sum
    BytesPerSecond between;  // line rate of the NICs of a machine's ranks; max() for one machine
    std::int32_t ranks() const { return machines * per_machine; }
};

// NICs are shared evenly by a machine's GPUs, one at least for each machine. `nic` is the line rate
// of one; zero: as the machine's table says. InputError(WHERE …) if the machine has fewer GPUs, or
// if there would be one rank.
NcclPlace nccl_place(const sim::MachineSpec& machine, std::int32_t machines,
                     std::int32_t per_machine, BytesPerSecond nic, std::string_view where);

// What is reached of line rates, and multiples of NCCL's latencies.
struct NcclNumbers {
    double inside = 1;           // of the line rate of direct rings, Simple
    double relay = 1;            // of that again, if hops are relayed
    double copy_s_per_byte = 0;  // of the last step of a ring, of n − 1 + n (rings.hpp)
    double between = 1;          // of the NICs' line rate, Simple
    double ll128 = 0.92;         // of the rate of Simple
    double nvls = 0.85;          // of the rate of Simple rings
    std::array<double, nccl_protocols> latency = {1, 1, 1};
    double network_latency = 1;  // of hops between machines, times the protocol's
};

// As its source has them: NVLink 20 of 25 GB/s (Hopper 20.6), NICs 12 of 12.5.
NcclNumbers nccl_own_numbers(NcclGeneration generation);

double nccl_seconds(const NcclPlace& place, const NcclNumbers& numbers, NcclChoice choice,
                    Bytes bytes, NcclCollective collective = NcclCollective::all_reduce);
// What NCCL itself expects: its own numbers, and a tree at half of the rings' bandwidth whatever
// the number of machines.
double nccl_own_seconds(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                        NcclCollective collective = NcclCollective::all_reduce);
// The cheapest by that; ring before tree and LL before Simple among equals.
NcclChoice nccl_choice(const NcclPlace& place, Bytes bytes,
                       NcclCollective collective = NcclCollective::all_reduce);

struct NcclRow {  // of an all-reduce
    NcclPlace place;
    Bytes bytes;
    double seconds = 0;  // recorded, above 0
};

// The numbers with the least sum of squared logarithms of errors over the rows, found by walking
// along one number at a time from NCCL's own. What no row depends on stays as it is there; shares
// are at most 1, LL128's at most its 120 of 128 bytes, and latencies half to fifty times NCCL's.
NcclNumbers fit_nccl_numbers(std::span<const NcclRow> rows);

}  // namespace ukemi::studies
