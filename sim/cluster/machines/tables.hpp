// tables.hpp — one table of machines a family, and the numbers that several of them share.
#pragma once

#include <span>

#include "sim/cluster/machine_spec.hpp"

namespace ukemi::sim::machine_tables {

std::span<const MachineSpec> nvidia();
std::span<const MachineSpec> aws();
std::span<const MachineSpec> azure();
std::span<const MachineSpec> others();

// Between two sockets, GB/s each way. Intel: links × GT/s × 2 bytes (Xeon data sheets); AMD:
// four xGMI-2 links of 16 lanes at 16 GT/s (Rome); POWER8: X bus. All unverified here.
inline constexpr double qpi_2 = 38.4;
inline constexpr double upi_2 = 41.6;
inline constexpr double upi_3 = 62.4;
inline constexpr double upi_4 = 128;  // Sapphire Rapids, 16 GT/s
inline constexpr double xgmi = 128;
inline constexpr double x_bus = 38.4;

// From NIC to NIC, microseconds. InfiniBand: what NCCL's 2.7 us (NET, ring, LL) leaves after the
// PCIe hops of both ends. Cloud TCP: 128 us, fitted to point-to-point times of p3.2xlarge by Parcae
// (liveput/cost.py; includes the software). EFA: 14 us, NCCL's NET constant for Simple. Ethernet of
// one's own: 50 us, assumed.
inline constexpr double infiniband_us = 1.5;
inline constexpr double cloud_tcp_us = 128;
inline constexpr double efa_us = 14;
inline constexpr double ethernet_us = 50;

}  // namespace ukemi::sim::machine_tables
