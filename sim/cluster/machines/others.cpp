// others.cpp — machines of papers: IBM's DDL, a box of six GPUs, a cluster without GPUs.
#include "sim/cluster/machines/tables.hpp"

namespace ukemi::sim::machine_tables {
namespace {

// name, GPU, count, NVLink; {sockets, threads, GiB, GB/s}; {PCIe, switches}; {NICs, Gbit/s, us}
constexpr MachineSpec others_table[] = {
    {"ibm_s822lc",
     "p100_sxm2",
     4,
     NvlinkMesh::power8,
     {2, 160, 512, x_bus},
     {3, 0},
     {1, 100, infiniband_us},
     "IBM REDP-5405, unverified here; the 64 hosts of arXiv:1708.02188"},
    {"six_gpu_box",
     "titan_x_pascal",
     6,
     NvlinkMesh::none,
     {2, 40, 128, qpi_2},
     {3, 2},
     {1, 10, ethernet_us},
     "assumed: three x16 cards behind a switch on each of two sockets"},
    {"cpu_16_core",
     "",
     0,
     NvlinkMesh::none,
     {1, 16, 64, 0},
     {3, 0},
     {1, 1, ethernet_us},
     "one of 60 machines at 1 Gbit/s: the CPU cluster of Or et al., MLSys 2020 (host assumed)"},
};

}  // namespace

std::span<const MachineSpec> others() { return others_table; }

}  // namespace ukemi::sim::machine_tables
