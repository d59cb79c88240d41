#include "analysis/policy_means.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/clustered_summary.hpp"
#include "base/csv_writer.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace {

using records::cause_count;
using records::RunResult;

PolicyMeans means_of(const PolicyGroup& group) {
    PolicyMeans means;
    static_cast<PolicyInVariant&>(means) = group.which;
    std::vector<ClusterValue> costs, hours;
    double held_s = 0;
    std::array<double, cause_count> cause_s{};
    for (const PolicyGroup::Member& member : group.members) {
        const RunResult& run = *member.run;
        means.oracle = means.oracle || run.oracle;
        costs.push_back({member.cluster, to_dollars(run.cost)});
        hours.push_back({member.cluster, to_hours(run.duration)});
        means.revocations += static_cast<double>(run.revocations);
        means.failures += static_cast<double>(run.failures);
        means.stuck += run.stuck;
        held_s += to_seconds(run.held);
        for (std::size_t cause = 0; cause < cause_count; ++cause) {
            cause_s[cause] += to_seconds(run.causes.time[cause]);
        }
    }
    means.outcome = outcome_means(group.members, false);
    means.cost_usd = summarise_clusters(costs);
    means.hours = summarise_clusters(hours);
    means.revocations /= static_cast<double>(means.outcome.runs);
    means.failures /= static_cast<double>(means.outcome.runs);
    for (std::size_t cause = 0; cause < cause_count; ++cause) {
        means.share_percent[cause] = held_s > 0 ? 100 * cause_s[cause] / held_s : 0;
    }
    return means;
}

}  // namespace

std::vector<PolicyMeans> policy_means(std::span<const RunResult> runs) {
    std::vector<PolicyMeans> all;
    for (const PolicyGroup& group : policy_groups(runs)) all.push_back(means_of(group));
    return all;
}

std::string policy_means_csv(std::span<const PolicyMeans> policies) {
    const records::VariedColumns varied(policies);
    std::vector<std::string> columns{"variant", "policy"};
    varied.add_names(columns);
    columns.insert(columns.end(),
                   {"runs", "repeated", "finished", "cost_usd_mean", "cost_usd_low_95",
                    "cost_usd_high_95", "hours_mean", "hours_low_95", "hours_high_95",
                    "revocations_mean", "clusters", "cluster", "scenario"});
    add_outcome_names(columns);
    columns.emplace_back("failures_mean");
    CsvWriter csv(columns);
    constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
    for (const PolicyMeans& one : policies) {
        csv.add(one.variant).add(one.policy);
        varied.add_fields(csv, one.varied);
        csv.add(one.outcome.runs).add(one.repeated).add(one.outcome.finished);
        for (const Summary* summary : {&one.cost_usd, &one.hours}) {
            const bool sure = summary->clusters > 1;
            csv.add(summary->mean).add(sure ? summary->mean_low_95 : no_value);
            csv.add(sure ? summary->mean_high_95 : no_value);
        }
        csv.add(one.revocations).add(one.cost_usd.clusters).add(one.clusters_name);
        csv.add(one.scenario);
        add_outcome_fields(csv, one.outcome);
        csv.add(one.failures).end_row();
    }
    return csv.text();
}

std::string policy_means_json(std::span<const PolicyMeans> policies) {
    const records::VariedColumns varied(policies);
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const PolicyMeans& one : policies) {
        nlohmann::ordered_json row = {
            {"scenario", one.scenario}, {"variant", one.variant}, {"policy", one.policy}};
        varied.add_fields(row, one.varied);
        row["runs"] = one.outcome.runs;
        row["repeated"] = one.repeated;
        row["finished"] = one.outcome.finished;
        row["clusters"] = one.cost_usd.clusters;
        row["cluster"] = one.clusters_name;
        row["clusters_are"] = one.clusters_words;
        for (const auto& [name, summary] :
             {std::pair("cost_usd", &one.cost_usd), std::pair("hours", &one.hours)}) {
            row[name] = {{"mean", summary->mean}, {"low_95", nullptr}, {"high_95", nullptr}};
            if (summary->clusters < 2) continue;
            row[name]["low_95"] = summary->mean_low_95;
            row[name]["high_95"] = summary->mean_high_95;
        }
        row["revocations_mean"] = one.revocations;
        row["failures_mean"] = one.failures;
        add_outcome_fields(row, one.outcome);
        rows.push_back(std::move(row));
    }
    return rows.dump(1);
}

}  // namespace ukemi::analysis
