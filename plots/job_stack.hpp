// job_stack.hpp — GPUs held over time, the jobs above each other: where jobs have parts of GPUs, or
// machines or bars are too many to be drawn one by one.
#pragma once

#include "plots/gnuplot.hpp"
#include "plots/job_looks.hpp"

namespace ukemi::plots {

FigureSource job_stack(const MachineUseInput& input, const JobLooks& looks,
                       const FigureStyle& style);

}  // namespace ukemi::plots
