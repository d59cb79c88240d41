// gpus.cpp — the table of GPUs. One entry each, with where its numbers are from.
#include <fmt/format.h>

#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/plain_text.hpp"
#include "sim/cluster/gpu_profile.hpp"

namespace ukemi::sim {
namespace {

constexpr Bytes gib(std::int64_t n) { return mebibytes(n * 1024); }

// NVIDIA data sheets, unverified here; where a page or log was read, it is named.
// Memory is what a driver reports as the total (`memory.total` of nvidia-smi from R510 on, VRAM
// total of rocm-smi), as public logs show it: all that there is but what ECC takes where it lies in
// the same chips (a 16th of GDDR: 15360 MiB of a T4) and what the board holds back (81559 MiB of an
// H100, 143771 of an H200, 183359 of a B200, 189471 of a GB200; 206141652992 bytes of a MI300X).
// The driver's own part is in that total and is paid from MemoryRule::reserve; older drivers left
// it out (16160 MiB of a V100, 11441 of a K80, which no later one knows), and with those it would
// count twice.
// Columns: name; fp32, tf32, fp16, bf16, fp8 TFLOP/s; memory and GB/s; NVLinks and GB/s of one;
// PCIe.
constexpr GpuProfile gpus[] = {
    // A K80 board has two of these behind one x16 slot.
    {"k80",
     {4.37, 0, 0, 0},
     mebibytes(11520),
     240,
     0,
     0,
     3,
     "2014-11",
     "NVIDIA data sheet, half a board"},
    {"titan_x_maxwell", {6.6, 0, 0, 0}, gib(12), 336.5, 0, 0, 3, "2015-03", "NVIDIA data sheet"},
    {"titan_x_pascal", {11.0, 0, 0, 0}, gib(12), 480, 0, 0, 3, "2016-08", "NVIDIA data sheet"},
    {"p100_pcie", {9.3, 0, 18.7, 0}, gib(16), 732, 0, 0, 3, "2016-06", "NVIDIA data sheet"},
    {"p100_sxm2", {10.6, 0, 21.2, 0}, gib(16), 732, 4, 20, 3, "2016-04", "NVIDIA data sheet"},
    {"v100_pcie_16gb", {14.0, 0, 112, 0}, gib(16), 900, 0, 0, 3, "2017-06", "NVIDIA data sheet"},
    {"v100_sxm2_16gb", {15.7, 0, 125, 0}, gib(16), 900, 6, 25, 3, "2017-06", "NVIDIA data sheet"},
    {"v100_sxm2_32gb", {15.7, 0, 125, 0}, gib(32), 900, 6, 25, 3, "2018-03", "NVIDIA data sheet"},
    {"t4", {8.1, 0, 65, 0}, mebibytes(15360), 320, 0, 0, 3, "2018-09", "NVIDIA data sheet"},
    {"rtx6000",
     {16.3, 0, 130.5, 0},
     gib(24),
     672,
     2,
     25,
     3,
     "2018-08",
     "NVIDIA data sheet (Quadro, Turing); ECC is off"},
    {"a100_sxm4_40gb",
     {19.5, 156, 312, 312},
     gib(40),
     1555,
     12,
     25,
     4,
     "2020-05",
     "NVIDIA data sheet"},
    {"a100_sxm4_80gb",
     {19.5, 156, 312, 312},
     gib(80),
     2039,
     12,
     25,
     4,
     "2020-11",
     "NVIDIA data sheet"},
    {"h100_sxm5_80gb",
     {67, 494, 989, 989, 1979},
     mebibytes(81559),
     3350,
     18,
     25,
     5,
     "2022-09",
     "NVIDIA data sheet"},
    {"h200_sxm_141gb",
     {67, 494, 989, 989, 1979},
     mebibytes(143771),
     4800,
     18,
     25,
     5,
     "2023-11",
     "NVIDIA data sheet"},
    {"b200_sxm_180gb",
     {75, 1100, 2250, 2250, 4500},
     mebibytes(183359),
     7700,
     18,
     50,
     5,
     "2024-11",
     "NVIDIA data sheet (DGX B200)"},
    {"gb200_186gb",
     {80, 1250, 2500, 2500, 5000},
     mebibytes(189471),
     8000,
     18,
     50,
     5,
     "2024-11",
     "NVIDIA data sheet (GB200 NVL72, one GPU)"},
    {"mi300x",
     {163.4, 653.7, 1307.4, 1307.4, 2614.9},
     bytes(206'141'652'992),
     5300,
     7,
     64,
     5,
     "2023-12",
     "AMD data sheet; links are xGMI"},
};

}  // namespace

std::span<const GpuProfile> all_gpus() { return gpus; }

const GpuProfile& gpu_named(std::string_view name, std::string_view where) {
    std::vector<std::string_view> names;
    for (const GpuProfile& gpu : gpus) {
        if (gpu.name == name) return gpu;
        names.push_back(gpu.name);
    }
    throw InputError(
        where, "",
        fmt::format("there is no GPU {}{}", ukemi::quoted(name), did_you_mean(name, names)));
}

BytesPerSecond pcie_x16_rate(int generation) {
    INVARIANT(generation >= 3 && generation <= 5);
    const double transfers = 8e9 * static_cast<double>(1 << (generation - 3));
    return BytesPerSecond::of(transfers * 16 * 128 / 130 / 8);
}

}  // namespace ukemi::sim
