#include "analysis/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/table.hpp"
#include "analysis/units.hpp"
#include "base/clustered_summary.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/signed_rank.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

// What a policy and the baseline took of one quantity in one pair of runs.
struct PairedValue {
    std::size_t cluster = 0;
    double policy = 0;
    double baseline = 0;
};

std::vector<double> cluster_means(std::span<const ClusterValue> values) {
    std::map<std::size_t, std::vector<double>> clusters;
    for (const ClusterValue& one : values) clusters[one.cluster].push_back(one.value);
    std::vector<double> means;
    for (const auto& [cluster, own] : clusters) means.push_back(summarise(own).mean);
    return means;
}

PairedQuantity paired_quantity(std::string name, std::span<const PairedValue> values) {
    PairedQuantity result;
    result.name = std::move(name);
    std::vector<ClusterValue> differences;
    std::vector<double> policy, baseline;
    for (const PairedValue& one : values) {
        policy.push_back(one.policy);
        baseline.push_back(one.baseline);
        differences.push_back({one.cluster, one.policy - one.baseline});
    }
    result.difference = summarise_clusters(differences);
    if (result.difference.clusters >= 2) result.p = signed_rank_p(cluster_means(differences));
    const double baseline_mean = summarise(baseline).mean;
    if (baseline_mean == 0) return result;
    result.ratio = summarise(policy).mean / baseline_mean;
    std::vector<ClusterValue> linear;
    for (const PairedValue& one : values) {
        linear.push_back(
            {one.cluster, (one.policy - *result.ratio * one.baseline) / baseline_mean});
    }
    const Summary spread = summarise_clusters(linear);
    result.ratio_half_width_95 = spread.mean_high_95 - spread.mean;
    return result;
}

// What the two runs of a pair have in common.
using PairKey = std::tuple<std::int64_t, std::string_view, std::string_view, double, std::uint64_t>;
PairKey pair_key(const UnitRun& run) {
    return {run.scenario, run.unit.record, run.unit.trace, run.unit.start_s, run.unit.seed};
}

// The pairs of one policy, with the positions of the baseline's runs.
PolicyPair pair_row(std::span<const UnitRun> runs, const RunClusters& clusters,
                    const std::map<PairKey, std::size_t>& of_baseline, std::string_view policy,
                    std::span<const std::string> quantities) {
    PolicyPair row;
    row.policy = policy;
    row.clusters_name = clusters.name();
    row.clusters_words = clusters.words();
    std::vector<std::vector<PairedValue>> pairs(quantities.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const UnitRun& run = runs[i];
        if (run.unit.policy != policy) continue;
        const auto other = of_baseline.find(pair_key(run));
        if (other == of_baseline.end()) continue;
        if (!clusters.counts(i) && !clusters.counts(other->second)) continue;
        const UnitRun& reference = runs[other->second];
        if (!run.finished || !reference.finished) {
            ++row.unfinished;
            continue;
        }
        ++row.pairs;
        for (std::size_t quantity = 0; quantity < quantities.size(); ++quantity) {
            const double own = run.values[quantity];
            const double its = reference.values[quantity];
            if (std::isnan(own) || std::isnan(its)) continue;
            pairs[quantity].push_back({clusters.cluster[i], own, its});
        }
    }
    for (std::size_t quantity = 0; quantity < quantities.size(); ++quantity) {
        row.quantities.push_back(paired_quantity(quantities[quantity], pairs[quantity]));
    }
    return row;
}

}  // namespace

std::vector<PolicyPair> pairs_among(std::span<const UnitRun> runs, const RunClusters& clusters,
                                    std::string_view baseline,
                                    std::span<const std::string> quantities) {
    std::vector<std::string_view> policies;
    std::map<PairKey, std::size_t> of_baseline;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string& policy = runs[i].unit.policy;
        if (policy == baseline) {
            of_baseline.emplace(pair_key(runs[i]), i);
        } else if (std::ranges::find(policies, policy) == policies.end()) {
            policies.push_back(policy);
        }
    }
    std::vector<PolicyPair> rows;
    if (of_baseline.empty()) return rows;
    for (const std::string_view policy : policies) {
        rows.push_back(pair_row(runs, clusters, of_baseline, policy, quantities));
        rows.back().baseline = baseline;
    }
    return rows;
}

std::size_t runs_without_baseline(std::span<const UnitRun> runs, const RunClusters& clusters,
                                  std::string_view baseline) {
    std::set<PairKey> of_baseline;
    for (const UnitRun& run : runs) {
        if (run.unit.policy == baseline) of_baseline.insert(pair_key(run));
    }
    std::size_t without = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].unit.policy == baseline || !clusters.counts(i)) continue;
        if (!of_baseline.contains(pair_key(runs[i]))) ++without;
    }
    return without;
}

void correct_pairs(std::span<PolicyPair> rows) {
    const std::size_t quantities = rows.empty() ? 0 : rows.front().quantities.size();
    for (std::size_t quantity = 0; quantity < quantities; ++quantity) {
        std::vector<double> p_values;
        for (const PolicyPair& row : rows) {
            if (row.quantities[quantity].p) p_values.push_back(*row.quantities[quantity].p);
        }
        const std::vector<double> adjusted = holm_adjusted(p_values);
        auto next = adjusted.begin();
        for (PolicyPair& row : rows) {
            if (row.quantities[quantity].p) row.quantities[quantity].p_holm = *next++;
        }
    }
}

std::string policy_called(std::string_view name, std::span<const std::string> labels,
                          std::string_view option, std::string_view compared) {
    std::set<std::string> known;
    for (const std::string& label : labels) {
        if (label == name || short_label(label) == short_label(name)) return label;
        known.insert(short_label(label));
    }
    throw InputError(option, "",
                     fmt::format("expected one of the {} {}, found \"{}\"",
                                 compared == "policy" ? "policies" : fmt::format("{}s", compared),
                                 fmt::join(known, ", "), one_line(name)));
}

std::vector<PolicyPair> pairs_with(std::span<const records::RunResult> runs,
                                   std::string_view baseline) {
    const std::array<std::string, 2> quantities{"cost_usd", "hours"};
    std::vector<PolicyPair> all;
    for (const auto& group : variants_among(runs)) {
        std::vector<UnitRun> units;
        for (const std::size_t position : group) {
            const records::RunResult& run = runs[position];
            units.push_back(
                {unit_of(run), 0, run.finished, {to_dollars(run.cost), to_hours(run.duration)}});
        }
        const records::RunResult& first = runs[group.front()];
        for (PolicyPair& row : pairs_among(units, clusters_of(runs, group), baseline, quantities)) {
            row.scenario = first.scenario;
            row.variant = scenarios::variant_label(first.varied);
            row.varied = first.varied;
            all.push_back(std::move(row));
        }
    }
    correct_pairs(all);
    return all;
}

}  // namespace ukemi::analysis
