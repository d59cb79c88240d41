// policy_means.hpp — what each policy took in each variant, as means over its runs.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "records/ledger.hpp"
#include "records/run_result.hpp"

namespace ukemi::analysis {

// Intervals are over the clusters of analysis/units.hpp; runs that are there again under another
// seed are counted in `repeated` and nowhere else.
struct PolicyMeans {
    std::string scenario;
    std::string variant;
    std::string policy;
    bool oracle = false;
    Summary cost_usd;
    Summary hours;
    double revocations = 0;
    std::size_t runs = 0;
    std::size_t repeated = 0;
    std::size_t finished = 0;
    std::size_t stuck = 0;
    std::size_t with_deadline = 0;
    std::size_t deadline_met = 0;
    std::array<double, records::cause_count> share_percent{};  // of held instance-time, by cause
    std::string clusters_name;                                 // of one: "record"
    std::string clusters_words;                                // "6 zones"
};

// In the order of the runs, a variant's policies together.
std::vector<PolicyMeans> policy_means(std::span<const records::RunResult> runs);

std::string policy_means_csv(std::span<const PolicyMeans> policies);
std::string policy_means_json(std::span<const PolicyMeans> policies);  // an array

}  // namespace ukemi::analysis
