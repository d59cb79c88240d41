// cluster_file.hpp — a cluster as people write it, and topologies by name or file.
//
//   {"machine": "p3.16xlarge", "count": 8,
//    "network": {"kind": "leaf_spine", "machines_per_leaf": 4, "spines": 2, "oversubscription": 4,
//                "bandwidth": "25 Gbit/s", "latency": "25 us"}}
//   {"zones": [{"machine": …, "count": …, "network": …}, …],
//    "between_zones": {"bandwidth": "10 Gbit/s", "latency": "1 ms"}}
//
//   {"machine": "node.xml", "gpu": "h100_sxm5_80gb", "count": 4,
//    "links": {"kind": "infiniband", "bandwidth": "400 Gbit/s", "latency": "1.5 us"}}
//
//   {"astra_sim": "network.yml", "gpu": "h100_sxm5_80gb"}
//
// `astra_sim` is a network of ASTRA-sim's analytical backend (astra_network.hpp), whole.
// `machine` is a name, or a file beside this one: NCCL's dump (XML) or what nvidia-smi topo -m
// printed, taken `count` times. `gpu` says what GPUs a file's are, where it does not. `links` says
// what each NIC is joined by, `network` what joins these; both may be left out: one switch, rates
// of the machine's table or file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/config_reader.hpp"
#include "sim/cluster/fabric.hpp"

namespace ukemi::sim {

// Whether this section "cluster" has machines, and not only a number of instances.
bool names_machines(ConfigReader config);

ClusterSpec read_cluster(ConfigReader& config);

// A preset's name, or a file: a cluster (JSON), a dump of NCCL (XML), the text of nvidia-smi topo
// -m. A machine is taken `count` times on one switch. Throws InputError, of a count that does not
// fit at `counted_at`; a word that is neither is answered with the nearest machine.
Topology topology_of(const std::string& name_or_file, std::uint32_t count = 1,
                     std::string_view counted_at = "cluster");

}  // namespace ukemi::sim
