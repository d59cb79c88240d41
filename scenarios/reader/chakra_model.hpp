// chakra_model.hpp — what a Chakra trace of one rank says of training on one worker.
//
// The trace is played as that rank's (sim/step/workload_player): compute nodes one after another on
// a device, others on its host, of those that are ready the first in the file; what is sent takes
// no time. The end is a step, as long as that of the trace as a workload of one rank; each
// all-reduce and reduce-scatter is a gradient, ready when all that it waits for is over; gathers of
// parameters are what others did with them, and are left out. What is computed after the last
// gradient stands before the first one, as the beginning of the next step.
#pragma once

#include <span>
#include <string_view>

#include "scenarios/reader/astra_system.hpp"
#include "scenarios/reader/chakra_trace.hpp"
#include "scenarios/reader/profiler_trace.hpp"

namespace ukemi::scenarios {

// With gradients of so many bytes a value. InputError with the file and node: no gradient, no time,
// or traffic that data parallelism does not have (messages, all-to-alls).
ProfiledStep chakra_step(std::span<const ChakraNode> nodes, std::string_view file,
                         const AstraSystem& system, std::int64_t value_bytes);

}  // namespace ukemi::scenarios
