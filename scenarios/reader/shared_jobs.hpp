// shared_jobs.hpp — the jobs of a scenario of a shared cluster: a list by hand, a recorded
// workload, or a generator.
#pragma once

#include "scenarios/reader/schedule_scenario.hpp"

namespace ukemi::scenarios {

// "jobs" and what all of them have unless they say otherwise: "restart", "transition",
// "checkpoint", "trains" and "time_scale". After the cluster, its network and what is ignored.
void read_shared_jobs(ConfigReader& root, ScheduleScenario& scenario);

}  // namespace ukemi::scenarios
