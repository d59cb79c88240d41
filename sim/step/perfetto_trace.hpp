// perfetto_trace.hpp — steps as a trace that ui.perfetto.dev and chrome://tracing open.
//
// The Trace Event Format's JSON: a process a job with a row for each worker (waiting for input,
// forward, backward, waiting for the slowest; in a layout every pass with the exchanges within it,
// bubbles and transfers) and one for its collectives of gradients; a process "links" with a
// row for each link that a collective crosses. Only steps that kept their details are drawn; of
// workers and links the first, as many as the limits say. Times are microseconds.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sim/step/step_run.hpp"

namespace ukemi::sim {

struct TraceLimits {
    std::size_t workers = 256;  // of each job
    std::size_t links = 256;
};

std::string perfetto_trace(const Topology& topology, std::span<const StepJob> jobs,
                           std::span<const JobSteps> steps, const TraceLimits& limits = {});

}  // namespace ukemi::sim
