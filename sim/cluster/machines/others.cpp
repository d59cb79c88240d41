// others.cpp — machines of papers, of AMD and of Google.
#include "sim/cluster/machines/tables.hpp"

namespace ukemi::sim::machine_tables {
namespace {

// name, GPU, count, NVLink; {sockets, threads, GiB, GB/s}; {PCIe, switches}; {NICs, Gbit/s, kind}
constexpr MachineSpec others_table[] = {
    {"ibm_s822lc",
     "p100_sxm2",
     4,
     NvlinkMesh::power8,
     {2, 160, 512, x_bus},
     {3, 0},
     {1, 100, NicKind::infiniband},
     "IBM REDP-5405, unverified here; the 64 hosts of arXiv:1708.02188"},
    {"six_gpu_box",
     "titan_x_pascal",
     6,
     NvlinkMesh::none,
     {2, 40, 128, qpi_2},
     {3, 2},
     {1, 10, NicKind::ethernet},
     "assumed: three x16 cards behind a switch on each of two sockets"},
    {"titan_x_8",
     "titan_x_pascal",
     8,
     NvlinkMesh::none,
     {2, 40, 256, qpi_2},
     {3, 4},
     {1, 10, NicKind::ethernet},
     "the server of Crossbow, PVLDB 12(11), 2019 (as remembered: two sockets of ten cores; "
     "switches and NIC assumed)"},
    {"titan_x_pair",
     "titan_x_maxwell",
     2,
     NvlinkMesh::none,
     {2, 48, 256, qpi_2},
     {3, 0},
     {1, 10, NicKind::ethernet},
     "one of eight machines of arXiv:1905.13727 (as remembered; memory assumed)"},
    {"mi300x_8",
     "mi300x",
     8,
     NvlinkMesh::all_to_all,
     {2, 192, 2048, xgmi, true},
     {5, 8},
     {8, 400, NicKind::infiniband},
     "AMD Instinct MI300X platform data sheet, unverified here: an xGMI link a pair"},
    {"a3-megagpu-8g",
     "h100_sxm5_80gb",
     8,
     NvlinkMesh::nvswitch,
     {2, 208, 1872, upi_4},
     {5, 4},
     {8, 200, NicKind::tcpxo},
     "Google Cloud machine page, unverified here"},
    {"cpu_16_core",
     "",
     0,
     NvlinkMesh::none,
     {1, 16, 64, 0},
     {3, 0},
     {1, 1, NicKind::ethernet},
     "one of 60 machines at 1 Gbit/s: the CPU cluster of Or et al., MLSys 2020 (host assumed)"},
};

}  // namespace

std::span<const MachineSpec> others() { return others_table; }

}  // namespace ukemi::sim::machine_tables
