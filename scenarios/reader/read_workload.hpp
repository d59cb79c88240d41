// read_workload.hpp — a job of steps that plays what others have recorded or generated: "workload"
// in place of "model".
//
//   {"workload": "all_reduce", "system": "HGX-H100-validated.json", "steps": 1}
//
// `workload`: Chakra's traces, all_reduce.0.et (or .json) for rank 0 and so on; or one file, of all
// ranks: a trace, or layers as text (chakra_trace.hpp, layer_workload.hpp). `system`: ASTRA-sim's
// (astra_system.hpp). `comm_groups`: a JSON object, for each group's name in a trace the list of
// its ranks. `workers`, `collective`, `launch` and `steps` as of other jobs. Files are looked for
// beside the scenario.
#pragma once

#include <cstdint>
#include <span>

#include "scenarios/reader/read_variable_update.hpp"
#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

// Of a section with "workload". `grid`: sizes of the dimensions of ASTRA-sim's network, or empty.
// Takes its workers from those that are `left`.
StepJobEntry read_workload_job(ConfigReader config, const sim::Topology& topology,
                               std::span<const std::int32_t> grid, WorkersLeft& left);

}  // namespace ukemi::scenarios
