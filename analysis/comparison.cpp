#include "analysis/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clustered_summary.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace {

double half_width(const Summary& summary) { return summary.mean_high_95 - summary.mean; }

Candidate candidate_of(const PolicyGroup& group) {
    Candidate one;
    static_cast<PolicyInVariant&>(one) = group.which;
    one.outcome = outcome_means(group.members, true);
    std::vector<ClusterValue> hours, samples, steps, dollars, accuracy;
    for (const PolicyGroup::Member& member : group.members) {
        const records::RunResult& run = *member.run;
        if (!run.finished) continue;
        hours.push_back({member.cluster, to_hours(run.duration)});
        if (run.steps) {  // else time is its work
            samples.push_back({member.cluster, static_cast<double>(run.samples_done)});
            steps.push_back({member.cluster, static_cast<double>(*run.steps)});
        }
        dollars.push_back({member.cluster, to_dollars(run.cost)});
        if (run.accuracy) accuracy.push_back({member.cluster, *run.accuracy});
    }
    one.hours = summarise_clusters(hours);
    one.samples = summarise_clusters(samples);
    one.steps = summarise_clusters(steps);
    one.dollars = summarise_clusters(dollars);
    one.accuracy = summarise_clusters(accuracy);
    return one;
}

// "12.3 +-0.4", with the interval only where it is over something; of hours, so many seconds.
std::string with_band(const Summary& summary, double times = 1) {
    if (summary.count == 0) return std::string(nothing_to_show);
    if (summary.clusters < 2) return fmt::format("{:.4g}", summary.mean * times);
    // What rounding leaves of runs that are equal is no interval.
    const double width = half_width(summary);
    const double shown = width < 1e-12 * std::abs(summary.mean) ? 0 : width;
    return fmt::format("{:.4g} +-{:.2g}", summary.mean * times, shown * times);
}

std::string cut(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : text.substr(0, width - 1) + "~";
}

// Shortened to a width, or to the least of its multiples that keeps different ones different.
std::vector<std::string> shortened_apart(std::span<const std::string> names, std::size_t width) {
    const std::set<std::string> all(names.begin(), names.end());
    for (std::size_t bytes = width;; bytes += width) {
        std::vector<std::string> shorter;
        for (const std::string& name : names) shorter.push_back(shortened(name, bytes));
        if (std::set(shorter.begin(), shorter.end()).size() == all.size()) return shorter;
    }
}

// Of each candidate, for the lines below the table; "" of what is no variant.
std::vector<std::string> variant_names(std::span<const Candidate> candidates, std::size_t width) {
    std::vector<std::string> variants;
    for (const Candidate& one : candidates) variants.push_back(one.variant);
    return shortened_apart(variants, width);
}

std::vector<Candidate> fastest_first(std::span<const Candidate> candidates) {
    std::vector<Candidate> sorted(candidates.begin(), candidates.end());
    std::ranges::stable_sort(sorted, {}, [](const Candidate& one) {
        return std::pair(one.outcome.rank(), one.hours.mean);
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
            {"cost_usd", &one.dollars},
            {"accuracy", &one.accuracy}};
}

}  // namespace

std::vector<Candidate> candidates_of(std::span<const records::RunResult> runs) {
    std::vector<Candidate> candidates;
    for (const PolicyGroup& group : policy_groups(runs)) candidates.push_back(candidate_of(group));
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
        runs = std::max(runs, one.outcome.runs);
        repeated = std::max(repeated, one.repeated);
        if (!one.clusters_words.empty()) over.insert(one.clusters_words);
    }
    std::string text = fmt::format("{} run{} each", runs, runs == 1 ? "" : "s");
    if (!over.empty()) {
        text +=
            fmt::format("; +- is the 95 % interval of the mean, over {}", fmt::join(over, " or "));
    } else if (runs > 1) {
        text += fmt::format("; {}", no_interval_words);
    }
    text += '\n';
    if (repeated == 0) return text;
    return text + fmt::format("{} more are the same under another seed, bit for bit: not counted\n",
                              repeated);
}

constexpr std::string_view comparison_row = "{:<26} {:>14} {:>16} {:>15} {:>14} {:>7}{:<2}";
constexpr std::size_t shown_name_width = 26;

struct ComparisonLayout {
    TimeUnit time;
    bool markets;  // what was bought of which
};

