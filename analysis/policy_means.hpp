// policy_means.hpp — what each policy took in each variant, as means over its runs.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "analysis/outcome_means.hpp"
#include "analysis/units.hpp"
#include "base/statistics.hpp"
#include "records/ledger.hpp"
#include "records/run_result.hpp"

namespace ukemi::analysis {

// Intervals are over the clusters of analysis/units.hpp; runs that are there again under another
// seed are counted in `repeated` and nowhere else.
struct PolicyMeans : PolicyInVariant {
    bool oracle = false;
    Summary cost_usd;
    Summary hours;
    double revocations = 0;
    double failures = 0;
    std::size_t stuck = 0;
    OutcomeMeans outcome;
    std::array<double, records::cause_count> share_percent{};  // of held instance-time, by cause
};

// In the order of the runs, a variant's policies together.
std::vector<PolicyMeans> policy_means(std::span<const records::RunResult> runs);

std::string policy_means_csv(std::span<const PolicyMeans> policies);
std::string policy_means_json(std::span<const PolicyMeans> policies);  // an array

}  // namespace ukemi::analysis
