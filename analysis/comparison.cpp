#include "analysis/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/table.hpp"
#include "analysis/units.hpp"
#include "base/clustered_summary.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

double half_width(const Summary& summary) { return summary.mean_high_95 - summary.mean; }

Candidate candidate_of(const std::string& policy, std::span<const records::RunResult> runs,
                       std::span<const std::size_t> positions, const RunClusters& clusters) {
    const records::RunResult& first = runs[positions.front()];
    Candidate one;
    one.scenario = first.scenario;
    one.variant = scenarios::variant_label(first.varied);
    one.policy = policy;
    one.clusters_name = clusters.name();
    one.clusters_words = clusters.words();
    RegretSum regret;
    std::vector<ClusterValue> hours, samples, steps, dollars;
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const records::RunResult& run = runs[positions[i]];
        if (run.policy != policy) continue;
        if (!clusters.counts(i)) {
            ++one.repeated;
            continue;
        }
        ++one.runs;
        regret.add(run);
        if (!run.finished) continue;
        ++one.reached;
        const std::size_t cluster = clusters.cluster[i];
        hours.push_back({cluster, to_hours(run.duration)});
        if (run.steps) {  // else time is its work
            samples.push_back({cluster, static_cast<double>(run.samples_done)});
            steps.push_back({cluster, static_cast<double>(*run.steps)});
        }
        dollars.push_back({cluster, to_dollars(run.cost)});
    }
    one.hours = summarise_clusters(hours);
    one.samples = summarise_clusters(samples);
    one.steps = summarise_clusters(steps);
    one.dollars = summarise_clusters(dollars);
    one.optimum = regret.optimum();
    one.regret_percent = regret.percent();
    return one;
}

// "12.3 +-0.4", with the interval only where it is over something.
std::string with_band(const Summary& summary) {
    if (summary.count == 0) return "-";
    if (summary.clusters < 2) return fmt::format("{:.4g}", summary.mean);
    return fmt::format("{:.4g} +-{:.2g}", summary.mean, half_width(summary));
}

std::string cut(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : text.substr(0, width - 1) + "~";
}

std::vector<Candidate> fastest_first(std::span<const Candidate> candidates) {
    std::vector<Candidate> sorted(candidates.begin(), candidates.end());
    std::ranges::stable_sort(sorted, {}, [](const Candidate& one) {
        return one.reached > 0 ? one.hours.mean : std::numeric_limits<double>::infinity();
    });
    return sorted;
}

// Of a quantity, for files: missing where nobody got there.
struct NamedSummary {
    std::string name;
    const Summary* summary;
};
std::vector<NamedSummary> quantities_of(const Candidate& one) {
    return {{"hours", &one.hours},
            {"samples", &one.samples},
            {"steps", &one.steps},
            {"cost_usd", &one.dollars}};
}

std::string_view kind_of(const Candidate& one) {
    return !one.optimum ? "" : one.optimum->exact ? "exact" : "bound";
}

}  // namespace

std::vector<Candidate> candidates_of(std::span<const records::RunResult> runs) {
    std::vector<Candidate> candidates;
    for (const auto& positions : variants_among(runs)) {
        const RunClusters clusters = clusters_of(runs, positions);
        std::vector<std::string> policies;
        for (const std::size_t position : positions) {
            const std::string& policy = runs[position].policy;
            if (std::ranges::find(policies, policy) != policies.end()) continue;
            policies.push_back(policy);
            candidates.push_back(candidate_of(policy, runs, positions, clusters));
        }
    }
    return candidates;
}

