#include "analysis/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/policy_means.hpp"
#include "analysis/regret.hpp"
#include "base/plain_text.hpp"
#include "policies/registry.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t table_width = 100;
constexpr std::size_t name_width = 28;

// A number in `width` columns: with fewer decimals, and then without digits, where it is too long.
std::string fitted(double value, int decimals, std::size_t width) {
    for (; decimals >= 0; --decimals) {
        std::string text = fmt::format("{:.{}f}", value, decimals);
        if (text.size() <= width) return text;
    }
    return fmt::format("{:.0e}", value);
}

// Names are cut at the column's width, with a mark, so that no line is wider than it may be.
std::string fitted(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : text.substr(0, width - 1) + "~";
}

}  // namespace

std::string short_label(std::string_view label) {
    std::string text;
    while (true) {
        const std::string_view name = label.substr(0, label.find('+'));
        const policies::PolicyEntry* entry = policies::find_policy(name);
        text += entry != nullptr && !entry->alias.empty() ? entry->alias : name;
        if (name.size() == label.size()) return text;
        label.remove_prefix(name.size() + 1);
        text += '+';
    }
}

namespace {

// The lines of one scenario, cheapest first; what the notes below the table are about is noted.
struct Notes {
    bool oracle = false;
    bool optimum = false;
    std::set<std::string> forecasts;  // other than exact
    bool unfinished = false;
    std::size_t stuck = 0;  // runs
    std::size_t runs = 0;   // of a policy, at most
    std::size_t repeated = 0;
    std::set<std::string> clusters;  // what the intervals are over
    bool one_cluster = false;        // of several runs
};

// How many runs met their deadline, of those that have one.
std::string met_percent(const PolicyMeans& row) {
    if (row.with_deadline == 0) return "-";
    return fmt::format("{:.0f}", 100 * static_cast<double>(row.deadline_met) /
                                     static_cast<double>(row.with_deadline));
}

// What all of them could have paid at least.
std::string optimum_line(std::span<const records::RunResult> runs, Notes& notes) {
    const auto mean = optimum_mean(runs);
    if (!mean) return "";
    notes.optimum = true;
    return fmt::format("{:<28} {:>9}\n", optimum_name(*mean), fitted(mean->usd, 2, 9));
}

std::string policy_lines(std::span<const records::RunResult> runs, Notes& notes) {
    for (const records::RunResult& run : runs) {
        if (run.predictor != "exact") notes.forecasts.insert(run.predictor);
    }
    std::vector<PolicyMeans> rows = policy_means(runs);
    // A policy that finished nothing paid for something else.
    std::ranges::stable_sort(rows, {}, [](const PolicyMeans& row) {
        return std::pair(row.finished == 0, row.cost_usd.mean);
    });

    std::string text = optimum_line(runs, notes);
    for (const PolicyMeans& row : rows) {
        const Summary& cost = row.cost_usd;
        const std::string interval =
            cost.clusters < 2 ? "" : fitted(cost.mean_high_95 - cost.mean, 2, 7);
        const bool unfinished = row.finished < row.runs;
        notes.oracle = notes.oracle || row.oracle;
        notes.unfinished = notes.unfinished || unfinished;
        notes.runs = std::max(notes.runs, row.runs);
        notes.repeated = std::max(notes.repeated, row.repeated);
        if (!row.clusters_words.empty()) notes.clusters.insert(row.clusters_words);
        notes.one_cluster = notes.one_cluster || (cost.clusters == 1 && row.runs > 1);
        const std::string name =
            fitted(short_label(row.policy), name_width - 2) + (row.oracle ? " *" : "");
        notes.stuck += row.stuck;
        text += fmt::format(
            "{:<28} {:>9} {:>7} {:>7} {:>6}{} {:>4} {:>6}  ", name, fitted(cost.mean, 2, 9),
            interval, regret_text(regret_percent(runs, row.policy)), fitted(row.hours.mean, 1, 6),
            unfinished ? '!' : ' ', met_percent(row), fitted(row.revocations, 1, 6));
        for (const double share : row.share_percent) text += fmt::format("{:>4.0f}", share);
        text += "\n";
    }
    return text;
}

}  // namespace

std::string policy_table(std::span<const records::RunResult> runs) {
    constexpr std::string_view head = "{:<28} {:>9} {:>7} {:>7} {:>7} {:>4} {:>6}   {}\n";
    std::string text = fmt::format(head, "policy", "cost_usd", "+/-95%", "regret%", "hours", "met%",
                                   "losses", "share of held time, %");
    text += fmt::format(head, "", "mean", "", "", "mean", "", "mean", "use red tra chk idl was");
    Notes notes;
    const bool varied = !runs.empty() && !runs.front().varied.empty();
    while (!runs.empty()) {  // those of one variant stand together
        const auto other = std::ranges::find_if(
            runs, [&](const records::RunResult& run) { return run.varied != runs.front().varied; });
        const auto count = static_cast<std::size_t>(other - runs.begin());
        if (varied) {
            text += fmt::format(
                "\n{}\n", shortened(scenarios::variant_label(runs.front().varied), table_width));
        }
        text += policy_lines(runs.first(count), notes);
        runs = runs.subspan(count);
    }
    if (varied) text += "\n";
    text += fmt::format("{} run{} a policy", notes.runs, notes.runs == 1 ? "" : "s");
    if (!notes.clusters.empty()) {
        text += fmt::format("; intervals are over {}", fmt::join(notes.clusters, " or "));
    }
    text += "\n";
    if (notes.optimum) {
        text +=
            "optimum: the least that somebody pays who knows the market and is in time; regret% "
            "is over it\n";
    }
    if (notes.one_cluster) text += "no interval: what the runs are of is not independent\n";
    if (notes.repeated > 0) {
        text += fmt::format("{} more are the same under another seed, bit for bit: not counted\n",
                            notes.repeated);
    }
    if (notes.oracle) text += "* an oracle: knows the future\n";
    if (!notes.forecasts.empty()) {
        text += fmt::format("what policies expected was {} (\"predictor\")\n",
                            fmt::join(notes.forecasts, " or "));
    }
    if (notes.unfinished) text += "! some runs did not finish their work\n";
    if (notes.stuck > 0) {
        text += fmt::format("{} run{} could not go on: nothing to come would have changed that\n",
                            notes.stuck, notes.stuck == 1 ? "" : "s");
    }
    return text;
}

}  // namespace ukemi::analysis
