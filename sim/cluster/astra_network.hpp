// astra_network.hpp — networks of ASTRA-sim's analytical backend as a cluster.
//
//   topology: [ Switch, Ring ]      # of each dimension: Ring, FullyConnected or Switch
//   npus_count: [ 8, 4 ]
//   bandwidth: [ 400.0, 50.0 ]      # GB/s of each link and direction; a GB is 2^30 bytes there
//   latency: [ 936.25, 1000.0 ]     # ns of each link
//
// or the same as a JSON object. (github astra-sim/astra-sim, examples/network/analytical.) Ranks
// are numbered along the first dimension first, whose lines are machines here; links of the first
// dimension are of the kind nvlink, the others' network. Each NPU forwards what crosses it in a
// ring. Unlike there, flows that share a link share its bandwidth, and a message through a switch
// is not stored before it is forwarded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

inline constexpr std::size_t astra_bytes_max = std::size_t{1} << 20;

struct AstraNetwork {
    Topology topology;
    std::vector<std::int32_t> sizes;  // NPUs of each dimension
};

// Any text at all. `gpu`: what the NPUs are, or empty. InputError with the file and line:column
// (JSON: the path): what was expected and found.
AstraNetwork parse_astra_network(std::string_view text, std::string_view file,
                                 std::string_view gpu);

}  // namespace ukemi::sim
