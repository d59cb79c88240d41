// hops.hpp — how long one hop inside a machine takes.
//
// NCCL's hops, in parts (machine_spec.hpp): 2 × 500 ns between GPUs over PCIe, 2 × 300 ns through
// an NVSwitch; to the NIC 100 ns more, so that 2 × (500 + 100) + 1500 ns of InfiniBand are 2.7 us.
#pragma once

#include "base/quantity.hpp"

namespace ukemi::sim {

inline constexpr Duration nvlink_hop = nanoseconds(600);
inline constexpr Duration nvswitch_hop = nanoseconds(300);
inline constexpr Duration pcie_gpu = nanoseconds(500);
inline constexpr Duration pcie_uplink = nanoseconds(100);
inline constexpr Duration pcie_nic = nanoseconds(100);
inline constexpr Duration socket_hop = nanoseconds(200);

}  // namespace ukemi::sim
