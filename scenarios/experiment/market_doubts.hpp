// market_doubts.hpp — what makes the results of a job on a market mean less than they seem to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scenarios/reader/scenario.hpp"

namespace ukemi::scenarios {

// Those without a policy that chooses zones. Makes one of each policy to see it.
std::vector<PolicyList> without_choice_of_zones(std::span<const PolicyList> lists);

// A line each, without the name of the market. `job` is job_on(…) of it; `staying` are the lists
// that cannot leave the first of several zones.
std::vector<std::string> doubts_about(const NamedMarket& market, const sim::JobSpec& job,
                                      std::span<const PolicyList> staying = {});

}  // namespace ukemi::scenarios
