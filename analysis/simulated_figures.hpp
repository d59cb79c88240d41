// simulated_figures.hpp — steps on clusters as figures: parts, scaling, and what a number does.
#pragma once

#include <span>

#include "analysis/simulated_steps.hpp"

namespace ukemi::analysis {

// A bar a job and variant, for where the time of a step goes; throughput and efficiency against
// workers, where variants differ in them; and step time and throughput against a varied number.
plots::FigureInput simulated_figures(std::span<const SimulatedJob> jobs);

}  // namespace ukemi::analysis
