// read_step_job.hpp — one job of a scenario of steps, from its section.
#pragma once

#include "scenarios/reader/read_variable_update.hpp"
#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

// `left` are the workers that no job before it has taken; it takes its own, and those on machines
// that are its servers alone.
StepJobEntry read_step_job(ConfigReader config, const sim::Topology& topology, MemoryCheck memory,
                           WorkersLeft& left);

}  // namespace ukemi::scenarios
