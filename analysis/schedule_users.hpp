// schedule_users.hpp — of jobs that share a cluster and say whose they are: what each user got.
#pragma once

#include <span>
#include <string>

#include "analysis/scheduled_runs.hpp"

namespace ukemi::analysis {

// A row a run and user; empty where no job has a user.
std::string schedule_users_csv(std::span<const ScheduledRun> runs);
std::string schedule_users_table(std::span<const ScheduledRun> runs);  // for people

}  // namespace ukemi::analysis