namespace {

constexpr std::size_t policy_width = 34;

std::vector<std::string> scenarios_of(std::span<const Candidate> candidates) {
    std::vector<std::string> names;
    for (const Candidate& one : candidates) {
        if (std::ranges::find(names, one.scenario) == names.end()) names.push_back(one.scenario);
    }
    return names;
}

// How many runs there were, and what their intervals are over.
std::string runs_line(std::span<const Candidate> candidates) {
    std::size_t runs = 0;
    std::size_t repeated = 0;
    std::set<std::string> over;
    for (const Candidate& one : candidates) {
        runs = std::max(runs, one.runs);
        repeated = std::max(repeated, one.repeated);
        if (!one.clusters_words.empty()) over.insert(one.clusters_words);
    }
    std::string text = fmt::format("{} run{} each; +- is the 95 % interval of the mean", runs,
                                   runs == 1 ? "" : "s");
    if (!over.empty()) text += fmt::format(", over {}", fmt::join(over, " or "));
    text += '\n';
    if (repeated == 0) return text;
    return text + fmt::format("{} more are the same under another seed, bit for bit: not counted\n",
                              repeated);
}

std::string rows_of(std::span<const Candidate> sorted) {
    constexpr std::string_view row = "{:<26} {:>14} {:>16} {:>15} {:>14} {:>7}{}\n";
    constexpr std::size_t name_width = 26;
    std::string text =
        fmt::format(row, "to the target", "hours", "samples", "steps", "usd", "regret%", "");
    // One line for all candidates of the same work.
    const bool one_work = std::ranges::all_of(
        sorted, [&](const Candidate& one) { return one.variant == sorted.front().variant; });
    if (one_work && !sorted.empty() && sorted.front().optimum) {
        const OptimumMean& mean = *sorted.front().optimum;
        text += fmt::format(row, optimum_name(mean), "", "", "", fmt::format("{:.4g}", mean.usd),
                            "", "");
    }
    for (const Candidate& one : sorted) {
        const bool misses = one.reached < one.runs;
        if (!one.variant.empty()) text += fmt::format("{}\n", shortened(one.variant, 100));
        text += fmt::format(row, cut(short_label(one.policy), name_width), with_band(one.hours),
                            with_band(one.samples), with_band(one.steps), with_band(one.dollars),
                            regret_text(one.regret_percent), misses ? " !" : "");
    }
    text += runs_line(sorted);
    for (const Candidate& one : sorted) {
        if (one.reached == one.runs) continue;
        text +=
            fmt::format("! {}{}{}: {} of {} runs did not get there\n", shortened(one.variant, 60),
                        one.variant.empty() ? "" : ", ", cut(short_label(one.policy), policy_width),
                        one.runs - one.reached, one.runs);
    }
    return text;
}

// A candidate's hours over the least of all in its scenario; nothing where it is not run, or not
// all of its runs get there.
std::string over_best(std::span<const Candidate> candidates, const Candidate& like,
                      const std::string& scenario) {
    double best = std::numeric_limits<double>::infinity();
    const Candidate* own = nullptr;
    for (const Candidate& one : candidates) {
        if (one.scenario != scenario) continue;
        if (one.reached == one.runs) best = std::min(best, one.hours.mean);
        if (one.policy == like.policy && one.variant == like.variant) own = &one;
    }
    if (own == nullptr) return "";
    if (own->reached < own->runs) return "never";
    return fmt::format("{:.2f}", own->hours.mean / best);
}

std::string transfer_table(std::span<const Candidate> candidates,
                           std::span<const std::string> scenarios) {
    constexpr std::size_t shown_most = 4;  // that fit beside the names
    const auto shown = scenarios.first(std::min(scenarios.size(), shown_most));
    std::string text = fmt::format("\n{:<34}", "hours over the best of each");
    for (const std::string& name : shown) text += fmt::format(" {:>15}", cut(name, 15));
    text += '\n';
    std::vector<std::string> told;
    for (const Candidate& one : candidates) {
        const std::string label = one.variant.empty()
                                      ? short_label(one.policy)
                                      : short_label(one.policy) + ", " + one.variant;
        if (std::ranges::find(told, label) != told.end()) continue;
        told.push_back(label);
        text += fmt::format("{:<34}", cut(label, policy_width));
        for (const std::string& name : shown) {
            text += fmt::format(" {:>15}", over_best(candidates, one, name));
        }
        text += '\n';
    }
    if (shown.size() < scenarios.size()) {
        text +=
            fmt::format("({} more scenarios: --csv has all)\n", scenarios.size() - shown.size());
    }
    return text;
}

}  // namespace

