// sweep_request.hpp — from what somebody asks of `ukemi sweep` to what makes the runs.
#pragma once

#include <memory>
#include <string>

#include "analysis/database/run_maker.hpp"
#include "analysis/requests/prepared_runs.hpp"

namespace ukemi::analysis {

struct SweepRequest : RunRequest {
    std::string schedulers;  // of jobs that share a cluster: "a,b" in place of the scenario's
    bool full = false;       // of searches: every trial is trained to its end, too
};

// Reads and checks everything that the request names: by what the first of its scenarios is, runs
// on markets, schedules or searches. InputError for what has no effect on these.
std::unique_ptr<RunMaker> run_maker(const SweepRequest& request);

}  // namespace ukemi::analysis
