// nvidia.cpp — DGX machines.
#include "sim/cluster/machines/tables.hpp"

namespace ukemi::sim::machine_tables {
namespace {

// name, GPU, count, NVLink; {sockets, threads, GiB, GB/s}; {PCIe, switches}; {NICs, Gbit/s, us}
constexpr MachineSpec nvidia_table[] = {
    {"dgx1_v100",
     "v100_sxm2_32gb",
     8,
     NvlinkMesh::hybrid_cube,
     {2, 80, 512, qpi_2},
     {3, 4},
     {4, 100, infiniband_us},
     "DGX-1 data sheet, unverified here; NVLink counts: NCCL dump in github NVIDIA/nccl#671"},
    {"dgx_a100",
     "a100_sxm4_40gb",
     8,
     NvlinkMesh::nvswitch,
     {2, 256, 1024, xgmi},
     {4, 4},
     {8, 200, infiniband_us},
     "DGX A100 data sheet, unverified here; 12 NVLinks a GPU (NCCL topo.h)"},
    {"hgx_a100_8",
     "a100_sxm4_80gb",
     8,
     NvlinkMesh::nvswitch,
     {2, 256, 1024, xgmi},
     {4, 4},
     {4, 200, infiniband_us},
     "HGX A100 8-GPU board, a NIC for two GPUs (800 Gbit/s a machine: github VIA-Research/vTrain)"},
    {"dgx_h100",
     "h100_sxm5_80gb",
     8,
     NvlinkMesh::nvswitch,
     {2, 224, 2048, upi_4},
     {5, 4},
     {8, 400, infiniband_us},
     "DGX H100 data sheet, unverified here; 18 NVLinks a GPU"},
    {"dgx_h200",
     "h200_sxm_141gb",
     8,
     NvlinkMesh::nvswitch,
     {2, 224, 2048, upi_4},
     {5, 4},
     {8, 400, infiniband_us},
     "DGX H200 data sheet, unverified here"},
    {"hgx_a100_4",
     "a100_sxm4_40gb",
     4,
     NvlinkMesh::all_to_all,
     {1, 64, 512, 0},
     {4, 0},
     {2, 100, infiniband_us},
     "HGX A100 4-GPU board: four NVLinks a pair; host as ALCF Polaris"},
};

}  // namespace

std::span<const MachineSpec> nvidia() { return nvidia_table; }

}  // namespace ukemi::sim::machine_tables
