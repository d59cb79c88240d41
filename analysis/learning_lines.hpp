// learning_lines.hpp — what runs learned, as lines of figures: of several seeds their mean and
// Student's 95 % interval of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plots/figures.hpp"
#include "records/run_result.hpp"
#include "scenarios/reader/scenario.hpp"

namespace ukemi::analysis {

// A line for every candidate (a policy list in one variant) whose runs kept a timeline of what they
// learned. A run that is over holds its last values while others go on. What never gets to its
// target is shown for half as long again as the slowest that does. Of batches and noise
// scales, which are drawn on logarithmic axes, the mean is the geometric one. Intervals are over
// what is independent (analysis/units.hpp); those of shares, and of metrics that are never outside
// 0 to 1, end there.
std::vector<plots::LearningRun> learning_runs(std::span<const records::RunResult> results);

// A line for each scenario that says how sure its model of learning is; each once, maybe none.
std::string how_sure(std::span<const scenarios::Scenario> scenarios);

}  // namespace ukemi::analysis
