// later_nccl_tables.cpp — nccl-tests' tables that were collected on 2026-11-28. Before they were
// compared with anything, every other one was kept aside: numbers were chosen without it.
// Gathers and scatters; the all-reduces of that day stand in figures.
#include <utility>

#include "tests/support/published_table.hpp"

namespace ukemi::test {
namespace {

constexpr auto all_gather = sim::NcclCollective::all_gather;

const std::vector<Published> looked_at = {
    {"2 x 8 B200, A4 by GKE, all_gather",
     "dgx_b200",
     2,
     8,
     1,
     {87.85, 92.52, 97.41, 110, 141.3, 203.2, 303.3, 513.2, 842.4, 1511.8, 2976.7, 5888.9, 11722,
      23379},
     "Google Cloud, GKE: custom AI clusters",
     true,
     all_gather},
    {"2 x 8 B200, A4 by toolkit, all_gather",
     "dgx_b200",
     2,
     8,
     1,
     {81.56, 86.29, 95.18, 103.9, 132.9, 185.7, 285.6, 477.4, 792.9, 1456.3, 2809.4, 5548.2, 11017,
      21986},
     "GoogleCloudPlatform/cluster-toolkit, gke-a4",
     true,
     all_gather},
    {"8 GB200, A4X by toolkit, all_gather",
     "gb200_nvl72",
     1,
     8,
     1,
     {21.95, 24.15, 31.5, 47.42, 48.72, 75.08, 178.7, 211.1, 413.2, 820.1, 1566.5, 3025.3, 5898.8,
      11541},
     "Google Cloud, AI Hypercomputer: GKE by default",
     false,
     all_gather},
    {"2 x 8 H200, A3 Ultra by GKE, all_gather",
     "dgx_h200",
     2,
     8,
     1,
     {80.9, 80.22, 82.86, 95.83, 122.8, 180.6, 279.7, 507.5, 866.3, 1576.1, 3096.6, 6148, 12226,
      24391},
     "Google Cloud, GKE: custom AI clusters",
     true,
     all_gather},
    {"2 x 8 H200, bare pods, all_gather",
     "dgx_h200",
     2,
     8,
     1,
     {54.7, 69.52, 77.41, 87.98, 117.6, 177.2, 277.8, 493.7, 876.1, 1580.2, 3126.8, 6218, 12400,
      24739},
     "skypilot-org/skypilot, examples of GPUDirect",
     false,
     all_gather},
};

const std::vector<Published> kept_aside = {
    {"2 x 8 B200, A4 with gIB 2.26, all_gather",
     "dgx_b200",
     2,
     8,
     1,
     {63.77, 84.46, 94.15, 107.9, 140.4, 152.6, 236.2, 415.7, 742.9, 1412.5, 2767, 5429.5, 10757,
      21395},
     "esaaren/verl-on-gke",
     false,
     all_gather},
    {"2 x 8 B200, A4 with gIB 2.25, all_gather",
     "dgx_b200",
     2,
     8,
     1,
     {117.2, 118.8, 122.2, 132.2, 139.2, 152, 227.6, 431.7, 728.6, 1404.2, 2795.8, 5440.1, 10754,
      21434, 42679},
     "Google Cloud, AI Hypercomputer: NCCL/gIB",
     false,
     all_gather},
    {"8 GB200, A4X by GKE, all_gather",
     "gb200_nvl72",
     1,
     8,
     1,
     {25.43, 32.3, 45.92, 71.38, 74.17, 116.6, 188.9, 309.6, 559, 1053.7, 2087.4, 4154.7, 8289.2,
      16556},
     "Google Cloud, GKE: custom A4X clusters",
     false,
     all_gather},
    {"32 GB200, A4X by GKE, all_gather",
     "gb200_nvl72",
     1,
     32,
     1,
     {72.8, 73.4, 73.86, 102.5, 158.3, 158.4, 250.7, 417.7, 728.8, 1226.5, 2268.4, 4330.6, 8640.9,
      17258},
     "Google Cloud, GKE: custom A4X clusters",
     false,
     all_gather},
    {"2 x 8 H200, SkyPilot, all_gather",
     "dgx_h200",
     2,
     8,
     1,
     {58.46, 68.4, 76.56, 86.92, 116.2, 174.4, 278.1, 499.6, 885.5, 1575.6, 3123.9, 6229.6, 12416,
      24724},
     "skypilot-org/skypilot, examples of GPUDirect",
     false,
     all_gather},
    {"2 x 8 H100, A3 Mega by toolkit, all_gather",
     "a3-megagpu-8g",
     2,
     8,
     1,
     {133.87, 136.34, 148.45, 166.11, 197.88, 290.54, 517.87, 806.59, 1510.98, 2880.08, 5531.01,
      10820.2, 21430.5, 42668.7},
     "GoogleCloudPlatform/cluster-toolkit, gke-a3-megagpu",
     false,
     all_gather},
};

}  // namespace

std::vector<NcclTable> later_nccl_tables() {
    std::vector<NcclTable> all;
    for (const Published& one : looked_at) all.push_back(table_of(one));
    for (const Published& one : kept_aside) {
        all.push_back(table_of(one));
        all.back().kept_aside = true;
    }
    return all;
}

}  // namespace ukemi::test
