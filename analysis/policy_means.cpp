#include "analysis/policy_means.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/units.hpp"
#include "base/clustered_summary.hpp"
#include "base/csv_writer.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

using records::cause_count;
using records::RunResult;

PolicyMeans means_of(const std::string& policy, std::span<const RunResult> runs,
                     std::span<const std::size_t> positions, const RunClusters& clusters) {
    PolicyMeans means;
    const RunResult& first = runs[positions.front()];
    means.scenario = first.scenario;
    means.variant = scenarios::variant_label(first.varied);
    means.policy = policy;
    means.clusters_name = clusters.name();
    means.clusters_words = clusters.words();
    std::vector<ClusterValue> costs, hours;
    double held_s = 0;
    std::array<double, cause_count> cause_s{};
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const RunResult& run = runs[positions[i]];
        if (run.policy != policy) continue;
        if (!clusters.counts(i)) {
            ++means.repeated;
            continue;
        }
        ++means.runs;
        means.oracle = means.oracle || run.oracle;
        costs.push_back({clusters.cluster[i], to_dollars(run.cost)});
        hours.push_back({clusters.cluster[i], to_hours(run.duration)});
        means.revocations += static_cast<double>(run.revocations);
        means.finished += run.finished;
        means.stuck += run.stuck;
        means.with_deadline += run.deadline.has_value();
        means.deadline_met += run.deadline && run.deadline_met;
        held_s += to_seconds(run.held);
        for (std::size_t cause = 0; cause < cause_count; ++cause) {
            cause_s[cause] += to_seconds(run.causes.time[cause]);
        }
    }
    means.cost_usd = summarise_clusters(costs);
    means.hours = summarise_clusters(hours);
    means.revocations /= static_cast<double>(means.runs);
    for (std::size_t cause = 0; cause < cause_count; ++cause) {
        means.share_percent[cause] = held_s > 0 ? 100 * cause_s[cause] / held_s : 0;
    }
    return means;
}

}  // namespace

std::vector<PolicyMeans> policy_means(std::span<const RunResult> runs) {
    std::vector<PolicyMeans> all;
    for (const auto& positions : variants_among(runs)) {
        const RunClusters clusters = clusters_of(runs, positions);
        std::vector<std::string> policies;
        for (const std::size_t position : positions) {
            const std::string& policy = runs[position].policy;
            if (std::ranges::find(policies, policy) != policies.end()) continue;
            policies.push_back(policy);
            all.push_back(means_of(policy, runs, positions, clusters));
        }
    }
    return all;
}

std::string policy_means_csv(std::span<const PolicyMeans> policies) {
    CsvWriter csv({"variant", "policy", "runs", "repeated", "finished", "deadline_met_share",
                   "cost_usd_mean", "cost_usd_low_95", "cost_usd_high_95", "hours_mean",
                   "hours_low_95", "hours_high_95", "revocations_mean", "clusters", "cluster",
                   "scenario"});
    constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
    for (const PolicyMeans& one : policies) {
        csv.add(one.variant).add(one.policy).add(one.runs).add(one.repeated).add(one.finished);
        csv.add(one.with_deadline == 0 ? no_value
                                       : static_cast<double>(one.deadline_met) /
                                             static_cast<double>(one.with_deadline));
        for (const Summary* summary : {&one.cost_usd, &one.hours}) {
            const bool sure = summary->clusters > 1;
            csv.add(summary->mean).add(sure ? summary->mean_low_95 : no_value);
            csv.add(sure ? summary->mean_high_95 : no_value);
        }
        csv.add(one.revocations).add(one.cost_usd.clusters).add(one.clusters_name);
        csv.add(one.scenario);
        csv.end_row();
    }
    return csv.text();
}

std::string policy_means_json(std::span<const PolicyMeans> policies) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const PolicyMeans& one : policies) {
        nlohmann::ordered_json row = {
            {"scenario", one.scenario},     {"variant", one.variant},
            {"policy", one.policy},         {"runs", one.runs},
            {"repeated", one.repeated},     {"finished", one.finished},
            {"deadline_met", nullptr},      {"clusters", one.cost_usd.clusters},
            {"cluster", one.clusters_name}, {"clusters_are", one.clusters_words}};
        if (one.with_deadline > 0) row["deadline_met"] = one.deadline_met;
        for (const auto& [name, summary] :
             {std::pair("cost_usd", &one.cost_usd), std::pair("hours", &one.hours)}) {
            row[name] = {{"mean", summary->mean}, {"low_95", nullptr}, {"high_95", nullptr}};
            if (summary->clusters < 2) continue;
            row[name]["low_95"] = summary->mean_low_95;
            row[name]["high_95"] = summary->mean_high_95;
        }
        rows.push_back(std::move(row));
    }
    return rows.dump(1);
}

}  // namespace ukemi::analysis
