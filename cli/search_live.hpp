// search_live.hpp — `ukemi search --live`: trials are small groups of workers on this machine.
#pragma once

#include "analysis/search_results.hpp"
#include "cli/schedule_live.hpp"

namespace ukemi::cli {

// Each of the scenario's searchers, simulated and then live; says both, and whether the same trials
// were promoted.
void search_live(const scenarios::SearchScenario& scenario, std::uint64_t seed,
                 const analysis::StepDocument& document, const LiveScheduleOptions& options,
                 const OutputOptions& output, const plots::FigureOptions& draw);

}  // namespace ukemi::cli
