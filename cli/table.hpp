// table.hpp — the table that `ukemi replay` prints: a line a policy, cheapest first.
#pragma once

#include <span>
#include <string>

#include "records/run_result.hpp"

namespace ukemi {

// At most 100 columns wide. Means over each policy's runs; with two runs or more also the 95 %
// confidence interval of the mean cost.
std::string policy_table(std::span<const RunResult> runs);

}  // namespace ukemi
