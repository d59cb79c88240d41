// nccl_model.hpp — how NCCL picks an algorithm and a protocol: by prices from constants in its
// source, and not by the clock.
//
// Time = latency + bytes / bandwidth for each algorithm in each protocol (src/graph/tuning.cc of
// NCCL 2.26 to 2.28), and the least is taken. That NCCL picks by constants is why recorded tables
// jump: eight V100 take longer for 13 MiB than for 14. Only + − × ÷ are used.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/quantity.hpp"
#include "sim/cluster/nccl/nccl_place.hpp"

namespace ukemi::sim {

// collnet: sums in the network's switches, of what each machine's GPUs have given to those next to
// a NIC; nvls: sums in NVSwitches, of several machines in the network's switches, too; nvls_tree:
// in NVSwitches, and trees between them.
enum class NcclAlgorithm : std::uint8_t { ring, tree, collnet, nvls, nvls_tree };
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t nccl_protocols = 3;

// Gathering and scattering go round the rings once. Bytes are those of the whole buffer, as
// nccl-tests counts them.
enum class NcclCollective : std::uint8_t { all_reduce, all_gather, reduce_scatter };

struct NcclChoice {
    NcclAlgorithm algorithm = NcclAlgorithm::ring;
    NcclProtocol protocol = NcclProtocol::simple;
    friend bool operator==(const NcclChoice&, const NcclChoice&) = default;
};
std::string to_string(NcclChoice choice);  // "ring/LL128"

// Before a message's first byte: what a ring of Simple begins with.
inline constexpr double nccl_simple_us = 8.4;
// The parts of a price that a clock can be held against (nccl_times.hpp).
double nccl_latency_us(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                       NcclCollective collective);
// Of a ring's edge or a tree's, GB/s: what a protocol makes of this bandwidth of Simple.
double nccl_protocol_rate(const NcclPlace& place, NcclChoice choice, double simple);
// Trees are slower than that for some sizes; 1 for others and for rings.
double nccl_size_correction(NcclChoice choice, Bytes bytes);
// What a channel between machines carries at most, times the channels; GB/s of bus bandwidth.
double nccl_tree_limit(const NcclPlace& place, NcclAlgorithm algorithm);
// How often the busiest machine of a tree sends the buffer: it has a parent and two children in one
// of the two trees, and a parent in the other.
double nccl_tree_crossings(std::int32_t machines);
double nvls_efficiency(NcclGeneration generation);  // of the rate of rings, as NCCL expects
double nvls_reach(const NcclPlace& place);          // and as measured

// What NCCL expects.
double nccl_own_seconds(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                        NcclCollective collective = NcclCollective::all_reduce);
// The cheapest by that; ring before tree and LL before Simple among equals.
NcclChoice nccl_choice(const NcclPlace& place, Bytes bytes,
                       NcclCollective collective = NcclCollective::all_reduce);

}  // namespace ukemi::sim
