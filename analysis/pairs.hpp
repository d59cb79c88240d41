// pairs.hpp — policies against one of them, pair by pair: on the same trace, window and seed.
//
// What both have in common (a dear zone, a week without spot) falls out of the difference, so its
// interval is often much narrower than those of the two means. Intervals and tests are over the
// same clusters as those of the means (analysis/units.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/units.hpp"
#include "base/statistics.hpp"
#include "records/run_result.hpp"

namespace ukemi::analysis {

struct PairedQuantity {
    std::string name;    // "cost_usd", "hours"
    Summary difference;  // the policy's less the baseline's
    // Of the two means, with the interval of its linear part (Cochran 1977, Sampling Techniques,
    // 6.3); nothing where the baseline's mean is zero.
    std::optional<double> ratio;
    double ratio_half_width_95 = 0;
    // Wilcoxon's over the clusters' mean differences; nothing below two clusters. Holm's correction
    // is over all rows of one quantity.
    std::optional<double> p;
    std::optional<double> p_holm;
};

struct PolicyPair {
    std::string scenario;
    std::string variant;  // "/job/deadline=60 h", or empty
    std::vector<records::VariedValue> varied;
    std::string policy;
    std::string baseline;
    std::size_t pairs = 0;       // that the numbers are of
    std::size_t unfinished = 0;  // pairs left out: one of the two did not finish its work
    std::string clusters_name;   // of one: "record"
    std::string clusters_words;  // "6 zones"
    std::vector<PairedQuantity> quantities;
};

// A run as far as pairs and groups look at it.
struct UnitRun {
    RunUnit unit;
    std::int64_t scenario = 0;  // runs of two scenarios are no pair
    bool finished = false;
    std::vector<double> values;  // of some quantities; not a number: it has none
    std::optional<bool> deadline_met = std::nullopt;  // empty: it has no deadline
};

// Every policy of these runs but the baseline, in their order; their clusters are known. A row has
// neither the names of its runs' scenario and variant yet, nor Holm's correction.
std::vector<PolicyPair> pairs_among(std::span<const UnitRun> runs, const RunClusters& clusters,
                                    std::string_view baseline,
                                    std::span<const std::string> quantities);
// How many runs of other policies have none of the baseline's beside them, and so no pair.
std::size_t runs_without_baseline(std::span<const UnitRun> runs, const RunClusters& clusters,
                                  std::string_view baseline);
// Holm's correction of each quantity over all rows, which have the same quantities.
void correct_pairs(std::span<PolicyPair> rows);

// The one of these labels that a command line calls so: as in results, or by the registry's short
// names. InputError where there is none; `compared` is what they are, one of them.
std::string policy_called(std::string_view name, std::span<const std::string> labels,
                          std::string_view option = "--baseline",
                          std::string_view compared = "policy");

// Every policy but the baseline (its label), in the order of the runs, in each variant.
std::vector<PolicyPair> pairs_with(std::span<const records::RunResult> runs,
                                   std::string_view baseline);

// At most 100 columns wide; a part for each of the quantities. `in_common`: of the two of a pair.
std::string pairs_table(std::span<const PolicyPair> pairs,
                        std::span<const std::string_view> quantities,
                        std::string_view in_common = "trace, window and seed");
struct PairColumn {
    std::string name;  // "cost_usd_difference_mean"
    double value = 0;  // not a number: nobody knows
};
std::vector<PairColumn> pair_columns(const PolicyPair& pair);  // the pairs and every quantity
std::string pairs_csv(std::span<const PolicyPair> pairs);
std::string pairs_json(std::span<const PolicyPair> pairs);  // an array

}  // namespace ukemi::analysis
