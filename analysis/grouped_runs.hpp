// grouped_runs.hpp — means of any quantities of many runs, grouped by any of their keys, and
// policies against one of them: with the intervals of analysis/units.hpp and analysis/pairs.hpp.
//
// Runs come in blocks, one at a time, so that what is kept grows with the groups and not with the
// runs. A block holds all runs that have its keys, of every policy: what is independent is found
// over all of them, so that the policies of a block have intervals over the same units.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/outcome_means.hpp"
#include "analysis/pairs.hpp"
#include "base/statistics.hpp"

namespace ukemi::analysis {

struct RunGrouping {
    std::vector<std::string> keys;  // "scenario", "job_deadline_s"; the policy's is not among them
    bool by_policy = true;
    std::string compared = "policy";   // what stands beside others: in other databases "scheduler"
    std::vector<std::string> metrics;  // "cost_usd"
    std::string baseline;              // a policy's label; empty: none
};

struct RunBlock {
    std::vector<std::string> keys;  // their values
    std::vector<UnitRun> runs;
};

struct GroupMeans {
    std::vector<std::string> keys;
    std::string policy;         // empty where groups are not by policy
    OutcomeCounts outcome;      // of the runs that count
    std::size_t repeated = 0;   // the same again under another seed
    std::string clusters_name;  // of what intervals are over, one: "record"
    std::string clusters_words;
    std::vector<Summary> metrics;     // of the runs that have the number
    std::optional<std::size_t> pair;  // its row among the pairs
};

// Groups and pairs of one block after the other.
class GroupedRuns {
public:
    explicit GroupedRuns(RunGrouping grouping) : grouping_(std::move(grouping)) {}

    void add(const RunBlock& block);
    // Once all blocks are there: Holm's correction is over all pairs.
    void close() { correct_pairs(pairs_); }

    const RunGrouping& grouping() const { return grouping_; }
    std::span<const GroupMeans> means() const { return means_; }
    std::span<const PolicyPair> pairs() const { return pairs_; }
    // Runs that a baseline was asked for, and that have none of it to be a pair with.
    std::size_t without_baseline() const { return without_baseline_; }

private:
    RunGrouping grouping_;
    std::vector<GroupMeans> means_;
    std::vector<PolicyPair> pairs_;
    std::size_t without_baseline_ = 0;
};

// "rising, seed=3": what a block is called in tables.
std::string label_of_keys(const RunGrouping& grouping, std::span<const std::string> values);

// What the two runs of a pair have in common, in words.
std::string_view pairs_share(const RunGrouping& grouping);

// At most 100 columns wide with up to two metrics. Within a block those who are always in time
// stand before those who are not, who did not even finish last, and the least mean of the first
// metric first.
std::string grouped_table(const GroupedRuns& groups);
// A row a group, with its pair where there is a baseline.
std::string grouped_csv(const GroupedRuns& groups);
std::string grouped_json(const GroupedRuns& groups, std::span<const std::string> warnings);
nlohmann::ordered_json grouped_rows(const GroupedRuns& groups);  // an object a group

}  // namespace ukemi::analysis
