// experiment_setup.hpp — from the options of replay and compare to the runs that they ask for.
#pragma once

#include <span>
#include <vector>

#include "analysis/run_inputs.hpp"
#include "cli/run_options.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::cli {

// `cases` and `inputs` point into `scenarios`.
struct PreparedRuns {
    std::vector<scenarios::Scenario> scenarios;
    std::vector<scenarios::ExperimentCase> cases;
    scenarios::ExperimentSetup setup;
    analysis::ReplayInputs inputs;
};

// Reads and checks everything that the options name. What options say comes before what a run.json
// says, and that before the scenario. With `windows_of_records`, recorded traces are replayed from
// several beginnings unless somebody says otherwise; else from their first. InputError for options
// that have no effect beside others.
PreparedRuns prepare_runs(const ExperimentOptions& options, bool windows_of_records);

// Runs them, with a line of progress where standard error is a terminal; notes what makes the
// results doubtful, and warns of it.
std::vector<scenarios::FinishedRun> run_prepared(PreparedRuns& runs, bool strict);

// Notes for people on what was run: beginnings, how traces were read, which zones were joined.
void print_notes(const PreparedRuns& runs, std::span<const records::RunResult> results);

}  // namespace ukemi::cli
