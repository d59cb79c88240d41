// nccl_times.hpp — how long a collective of NCCL takes, once it has picked.
//
// NCCL's latencies and protocols (nccl_model.hpp) on the rates that links reach (link_reach.hpp). A
// ring sends 2 (n − 1)/n S over each of its edges. NVLS in one machine: every GPU asks the switches
// for the sum of its part, which they read from all, and stores it to all, so its links carry
// (n + 1)/n S each way. Trees between machines: the busiest machine sends nccl_tree_crossings() S.
//
// Sums in switches reach their rate with 1 GiB; with each halving of a buffer they lack the same
// share more of it, which NCCL's own prices of trees (0.5 for 256 KiB, jumping) have not. NCCL's 25
// us before them are those of eight GPUs: each is where one part of the buffer is summed.
//
// A ring between machines whose NVLinks are no faster than their NICs reaches less than either.
//
// The numbers are fitted, all of them round; bench_published_collectives prints what others give.
// What is fitted to and what is predicted stands in bench/README.md.
#pragma once

#include <array>

#include "base/quantity.hpp"
#include "sim/cluster/nccl/nccl_model.hpp"

namespace ukemi::sim {

struct NcclNumbers {
    // Before the first byte: the kernel's launch; rings of a board of Blackwell's begin sooner. In
    // between what a process for each GPU takes (3 to 5 us) and one for all of them (25 to 40).
    double launch_us = 15;
    double board_ring_us = 6;
    double ll128_inside = 0.8;  // of what NCCL takes LL128 for inside a machine; such a board: all
    double blackwell_ring = 0.93;  // of its links' share, large messages round Blackwell's rings
    double nvls_gpus_us = 25;      // for each eight GPUs of a machine that are more than eight
    // What a ring between machines lacks where NVLinks and NICs are equally fast; and how often the
    // ratio of the slower to the faster ones is squared, by which it falls.
    double ring_lacks = 0.14;
    int ring_squares = 3;
    // What sums in switches lack of their rate for each halving below 1 GiB, on Hopper and from
    // Blackwell on: in one machine, in several.
    std::array<double, 2> nvls_lacks{0.045, 0.08};
    std::array<double, 2> nvls_tree_lacks{0.06, 0.085};
};

// Before bytes move, so that no link carries any: the launch, protocols' latencies, distance.
double nccl_start_seconds(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                          NcclCollective collective = NcclCollective::all_reduce,
                          const NcclNumbers& numbers = {});
// The same of messages from GPU to GPU, alone or all to all, beside their links' latency.
inline constexpr double nccl_message_start_s = (NcclNumbers{}.launch_us + nccl_simple_us) / 1e6;
// All of it.
double nccl_seconds(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                    NcclCollective collective = NcclCollective::all_reduce,
                    const NcclNumbers& numbers = {});

}  // namespace ukemi::sim
