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
inline constexpr double nvlink_c2c = 450;

}  // namespace ukemi::sim::machine_tables
