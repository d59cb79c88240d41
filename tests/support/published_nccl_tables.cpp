// published_nccl_tables.cpp — nccl-tests' tables that others published where no data set has them:
// all-reduces from the figures, and here gathers and scatters, which no figure shows.
#include "tests/support/nccl_tables.hpp"

namespace ukemi::test {
namespace {

constexpr auto all_gather = sim::NcclCollective::all_gather;
constexpr auto reduce_scatter = sim::NcclCollective::reduce_scatter;
// Of those from 2026-11-28 on every other one was kept aside before anything was compared.
enum class Use : std::uint8_t { fitted, predicted, kept_aside };
using enum Use;

// Microseconds out of place, from a size on, each next one of twice the size.
struct Gathered {
    std::string_view name;
    std::string_view machine;
    std::int32_t machines;
    std::int32_t per_machine;
    sim::NcclCollective collective;
    std::int64_t first_mib;
    std::vector<double> us;
    std::string_view source;
    Use use;
};
const std::vector<Gathered> gathers = {
    {"8 H100, bf16, all_gather",
     "dgx_h100",
     1,
     8,
     all_gather,
     1,
     {47.14, 45.69, 47.23, 48.87, 73.03, 128.2, 211.3, 386.4, 730.2, 1394.3, 2734.1, 5379, 10615,
      21025},
     "a public script with rows of nccl-tests",
     predicted},
    {"8 H100, bf16, reduce_scatter",
     "dgx_h100",
     1,
     8,
     reduce_scatter,
     1,
     {43.62, 44.87, 59.15, 54.41, 75.44, 117.8, 205.3, 385.5, 726, 1410, 2758.3, 5419.6, 10584,
      20940},
     "a public script with rows of nccl-tests",
     predicted},
    {"8 B200, Vultr, all_gather",
     "dgx_b200",
     1,
     8,
     all_gather,
     1,
     {19.69, 22.35, 29.96, 44.92, 49.04, 76.98, 139.13, 207.5, 393.96, 762.42, 1486.06, 2911.01,
      5723.35, 11322.8, 22357},
     "a public summary of tests of B200 at Vultr",
     fitted},
    {"8 B200, Vultr, reduce_scatter",
     "dgx_b200",
     1,
     8,
     reduce_scatter,
     1,
     {19.7, 23.9, 34.26, 58.36, 52.3, 80.28, 138.64, 206.09, 388.79, 753.29, 1451.69, 2808.62,
      5552.57, 10912.1, 21629.9},
     "a public summary of tests of B200 at Vultr",
     fitted},
    {"2 x 8 H200, a3-ultragpu, all_gather",
     "dgx_h200",
     2,
     8,
     all_gather,
     1,
     {79.74, 78.41, 83.21, 94.35, 122.9, 184.2, 294.7, 495.4, 877.5, 1589.8, 3105.7, 6161.7, 12305,
      24489},
     "GoogleCloudPlatform/cluster-toolkit, dws-flex-start",
     fitted},
    {"2 x 8 H100, a3-megagpu, all_gather",
     "a3-megagpu-8g",
     2,
     8,
     all_gather,
     8,
     {166.6, 204.6, 284, 447.4, 808.3, 1522.1, 2892.3, 5532.7, 10863, 21481, 42713},
     "dstackai/dstack, docs examples/clusters/gcp",
     predicted},
    {"2 x 8 B200, Vultr, all_gather",
     "dgx_b200",
     2,
     8,
     all_gather,
     1,
     {77.59, 128.43, 139.74, 149.62, 202.24, 247.08, 491.04, 622.04, 1018.68, 1717.36, 3360.46,
      6591.25, 13098.1, 26185, 52287.3},
     "a public summary of tests of B200 at Vultr",
     predicted},
    {"2 x 8 B200, Vultr, reduce_scatter",
     "dgx_b200",
     2,
     8,
     reduce_scatter,
     1,
     {82.63, 129.6, 140.51, 151.06, 202.84, 247.72, 490.4, 618.72, 1013.12, 1705.43, 3340.3,
      6585.55, 13200.8, 26154.2, 52956.4},
     "a public summary of tests of B200 at Vultr",
     predicted},
    {"2 x 8 B200, A4 by GKE, all_gather",
     "dgx_b200",
     2,
     8,
     all_gather,
     1,
     {87.85, 92.52, 97.41, 110, 141.3, 203.2, 303.3, 513.2, 842.4, 1511.8, 2976.7, 5888.9, 11722,
      23379},
     "Google Cloud, GKE: custom AI clusters",
     fitted},
    {"2 x 8 B200, A4 by toolkit, all_gather",
     "dgx_b200",
     2,
     8,
     all_gather,
     1,
     {81.56, 86.29, 95.18, 103.9, 132.9, 185.7, 285.6, 477.4, 792.9, 1456.3, 2809.4, 5548.2, 11017,
      21986},
     "GoogleCloudPlatform/cluster-toolkit, gke-a4",
     fitted},
    {"8 GB200, A4X by toolkit, all_gather",
     "gb200_nvl72",
     1,
     8,
     all_gather,
     1,
     {21.95, 24.15, 31.5, 47.42, 48.72, 75.08, 178.7, 211.1, 413.2, 820.1, 1566.5, 3025.3, 5898.8,
      11541},
     "Google Cloud, AI Hypercomputer: GKE by default",
     predicted},
    {"2 x 8 H200, A3 Ultra by GKE, all_gather",
     "dgx_h200",
     2,
     8,
     all_gather,
     1,
     {80.9, 80.22, 82.86, 95.83, 122.8, 180.6, 279.7, 507.5, 866.3, 1576.1, 3096.6, 6148, 12226,
      24391},
     "Google Cloud, GKE: custom AI clusters",
     fitted},
    {"2 x 8 H200, bare pods, all_gather",
     "dgx_h200",
     2,
     8,
     all_gather,
     1,
     {54.7, 69.52, 77.41, 87.98, 117.6, 177.2, 277.8, 493.7, 876.1, 1580.2, 3126.8, 6218, 12400,
      24739},
     "skypilot-org/skypilot, examples of GPUDirect",
     predicted},
    {"2 x 8 B200, A4 with gIB 2.26, all_gather",
     "dgx_b200",
     2,
     8,
     all_gather,
     1,
     {63.77, 84.46, 94.15, 107.9, 140.4, 152.6, 236.2, 415.7, 742.9, 1412.5, 2767, 5429.5, 10757,
      21395},
     "esaaren/verl-on-gke",
     kept_aside},
    {"2 x 8 B200, A4 with gIB 2.25, all_gather",
     "dgx_b200",
     2,
     8,
     all_gather,
     1,
     {117.2, 118.8, 122.2, 132.2, 139.2, 152, 227.6, 431.7, 728.6, 1404.2, 2795.8, 5440.1, 10754,
      21434, 42679},
     "Google Cloud, AI Hypercomputer: NCCL/gIB",
     kept_aside},
    {"8 GB200, A4X by GKE, all_gather",
     "gb200_nvl72",
     1,
     8,
     all_gather,
     1,
     {25.43, 32.3, 45.92, 71.38, 74.17, 116.6, 188.9, 309.6, 559, 1053.7, 2087.4, 4154.7, 8289.2,
      16556},
     "Google Cloud, GKE: custom A4X clusters",
     kept_aside},
    {"32 GB200, A4X by GKE, all_gather",
     "gb200_nvl72",
     1,
     32,
     all_gather,
     1,
     {72.8, 73.4, 73.86, 102.5, 158.3, 158.4, 250.7, 417.7, 728.8, 1226.5, 2268.4, 4330.6, 8640.9,
      17258},
     "Google Cloud, GKE: custom A4X clusters",
     kept_aside},
    {"2 x 8 H200, SkyPilot, all_gather",
     "dgx_h200",
     2,
     8,
     all_gather,
     1,
     {58.46, 68.4, 76.56, 86.92, 116.2, 174.4, 278.1, 499.6, 885.5, 1575.6, 3123.9, 6229.6, 12416,
      24724},
     "skypilot-org/skypilot, examples of GPUDirect",
     kept_aside},
    {"2 x 8 H100, A3 Mega by toolkit, all_gather",
     "a3-megagpu-8g",
     2,
     8,
     all_gather,
     1,
     {133.87, 136.34, 148.45, 166.11, 197.88, 290.54, 517.87, 806.59, 1510.98, 2880.08, 5531.01,
      10820.2, 21430.5, 42668.7},
     "GoogleCloudPlatform/cluster-toolkit, gke-a3-megagpu",
     kept_aside},
};

}  // namespace

std::vector<NcclTable> published_nccl_tables() {
    std::vector<NcclTable> all = figure_nccl_tables();
    for (const Gathered& one : gathers) {
        NcclTable& table = all.emplace_back();
        table.name = one.name;
        table.machine = one.machine;
        table.machines = one.machines;
        table.per_machine = one.per_machine;
        table.collective = one.collective;
        table.fitted = one.use == fitted;
        table.kept_aside = one.use == kept_aside;
        table.source = one.source;
        std::int64_t mib = one.first_mib;
        for (const double us : one.us) {
            table.rows.push_back({mebibytes(mib), us / 1e6});
            mib *= 2;
        }
    }
    return all;
}

}  // namespace ukemi::test
