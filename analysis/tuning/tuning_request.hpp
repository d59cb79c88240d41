// tuning_request.hpp — from what somebody wants tuned to the search: what is tried, where settings
// are chosen, and where they are judged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/requests/prepared_runs.hpp"
#include "analysis/tuning/tuning.hpp"

namespace ukemi::analysis {

struct TuningRequest : RunRequest {
    std::vector<std::string> over;  // as parse_tuned_parameter reads it
    std::string held_out;           // a pattern; empty: a part of the markets that there are
    std::int64_t tries = 0;         // settings to begin with; 0: 27, of several parameters 81
    std::string goal = "cost_usd";  // or "hours"
};

// `runs` are those of the request, by prepare_runs. InputError for what cannot be tuned, and for
// markets of which no part can be held out.
Tuning run_tuning(const TuningRequest& request, const PreparedRuns& runs);

}  // namespace ukemi::analysis