std::string head_line(const ComparisonLayout& layout) {
    std::string text = fmt::format(comparison_row, "to the target", layout.time.name, "samples",
                                   "steps", "usd", "regret%", "");
    if (layout.markets) {
        text +=
            fmt::format("{:>8} {:>8} {:>8} {:>8} {:>8}", fmt::format("spot {}", layout.time.symbol),
                        fmt::format("o-d {}", layout.time.symbol),
                        fmt::format("worker {}", layout.time.symbol), "spot usd", "o-d usd");
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
}

std::string row_of(const Candidate& one, const std::string& variant,
                   const ComparisonLayout& layout) {
    std::string text = variant.empty() ? "" : variant + '\n';
    std::string name = shortened(one_line(one.policy), table_width_least);
    if (name.size() > shown_name_width) {  // has a line to itself: it is the one that files have
        text += name + '\n';
        name.clear();
    }
    text += fmt::format(comparison_row, name, with_band(one.hours, layout.time.per_hour),
                        with_band(one.samples), with_band(one.steps), with_band(one.dollars),
                        regret_text(one.outcome.regret_percent), one.all_reached() ? "" : " !");
    if (layout.markets && one.outcome.finished > 0) {
        const OutcomeMeans& all = one.outcome;
        text +=
            fmt::format("{:>8.4g} {:>8.4g} {:>8.4g} {:>8.4g} {:>8.4g}",
                        all.spot_h * layout.time.per_hour, all.on_demand_h * layout.time.per_hour,
                        all.worker_h * layout.time.per_hour, all.spot_usd, all.on_demand_usd);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + '\n';
}

// Below the table, where anybody knows one: it has no room for a column.
std::string accuracy_lines(std::span<const Candidate> sorted) {
    const std::vector<std::string> variants = variant_names(sorted, shown_name_width);
    std::string text;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const Candidate& one = sorted[i];
        if (one.accuracy.count == 0) continue;
        text += fmt::format("accuracy at the end {:>16}  {}{}{}\n", with_band(one.accuracy),
                            one_line(one.policy), one.variant.empty() ? "" : ", ", variants[i]);
    }
    return text;
}

// Whose regret is of fewer runs than the other means.
std::string regret_lines(std::span<const Candidate> sorted) {
    const std::vector<std::string> variants = variant_names(sorted, 28);
    std::string text;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const Candidate& one = sorted[i];
        const OutcomeMeans& outcome = one.outcome;
        if (!outcome.optimum || outcome.regret_runs == outcome.finished) continue;
        text += fmt::format("regret% of {} of {} runs that got there: {}{}{}\n",
                            outcome.regret_runs, outcome.finished, variants[i],
                            one.variant.empty() ? "" : ", ", cut(one.policy, policy_width));
    }
    return text;
}

std::string rows_of(std::span<const Candidate> sorted, const ComparisonLayout& layout) {
    std::string text = head_line(layout);
    // One line for all candidates of the same work.
    const bool one_work = std::ranges::all_of(
        sorted, [&](const Candidate& one) { return one.variant == sorted.front().variant; });
    if (one_work && !sorted.empty() && sorted.front().outcome.optimum) {
        const OptimumMean& mean = *sorted.front().outcome.optimum;
        text += fmt::format("{:<26} {:>14} {:>16} {:>15} {:>14.4g}\n", optimum_name(mean), "", "",
                            "", mean.usd);
    }
    const std::vector<std::string> variants = variant_names(sorted, table_width_least);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        text += row_of(sorted[i], variants[i], layout);
    }
    text += runs_line(sorted);
    text += fmt::format(
        "means of the runs that got there; regret%: of those in time, over their optima{}\n",
        layout.markets ? "; o-d: on demand" : "");
    text += accuracy_lines(sorted);
    text += regret_lines(sorted);
    const std::vector<std::string> below = variant_names(sorted, 60);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const Candidate& one = sorted[i];
        if (one.all_reached()) continue;
        text += fmt::format("! {}{}{}: {} of {} runs did not get there\n", below[i],
                            one.variant.empty() ? "" : ", ", cut(one.policy, policy_width),
                            one.outcome.runs - one.outcome.finished, one.outcome.runs);
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
        if (one.all_reached()) best = std::min(best, one.hours.mean);
        if (one.policy == like.policy && one.variant == like.variant) own = &one;
    }
    if (own == nullptr) return "";
    if (!own->all_reached()) return "never";
    return fmt::format("{:.2f}", own->hours.mean / best);
}

