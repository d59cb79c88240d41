// read_collective.hpp — key "collective" of a job: how its gradients are added up.
#pragma once

#include <span>
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

// What adds up the gradients of these workers where a scenario does not say: NCCL on machines with
// NVLink, or where it can run and links are fitted to a log of it, of whose schedules the fitted
// share is; else what is given.
std::string_view usual_collective(const sim::Topology& topology,
                                  std::span<const sim::DeviceId> workers, bool nccl_log,
                                  std::string_view otherwise);

// Why it is this one, to stand behind its name: " (the cheapest)"; empty if the scenario names it.
std::string_view why_collective(const StepJobEntry& entry);

// "gpu", "host", or an object with some of the rates; `by_name`: of a schedule that goes through
// the hosts as well.
void read_transport(ConfigReader& config, bool by_name, StepJobEntry& entry);

// Of a job whose workers, layout and buckets are known.
void read_collective(ConfigReader& config, const sim::Topology& topology,
                     std::string_view otherwise, StepJobEntry& entry);

}  // namespace ukemi::scenarios
