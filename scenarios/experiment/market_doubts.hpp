// market_doubts.hpp — what makes the results of a job on a market mean less than they seem to.
#pragma once

#include <string>
#include <vector>

#include "scenarios/reader/scenario.hpp"

namespace ukemi::scenarios {

// A line each, without the name of the market. `job` is job_on(…) of it.
std::vector<std::string> doubts_about(const NamedMarket& market, const sim::JobSpec& job);

}  // namespace ukemi::scenarios
