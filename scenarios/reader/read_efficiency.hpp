// read_efficiency.hpp — section "efficiency": what software reaches of the line rates of links.
#pragma once

#include <string>
#include <vector>

#include "base/config_reader.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::scenarios {

// Derates the links of each kind that is named: by a share, or by {"nccl_tests": FILE}, a log of
// nccl-tests beside the scenario, whose all-reduces from 1 MiB on say it (nccl_fit.hpp). Gives back
// what was fitted, in words.
std::vector<std::string> read_efficiency(ConfigReader& root, sim::Topology& topology);

}  // namespace ukemi::scenarios
