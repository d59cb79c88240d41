#include "analysis/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/table.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

double half_width(const Summary& summary) { return summary.mean_high_95 - summary.mean; }

Candidate candidate_of(std::span<const records::RunResult* const> runs) {
    Candidate one;
    one.scenario = runs.front()->scenario;
    one.variant = scenarios::variant_label(runs.front()->varied);
    one.policy = runs.front()->policy;
    std::vector<double> hours, samples, steps, dollars;
    RegretSum regret;
    for (const records::RunResult* run : runs) {
        ++one.runs;
        regret.add(*run);
        if (!run->finished) continue;
        ++one.reached;
        hours.push_back(to_hours(run->duration));
        if (run->steps) {  // else time is its work
            samples.push_back(static_cast<double>(run->samples_done));
            steps.push_back(static_cast<double>(*run->steps));
        }
        dollars.push_back(to_dollars(run->cost));
    }
    one.hours = summarise(hours);
    one.samples = summarise(samples);
    one.steps = summarise(steps);
    one.dollars = summarise(dollars);
    one.optimum = regret.optimum();
    one.regret_percent = regret.percent();
    return one;
}

// "12.3 +-0.4", with the interval only where there are runs enough for one.
std::string with_band(const Summary& summary) {
    if (summary.count == 0) return "-";
    if (summary.count == 1) return fmt::format("{:.4g}", summary.mean);
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
    std::vector<std::vector<const records::RunResult*>> groups;
    for (const records::RunResult& run : runs) {
        const auto same = std::ranges::find_if(groups, [&](const auto& group) {
            const records::RunResult& first = *group.front();
            return first.policy == run.policy && first.varied == run.varied &&
                   first.scenario == run.scenario;
        });
        if (same != groups.end()) {
            same->push_back(&run);
        } else {
            groups.push_back({&run});
        }
    }
    std::vector<Candidate> candidates;
    for (const auto& group : groups) candidates.push_back(candidate_of(group));
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
    text += fmt::format("{} run{} each; +- is the 95 % interval of the mean\n",
                        sorted.empty() ? 0 : sorted.front().runs,
                        !sorted.empty() && sorted.front().runs == 1 ? "" : "s");
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

std::string comparison_csv(std::span<const Candidate> candidates) {
    std::vector<std::string> columns{"variant", "policy", "runs", "reached"};
    for (const NamedSummary& quantity : quantities_of(Candidate{})) {
        columns.push_back(quantity.name + "_mean");
        columns.push_back(quantity.name + "_low_95");
        columns.push_back(quantity.name + "_high_95");
    }
    columns.emplace_back("scenario");
    columns.emplace_back("optimum_usd_mean");
    columns.emplace_back("optimum_kind");
    columns.emplace_back("regret_percent");
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
        csv.add(one.scenario);
        csv.add(one.optimum ? one.optimum->usd : no_value);
        csv.add(kind_of(one));
        csv.add(one.regret_percent.value_or(no_value));
        csv.end_row();
    }
    return csv.text();
}

std::string comparison_json(std::span<const Candidate> candidates,
                            std::span<const std::string> warnings) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Candidate& one : candidates) {
        nlohmann::json row = {{"scenario", one.scenario},
                              {"variant", one.variant},
                              {"policy", one.policy},
                              {"runs", one.runs},
                              {"reached", one.reached}};
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
    document["warnings"] = nlohmann::json::array();
    for (const std::string& one : warnings) document["warnings"].push_back(one);
    return document.dump(2) + "\n";
}

}  // namespace ukemi::analysis
