// link_reach.hpp — what software reaches of the line rates of links, by their kind, and where each
// number is from. Nothing reaches 1 because nobody looked: a share of 1 says so in its source.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ukemi::sim {

// What carries messages between machines, and the software in front of it.
enum class NicKind : std::uint8_t {
    infiniband,  // or RoCE
    infiniband_sharp,
    efa,
    efa_v2,
    slingshot,
    tcpxo,
    cloud_tcp,
    ethernet,
};
inline constexpr std::array<std::string_view, 8> nic_kind_names = {
    "infiniband", "infiniband_sharp", "efa",     "efa_v2", "slingshot",
    "tcpxo",      "cloud_tcp",        "ethernet"};

struct NicReach {
    NicKind kind{};
    std::string_view name;
    double latency_us = 0;   // from NIC to NIC through one switch
    double share = 1;        // of the line rate, for large messages
    bool ll128 = false;      // NCCL uses that protocol over it, if the GPU is near
    bool sums = false;       // its switches add up (SHARP), which NCCL calls CollNet
    bool nvls_tree = false;  // NCCL sums in NVSwitches on both sides of it (NVIDIA/nccl#1031)
    std::string_view source;
};

const NicReach& nic_reach(NicKind kind);

// Of rings of GPUs. For large messages a ring all-reduce of S bytes over n GPUs takes
// 2 (n − 1)/n S / (wire × bandwidth) + S/n × copy_s_per_byte: 2 (n − 1) sends, and one step more
// without a send (NCCL's ring has 2 n − 1 primitives for 2 n − 2 sends).
struct RingEfficiency {
    std::string_view links;  // "NVLink 3 through NVSwitch"
    double wire = 1;         // of the line rate, direct hops
    double relay = 1;        // of that again, if hops are relayed (rings.hpp)
    double copy_s_per_byte = 0;
    std::string_view source;
};

// Of the GPU's NVLinks, direct or through an NVSwitch; of PCIe for a GPU without any.
const RingEfficiency& ring_efficiency(std::string_view gpu, bool through_switch);

}  // namespace ukemi::sim
