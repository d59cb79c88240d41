// read_collective.hpp — key "collective" of a job: how its gradients are added up.
#pragma once

#include <string_view>

#include "base/config_reader.hpp"
#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

// Stands where a Plan has `automatic`, which goes by the number of ranks alone.
inline constexpr std::string_view cheapest_collective = "cheapest";
// As long as NCCL's takes (sim/step/nccl_collective.hpp).
inline constexpr std::string_view nccl_collective = "nccl";
// The fastest grid of ranks, or the fastest by name (sim/step/dimension_search.hpp).
inline constexpr std::string_view searched_collective = "dimension_search";

// Of a job whose workers, layout and buckets are known.
void read_collective(ConfigReader& config, const sim::Topology& topology,
                     std::string_view otherwise, StepJobEntry& entry);

}  // namespace ukemi::scenarios
