// link_reach.cpp — the table of shares. To add a kind of link: one entry, with its source.
#include "sim/cluster/link_reach.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

// Latencies, microseconds. InfiniBand: what NCCL's 2.7 us (NET, ring, LL) leaves after the PCIe
// hops of both ends. Cloud TCP: 128 us, fitted to point-to-point times of p3.2xlarge by Parcae
// (liveput/cost.py; includes the software). EFA of p5: 14 us, NCCL's NET constant for Simple.
// Ethernet of one's own: 50 us, assumed. Slingshot, TCPXO and EFA before p5: fitted with their
// shares.
constexpr NicReach nics[] = {
    {NicKind::infiniband, "InfiniBand or RoCE", 1.5, 12 / 12.5, true, false, true,
     "NCCL's topo.h: 12 GB/s of 100 Gbit/s"},
    {NicKind::infiniband_sharp, "InfiniBand with SHARP", 1.5, 12 / 12.5, true, true, true,
     "NCCL's topo.h: 12 GB/s of 100 Gbit/s"},
    {NicKind::efa, "EFA", 65, 0.84, false, false, true,
     "fitted: two p4de.24xlarge, NCCL 2.20 (aws-samples/awsome-distributed-training)"},
    {NicKind::efa_v2, "EFA of p5", 14, 0.61, false, false, true,
     "of p4d.24xlarge with NCCL 2.9 (NVIDIA/nccl#527: 31.8 and 29.6 of 50 GB/s)"},
    {NicKind::slingshot, "Slingshot by libfabric", 7.5, 0.72, false, false, false,
     "fitted: Polaris, NCCL 2.18, setup4 on 2 and 8 machines (argonne-lcf/alcf-nccl-tests)"},
    {NicKind::tcpxo, "GPUDirect-TCPXO", 60, 0.92, false, false, false,
     "fitted: two a3-megagpu-8g (lessizzmore/create-a3mega-ztan-fork)"},
    {NicKind::cloud_tcp, "TCP of a cloud", 128, 0.7, true, false, false,
     "fitted: 0.88 of 1.25 GB/s from p3.2xlarge to p3.2xlarge (Parcae, liveput/cost.py)"},
    {NicKind::ethernet, "TCP on Ethernet", 50, 1448.0 / 1538, true, false, false,
     "counted: payload of a frame of 1500 bytes, and what surrounds it"},
};

// Limits for large messages (alpha-beta fits of the nccl-tests tables in github
// VIA-Research/vTrain): busbw in GB/s over V100: 22.57 with 2 GPUs, 37.12 with 5; over A100: 192.95
// with 2 GPUs and 227.29 with 8. The other rows of those tables are predicted (tests).
// A100: 1/192.95 = 1/b + c/2 and 1/227.29 = 1/b + c/14, in s/GB.
constexpr double a100_copy = (1 / 192.95 - 1 / 227.29) / (1.0 / 2 - 1.0 / 14);
constexpr double a100_ring = 1 / (1 / 192.95 - a100_copy / 2);

constexpr RingEfficiency v100_direct = {
    "NVLink 2", 22.57 / 25, 37.12 / (2 * 22.57), 0,
    "fitted: wire to 2 V100, relay to 5 (vTrain's nccl-tests tables)"};
constexpr RingEfficiency a100 = {"NVLink 3", a100_ring / 300, 1, a100_copy / 1e9,
                                 "fitted: wire and copy to 2 and 8 A100 (vTrain's tables)"};
// What NCCL takes a link for (src/graph/topo.h), of the line rate.
constexpr RingEfficiency p100 = {"NVLink 1", 18.0 / 20, 1, 0, "NCCL's topo.h: 18 of 20 GB/s"};
constexpr RingEfficiency v100_switch = {"NVLink 2 through NVSwitch", 20.0 / 25, 1, 0,
                                        "NCCL's topo.h: 20 of 25 GB/s"};
constexpr RingEfficiency turing = {"NVLink 2", 20.0 / 25, 1, 0, "NCCL's topo.h: 20 of 25 GB/s"};
constexpr RingEfficiency bridge = {"NVLink 3 of a bridge", 12.0 / 14.0625, 1, 0,
                                   "NCCL's topo.h: 12 of 14 GB/s"};
constexpr RingEfficiency hopper = {"NVLink 4", 20.6 / 25, 1, 0, "NCCL's topo.h: 20.6 of 25 GB/s"};
constexpr RingEfficiency blackwell = {"NVLink 5", 40.1 / 50, 1, 0,
                                      "NCCL's topo.h: 40.1 of 50 GB/s"};
constexpr RingEfficiency pcie = {"PCIe", 12 / 15.754, 1, 0,
                                 "NCCL's topo.h: 12 GB/s of generation 3 x16"};

struct Family {
    std::string_view prefix;
    const RingEfficiency* direct;
    const RingEfficiency* switched;
};
constexpr Family families[] = {
    {"p100_sxm2", &p100, &p100},      {"v100_sxm", &v100_direct, &v100_switch},
    {"rtx6000", &turing, &turing},    {"rtx8000", &turing, &turing},
    {"a100", &a100, &a100},           {"a40", &bridge, &bridge},
    {"rtx3090", &bridge, &bridge},    {"rtx_a6000", &bridge, &bridge},
    {"h100", &hopper, &hopper},       {"h200", &hopper, &hopper},
    {"b200", &blackwell, &blackwell}, {"gb200", &blackwell, &blackwell},
};

}  // namespace

const NicReach& nic_reach(NicKind kind) {
    const auto found = std::ranges::find(nics, kind, &NicReach::kind);
    INVARIANT(found != std::end(nics));
    return *found;
}

const RingEfficiency& ring_efficiency(std::string_view gpu, bool through_switch) {
    for (const Family& family : families) {
        if (gpu.starts_with(family.prefix)) {
            return through_switch ? *family.switched : *family.direct;
        }
    }
    return pcie;
}

}  // namespace ukemi::sim
