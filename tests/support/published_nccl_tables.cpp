// published_nccl_tables.cpp — nccl-tests' tables that others published where no data set has them;
// here gathers and scatters, which no figure shows.
#include "tests/support/published_table.hpp"

namespace ukemi::test {
namespace {

using sim::NcclCollective;

const std::vector<Published> published = {
    {"8 H100, bf16, all_gather",
     "dgx_h100",
     1,
     8,
     1,
     {47.14, 45.69, 47.23, 48.87, 73.03, 128.2, 211.3, 386.4, 730.2, 1394.3, 2734.1, 5379, 10615,
      21025},
     "a public script with rows of nccl-tests",
     false,
     NcclCollective::all_gather,
     2},
    {"8 H100, bf16, reduce_scatter",
     "dgx_h100",
     1,
     8,
     1,
     {43.62, 44.87, 59.15, 54.41, 75.44, 117.8, 205.3, 385.5, 726, 1410, 2758.3, 5419.6, 10584,
      20940},
     "a public script with rows of nccl-tests",
     false,
     NcclCollective::reduce_scatter,
     2},
    {"8 B200, Vultr, all_gather",
     "dgx_b200",
     1,
     8,
     1,
     {19.69, 22.35, 29.96, 44.92, 49.04, 76.98, 139.13, 207.5, 393.96, 762.42, 1486.06, 2911.01,
      5723.35, 11322.8, 22357},
     "a public summary of tests of B200 at Vultr",
     true,
     NcclCollective::all_gather,
     2},
    {"8 B200, Vultr, reduce_scatter",
     "dgx_b200",
     1,
     8,
     1,
     {19.7, 23.9, 34.26, 58.36, 52.3, 80.28, 138.64, 206.09, 388.79, 753.29, 1451.69, 2808.62,
      5552.57, 10912.1, 21629.9},
     "a public summary of tests of B200 at Vultr",
     true,
     NcclCollective::reduce_scatter,
     2},
    {"2 x 8 H200, a3-ultragpu, all_gather",
     "dgx_h200",
     2,
     8,
     1,
     {79.74, 78.41, 83.21, 94.35, 122.9, 184.2, 294.7, 495.4, 877.5, 1589.8, 3105.7, 6161.7, 12305,
      24489},
     "GoogleCloudPlatform/cluster-toolkit, dws-flex-start",
     true,
     NcclCollective::all_gather,
     2},
    {"2 x 8 H100, a3-megagpu, all_gather",
     "a3-megagpu-8g",
     2,
     8,
     8,
     {166.6, 204.6, 284, 447.4, 808.3, 1522.1, 2892.3, 5532.7, 10863, 21481, 42713},
     "dstackai/dstack, docs examples/clusters/gcp",
     false,
     NcclCollective::all_gather,
     2},
    {"2 x 8 B200, Vultr, all_gather",
     "dgx_b200",
     2,
     8,
     1,
     {77.59, 128.43, 139.74, 149.62, 202.24, 247.08, 491.04, 622.04, 1018.68, 1717.36, 3360.46,
      6591.25, 13098.1, 26185, 52287.3},
     "a public summary of tests of B200 at Vultr",
     false,
     NcclCollective::all_gather,
     2},
    {"2 x 8 B200, Vultr, reduce_scatter",
     "dgx_b200",
     2,
     8,
     1,
     {82.63, 129.6, 140.51, 151.06, 202.84, 247.72, 490.4, 618.72, 1013.12, 1705.43, 3340.3,
      6585.55, 13200.8, 26154.2, 52956.4},
     "a public summary of tests of B200 at Vultr",
     false,
     NcclCollective::reduce_scatter,
     2},
};

}  // namespace

NcclTable table_of(const Published& typed) {
    NcclTable table;
    table.name = typed.name;
    table.machine = typed.machine;
    table.machines = typed.machines;
    table.per_machine = typed.per_machine;
    table.collective = typed.collective;
    table.fitted = typed.fitted;
    table.source = typed.source;
    std::int64_t mib = typed.first_mib;
    for (const double us : typed.us) {
        table.rows.push_back({mebibytes(mib), us / 1e6});
        mib *= typed.step;
    }
    return table;
}

std::vector<NcclTable> published_nccl_tables() {
    std::vector<NcclTable> all = figure_nccl_tables();
    for (const Published& one : published) all.push_back(table_of(one));
    for (NcclTable& table : later_nccl_tables()) all.push_back(std::move(table));
    return all;
}

}  // namespace ukemi::test
