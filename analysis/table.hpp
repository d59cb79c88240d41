// table.hpp — the table that `ukemi replay` prints: a line a policy.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "records/run_result.hpp"

namespace ukemi::analysis {

// "greedy+daly" for "greedy+daly_checkpoint": the short names of the registry, where there are any.
// Results have them already; those of older versions have the long ones.
std::string short_label(std::string_view label);

inline constexpr std::size_t table_width_least = 100;
// From here on there is room for what was bought of which market.
inline constexpr std::size_t table_width_with_markets = 145;

// At most as wide as is said, and 100 columns at least. Variants of a scenario, each of whose runs
// stand together, have a heading line and lines of their own. Those who are always in time stand
// before those who are not, who did not even finish last, and the cheapest first. Means over each
// policy's runs; where several are independent, also half the 95 % confidence interval of the mean
// cost, and over what it is (analysis/units.hpp). The last line but for remarks explains the
// columns.
std::string policy_table(std::span<const records::RunResult> runs,
                         std::size_t width = table_width_least);

// What transitions cost by phase, where a scenario tells phases apart; else empty.
std::string phase_table(std::span<const records::RunResult> runs);

// What became of pipelines, where a job trains in some; else empty. Samples a second are those from
// the first group to the last step; the last column divides them by what an hour of the run cost.
std::string pipeline_table(std::span<const records::RunResult> runs);

}  // namespace ukemi::analysis