std::string transfer_table(std::span<const Candidate> candidates,
                           std::span<const std::string> scenarios) {
    constexpr std::size_t shown_most = 4;  // that fit beside the names
    const auto shown = scenarios.first(std::min(scenarios.size(), shown_most));
    std::string text = fmt::format("\n{:<34}", "time over the best of each");
    for (const std::string& name : shown) text += fmt::format(" {:>15}", cut(name, 15));
    text += '\n';
    std::vector<std::string> labels;
    for (const Candidate& one : candidates) {
        labels.push_back(one.variant.empty() ? one.policy : one.policy + ", " + one.variant);
    }
    const std::vector<std::string> names = shortened_apart(labels, policy_width);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (std::ranges::find(labels, labels[i]) - labels.begin() < std::ptrdiff_t(i)) continue;
        // A longer one has a line to itself.
        text += names[i].size() > policy_width ? fmt::format("{}\n{:<34}", names[i], "")
                                               : fmt::format("{:<34}", names[i]);
        for (const std::string& name : shown) {
            text += fmt::format(" {:>15}", over_best(candidates, candidates[i], name));
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

std::string comparison_table(std::span<const Candidate> candidates, std::size_t width) {
    double longest_h = 0;
    for (const Candidate& one : candidates) longest_h = std::max(longest_h, one.hours.mean);
    const ComparisonLayout layout{table_time_unit(longest_h), width >= table_width_with_markets};
    const std::vector<std::string> scenarios = scenarios_of(candidates);
    if (scenarios.size() < 2) return rows_of(fastest_first(candidates), layout);
    std::string text;
    for (const std::string& name : scenarios) {
        std::vector<Candidate> own;
        for (const Candidate& one : candidates) {
            if (one.scenario == name) own.push_back(one);
        }
        text += fmt::format("{}{}\n", text.empty() ? "" : "\n", name);
        text += rows_of(fastest_first(own), layout);
    }
    return text + transfer_table(candidates, scenarios);
}

std::string comparison_csv(std::span<const Candidate> candidates,
                           std::span<const PolicyPair> pairs) {
    const records::VariedColumns varied(candidates);
    std::vector<std::string> columns{"variant", "policy"};
    varied.add_names(columns);
    columns.insert(columns.end(), {"runs", "reached"});
    for (const NamedSummary& quantity : quantities_of(Candidate{})) {
        columns.push_back(quantity.name + "_mean");
        columns.push_back(quantity.name + "_low_95");
        columns.push_back(quantity.name + "_high_95");
    }
    columns.emplace_back("scenario");
    add_outcome_names(columns);
    columns.insert(columns.end(), {"repeated", "clusters", "cluster"});
    std::vector<PairColumn> nothing;
    if (!pairs.empty()) nothing = pair_columns(pairs.front());
    if (!pairs.empty()) columns.emplace_back("baseline");
    for (const PairColumn& column : nothing) columns.push_back(column.name);
    for (PairColumn& column : nothing) column.value = std::nan("");
    constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
    CsvWriter csv(columns);
    for (const Candidate& one : candidates) {
        csv.add(one.variant).add(one.policy);
        varied.add_fields(csv, one.varied);
        csv.add(one.outcome.runs).add(one.outcome.finished);
        for (const NamedSummary& quantity : quantities_of(one)) {
            const bool known = quantity.summary->count > 0;
            csv.add(known ? quantity.summary->mean : no_value)
                .add(known ? quantity.summary->mean_low_95 : no_value)
                .add(known ? quantity.summary->mean_high_95 : no_value);
        }
        csv.add(one.scenario);
        add_outcome_fields(csv, one.outcome);
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
    using nlohmann::ordered_json;
    const records::VariedColumns varied(candidates);
    ordered_json rows = ordered_json::array();
    for (const Candidate& one : candidates) {
        ordered_json row = {
            {"scenario", one.scenario}, {"variant", one.variant}, {"policy", one.policy}};
        varied.add_fields(row, one.varied);
        row["runs"] = one.outcome.runs;
        row["reached"] = one.outcome.finished;
        row["repeated"] = one.repeated;
        row["clusters"] = one.hours.clusters;
        row["cluster"] = one.clusters_name;
        add_outcome_fields(row, one.outcome);
        for (const NamedSummary& quantity : quantities_of(one)) {
            if (quantity.summary->count == 0) continue;
            row[quantity.name] = {{"mean", quantity.summary->mean},
                                  {"low_95", quantity.summary->mean_low_95},
                                  {"high_95", quantity.summary->mean_high_95}};
        }
        rows.push_back(std::move(row));
    }
    ordered_json document;
    document["candidates"] = std::move(rows);
    if (!pairs.empty()) document["pairs"] = ordered_json::parse(pairs_json(pairs));
    document["warnings"] = ordered_json::array();
    for (const std::string& one : warnings) document["warnings"].push_back(one);
    return document.dump(2) + "\n";
}

}  // namespace ukemi::analysis
