// read_step_job.hpp — one job of a scenario of steps, from its section.
#pragma once

#include <span>

#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

// `left` are the workers that no job before it has taken; it takes its own, and those on machines
// that are its servers alone.
StepJobEntry read_step_job(ConfigReader config, const sim::Topology& topology, MemoryCheck memory,
                           std::span<const sim::DeviceId>& left);

}  // namespace ukemi::scenarios