std::string comparison_table(std::span<const Candidate> candidates) {
    const std::vector<std::string> scenarios = scenarios_of(candidates);
    if (scenarios.size() < 2) return rows_of(fastest_first(candidates));
    std::string text;
    for (const std::string& name : scenarios) {
        std::vector<Candidate> own;
        for (const Candidate& one : candidates) {
            if (one.scenario == name) own.push_back(one);
        }
        text += fmt::format("{}{}\n", text.empty() ? "" : "\n", name);
        text += rows_of(fastest_first(own));
    }
    return text + transfer_table(candidates, scenarios);
}

std::string comparison_csv(std::span<const Candidate> candidates,
                           std::span<const PolicyPair> pairs) {
    std::vector<std::string> columns{"variant", "policy", "runs", "reached"};
    for (const NamedSummary& quantity : quantities_of(Candidate{})) {
        columns.push_back(quantity.name + "_mean");
        columns.push_back(quantity.name + "_low_95");
        columns.push_back(quantity.name + "_high_95");
    }
    columns.insert(columns.end(), {"scenario", "optimum_usd_mean", "optimum_kind", "regret_percent",
                                   "repeated", "clusters", "cluster"});
    std::vector<PairColumn> nothing;
    if (!pairs.empty()) nothing = pair_columns(pairs.front());
    if (!pairs.empty()) columns.emplace_back("baseline");
    for (const PairColumn& column : nothing) columns.push_back(column.name);
    for (PairColumn& column : nothing) column.value = std::nan("");
    constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
    CsvWriter csv(columns);
    for (const Candidate& one : candidates) {
        csv.add(one.variant).add(one.policy).add(one.runs).add(one.reached);
        for (const NamedSummary& quantity : quantities_of(one)) {
            const bool known = quantity.summary->count > 0;
            csv.add(known ? quantity.summary->mean : no_value)
                .add(known ? quantity.summary->mean_low_95 : no_value)
                .add(known ? quantity.summary->mean_high_95 : no_value);
        }
        csv.add(one.scenario).add(one.optimum ? one.optimum->usd : no_value).add(kind_of(one));
        csv.add(one.regret_percent.value_or(no_value));
        csv.add(one.repeated).add(one.hours.clusters).add(one.clusters_name);
        const auto pair = std::ranges::find_if(pairs, [&](const PolicyPair& other) {
            return other.scenario == one.scenario && other.variant == one.variant &&
                   other.policy == one.policy;
        });
        if (!pairs.empty()) csv.add(pair == pairs.end() ? "" : std::string_view(pair->baseline));
        const auto values = pair == pairs.end() ? nothing : pair_columns(*pair);
        for (const PairColumn& column : values) csv.add(column.value);
        csv.end_row();
    }
    return csv.text();
}

std::string comparison_json(std::span<const Candidate> candidates,
                            std::span<const PolicyPair> pairs,
                            std::span<const std::string> warnings) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Candidate& one : candidates) {
        nlohmann::json row = {{"scenario", one.scenario},       {"variant", one.variant},
                              {"policy", one.policy},           {"runs", one.runs},
                              {"reached", one.reached},         {"repeated", one.repeated},
                              {"clusters", one.hours.clusters}, {"cluster", one.clusters_name}};
        if (one.optimum) {
            row["optimum_usd"] = one.optimum->usd;
            row["optimum_kind"] = kind_of(one);
        }
        if (one.regret_percent) row["regret_percent"] = *one.regret_percent;
        for (const NamedSummary& quantity : quantities_of(one)) {
            if (quantity.summary->count == 0) continue;
            row[quantity.name] = {{"mean", quantity.summary->mean},
                                  {"low_95", quantity.summary->mean_low_95},
                                  {"high_95", quantity.summary->mean_high_95}};
        }
        rows.push_back(std::move(row));
    }
    nlohmann::json document{{"candidates", std::move(rows)}};
    if (!pairs.empty()) document["pairs"] = nlohmann::json::parse(pairs_json(pairs));
    document["warnings"] = nlohmann::json::array();
    for (const std::string& one : warnings) document["warnings"].push_back(one);
    return document.dump(2) + "\n";
}

}  // namespace ukemi::analysis
