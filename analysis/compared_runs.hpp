// compared_runs.hpp — what `ukemi compare` makes of runs, and the folder that it leaves behind.
//
// FOLDER/: run.json (how to repeat it), summary.csv (a row a run), compare.csv and compare.json (a
// row a policy and variant), figures.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/output_folder.hpp"
#include "analysis/pairs.hpp"
#include "analysis/run_inputs.hpp"

namespace ukemi::analysis {

struct ComparedRuns {
    std::vector<Candidate> candidates;
    std::vector<PolicyPair> pairs;  // where there is a baseline
};
ComparedRuns compare_runs(std::span<const records::RunResult> results, std::string_view baseline);

// Writes all of it or nothing. Returns the figures and what could not be drawn.
plots::FigureResult write_compared(OutputFolder& folder, const ReplayInputs& inputs,
                                   std::span<const records::RunResult> results,
                                   const ComparedRuns& compared,
                                   const plots::FigureOptions& options);

}  // namespace ukemi::analysis
