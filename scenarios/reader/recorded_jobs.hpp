// recorded_jobs.hpp — jobs of a shared cluster that a file lists, or that a generator draws.
#pragma once

#include "scenarios/reader/job_pauses.hpp"

namespace ukemi::scenarios {

// "workload" and what stands beside it. Files lie beside the scenario, or where their paths say.
void read_recorded_jobs(ConfigReader& section, const JobPauses& pauses, ScheduleScenario& scenario);
// "generate": by what `ukemi fit --jobs` set to a record.
void read_generated_jobs(ConfigReader config, const JobPauses& pauses, ScheduleScenario& scenario);

}  // namespace ukemi::scenarios
