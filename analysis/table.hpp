// table.hpp — the table that `ukemi replay` prints: a line a policy, cheapest first.
#pragma once

#include <span>
#include <string>

#include "records/run_result.hpp"

namespace ukemi::analysis {

// "greedy+daly" for "greedy+daly_checkpoint": the short names of the registry, where there are any.
std::string short_label(std::string_view label);

// At most 100 columns wide. Variants of a scenario, each of whose runs stand together, have a
// heading line and lines of their own. Means over each policy's runs; where several are
// independent, also the 95 % confidence interval of the mean cost, and over what it is
// (analysis/units.hpp).
std::string policy_table(std::span<const records::RunResult> runs);

// What transitions cost by phase, where a scenario tells phases apart; else empty.
std::string phase_table(std::span<const records::RunResult> runs);

}  // namespace ukemi::analysis
