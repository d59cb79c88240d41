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

using records::RunResult;

constexpr std::array<std::string_view, 2> quantity_names{"cost_usd", "hours"};

double quantity_of(const RunResult& run, std::size_t quantity) {
    return quantity == 0 ? to_dollars(run.cost) : to_hours(run.duration);
}

// A policy's run and the baseline's on the same trace, window and seed.
struct RunPair {
    const RunResult* policy;
    const RunResult* baseline;
    std::size_t cluster;
};

std::vector<double> cluster_means(std::span<const ClusterValue> values) {
    std::map<std::size_t, std::vector<double>> clusters;
    for (const ClusterValue& one : values) clusters[one.cluster].push_back(one.value);
    std::vector<double> means;
    for (const auto& [cluster, own] : clusters) means.push_back(summarise(own).mean);
    return means;
}

PairedQuantity paired(std::span<const RunPair> pairs, std::size_t quantity) {
    PairedQuantity result;
    result.name = quantity_names[quantity];
    std::vector<ClusterValue> differences;
    std::vector<double> policy, baseline;
    for (const RunPair& pair : pairs) {
        policy.push_back(quantity_of(*pair.policy, quantity));
        baseline.push_back(quantity_of(*pair.baseline, quantity));
        differences.push_back({pair.cluster, policy.back() - baseline.back()});
    }
    result.difference = summarise_clusters(differences);
    if (result.difference.clusters >= 2) result.p = signed_rank_p(cluster_means(differences));
    const double baseline_mean = summarise(baseline).mean;
    if (baseline_mean == 0) return result;
    result.ratio = summarise(policy).mean / baseline_mean;
    std::vector<ClusterValue> linear;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        linear.push_back(
            {pairs[i].cluster, (policy[i] - *result.ratio * baseline[i]) / baseline_mean});
    }
    const Summary spread = summarise_clusters(linear);
    result.ratio_half_width_95 = spread.mean_high_95 - spread.mean;
    return result;
}

void add_pairs_of(std::span<const RunResult> runs, std::span<const std::size_t> group,
                  std::string_view baseline, std::vector<PolicyPair>& rows) {
    using Key = std::tuple<std::string_view, std::string_view, std::int64_t, std::uint64_t>;
    const auto key_of = [](const RunResult& run) {
        return Key(run.record, run.trace, run.start.raw(), run.seed);
    };
    std::vector<std::string> policies;
    std::map<Key, std::size_t> of_baseline;  // positions in the group
    for (std::size_t i = 0; i < group.size(); ++i) {
        const RunResult& run = runs[group[i]];
        if (run.policy == baseline) {
            of_baseline.emplace(key_of(run), i);
        } else if (std::ranges::find(policies, run.policy) == policies.end()) {
            policies.push_back(run.policy);
        }
    }
    if (of_baseline.empty()) return;
    const RunClusters clusters = clusters_of(runs, group);
    for (const std::string& policy : policies) {
        PolicyPair& row = rows.emplace_back();
        const RunResult& first = runs[group.front()];
        row.scenario = first.scenario;
        row.variant = scenarios::variant_label(first.varied);
        row.varied = first.varied;
        row.policy = policy;
        row.baseline = baseline;
        row.clusters_name = clusters.name();
        row.clusters_words = clusters.words();
        std::vector<RunPair> pairs;
        for (std::size_t i = 0; i < group.size(); ++i) {
            const RunResult& run = runs[group[i]];
            const auto other = of_baseline.find(key_of(run));
            if (run.policy != policy || other == of_baseline.end()) continue;
            if (!clusters.counts(i) && !clusters.counts(other->second)) continue;
            const RunResult& reference = runs[group[other->second]];
            if (run.finished && reference.finished) {
                pairs.push_back({&run, &reference, clusters.cluster[i]});
            } else {
                ++row.unfinished;
            }
        }
        row.pairs = pairs.size();
        for (std::size_t quantity = 0; quantity < quantity_names.size(); ++quantity) {
            row.quantities.push_back(paired(pairs, quantity));
        }
    }
}

void correct(std::span<PolicyPair> rows) {
    for (std::size_t quantity = 0; quantity < quantity_names.size(); ++quantity) {
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

}  // namespace

std::string policy_called(std::string_view name, std::span<const std::string> labels) {
    std::set<std::string> known;
    for (const std::string& label : labels) {
        if (label == name || short_label(label) == short_label(name)) return label;
        known.insert(short_label(label));
    }
    throw InputError("--baseline", "",
                     fmt::format("expected one of the policies {}, found \"{}\"",
                                 fmt::join(known, ", "), one_line(name)));
}

std::vector<PolicyPair> pairs_with(std::span<const RunResult> runs, std::string_view baseline) {
    std::vector<PolicyPair> rows;
    for (const auto& group : variants_among(runs)) add_pairs_of(runs, group, baseline, rows);
    correct(rows);
    return rows;
}

}  // namespace ukemi::analysis
