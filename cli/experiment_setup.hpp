// experiment_setup.hpp — runs that are made for somebody at a terminal.
#pragma once

#include <span>
#include <vector>

#include "analysis/requests/prepared_runs.hpp"

namespace ukemi::cli {

// Runs them, with a line of progress where standard error is a terminal; notes what makes the
// results doubtful, and warns of it.
std::vector<scenarios::FinishedRun> run_prepared(analysis::PreparedRuns& runs, bool strict);

// Notes for people on what was run: beginnings, how traces were read, which zones were joined.
// What adds up gradients, where step times come out of a scenario of steps.
void print_step_exchange(const scenarios::Scenario& scenario);
void print_notes(const analysis::PreparedRuns& runs, std::span<const records::RunResult> results);

}  // namespace ukemi::cli
