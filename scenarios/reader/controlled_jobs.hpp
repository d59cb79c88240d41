// controlled_jobs.hpp — a job of a shared cluster that is described as a job on a market is: by a
// scenario of its own, with the policies that adapt it.
#pragma once

#include "scenarios/reader/job_pauses.hpp"

namespace ukemi::scenarios {

// "scenario", "set", "policies" and "gpus" of a job. Of the scenario's market only prices count,
// and those only where the cluster has none. What all jobs of the cluster have for a restart counts
// where phases are left out.
void read_controlled_job(ConfigReader& section, const JobPauses& pauses,
                         const ScheduleScenario& scenario, sim::SharingJob& job);

}  // namespace ukemi::scenarios
