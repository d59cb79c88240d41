#include "analysis/grouped_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clustered_summary.hpp"

namespace ukemi::analysis {

namespace {

// Runs of several scenarios are none of them the same run again.
RunClusters clusters_of_block(const RunBlock& block) {
    std::vector<RunUnit> units;
    for (const UnitRun& run : block.runs) {
        units.push_back(run.unit);
        units.back().policy += fmt::format("\n{}", run.scenario);
    }
    return clusters_of(units);
}

std::vector<std::string> policies_in(const RunBlock& block) {
    std::vector<std::string> policies;
    for (const UnitRun& run : block.runs) {
        const bool is_known = std::ranges::find(policies, run.unit.policy) != policies.end();
        if (!is_known) policies.push_back(run.unit.policy);
    }
    return policies;
}

}  // namespace

std::string label_of_keys(const RunGrouping& grouping, std::span<const std::string> values) {
    std::string label;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string& key = grouping.keys[i];
        if (values[i].empty()) continue;
        const bool says_itself = key == "scenario" || key == "variant" || key == "trace";
        label += fmt::format("{}{}{}", label.empty() ? "" : ", ",
                             says_itself ? "" : fmt::format("{}=", key), values[i]);
    }
    return label;
}

void GroupedRuns::add(const RunBlock& block) {
    const RunClusters clusters = clusters_of_block(block);
    const std::size_t first = means_.size();
    std::vector<std::string> policies{""};
    if (grouping_.by_policy) policies = policies_in(block);
    for (const std::string& policy : policies) {
        GroupMeans& group = means_.emplace_back();
        group.keys = block.keys;
        group.policy = policy;
        group.clusters_name = clusters.name();
        group.clusters_words = clusters.words();
        std::vector<std::vector<ClusterValue>> values(grouping_.metrics.size());
        for (std::size_t i = 0; i < block.runs.size(); ++i) {
            const UnitRun& run = block.runs[i];
            if (grouping_.by_policy && run.unit.policy != policy) continue;
            if (!clusters.counts(i)) {
                ++group.repeated;
                continue;
            }
            group.outcome.add(run.finished, run.deadline_met);
            for (std::size_t metric = 0; metric < values.size(); ++metric) {
                if (std::isnan(run.values[metric])) continue;
                values[metric].push_back({clusters.cluster[i], run.values[metric]});
            }
        }
        for (const auto& of_metric : values) group.metrics.push_back(summarise_clusters(of_metric));
    }
    if (grouping_.baseline.empty()) return;
    without_baseline_ += runs_without_baseline(block.runs, clusters, grouping_.baseline);
    for (PolicyPair& row :
         pairs_among(block.runs, clusters, grouping_.baseline, grouping_.metrics)) {
        row.variant = label_of_keys(grouping_, block.keys);
        const auto own = std::span(means_).subspan(first);
        std::ranges::find(own, row.policy, &GroupMeans::policy)->pair = pairs_.size();
        pairs_.push_back(std::move(row));
    }
}

}  // namespace ukemi::analysis
