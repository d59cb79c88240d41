#include "analysis/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "analysis/policy_means.hpp"
#include "analysis/regret.hpp"
#include "analysis/table_cells.hpp"
#include "analysis/units.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "policies/registry.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t name_width = 28;

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

// What the notes below the table are about.
struct Notes {
    bool oracle = false;
    bool optimum = false;
    std::set<std::string> forecasts;  // other than exact
    bool unfinished = false;
    bool failed = false;    // live workers
    std::size_t stuck = 0;  // runs
    std::size_t runs = 0;   // of a policy, at most
    std::size_t repeated = 0;
    std::set<std::string> clusters;  // what the intervals are over
    bool one_cluster = false;        // of several runs
};

struct PolicyTableLayout {
    TimeUnit time;
    bool markets;  // what was bought of which
};

// A name that is too long has a line to itself: it is the one that files have.
std::string name_cells(const PolicyMeans& row) {
    const std::string name =
        shortened(one_line(row.policy), table_width_least - 2) + (row.oracle ? " *" : "");
    if (name.size() <= name_width) return fmt::format("{:<28}", name);
    return fmt::format("{}\n{:<28}", name, "");
}

std::string market_cells(const OutcomeMeans& outcome, const PolicyTableLayout& layout) {
    if (!layout.markets) return {};
    std::string text;
    for (const double h : {outcome.spot_h, outcome.on_demand_h, outcome.worker_h}) {
        text += fmt::format(" {:>8}", fitted(h * layout.time.per_hour, 1, 8));
    }
    for (const double usd : {outcome.spot_usd, outcome.on_demand_usd}) {
        text += fmt::format(" {:>8}", fitted_usd(usd, 8));
    }
    return text;
}

std::string head_lines(const PolicyTableLayout& layout) {
    constexpr std::string_view head = "{:<28} {:>9} {:>7} {:>7} {:>7} {:>4} {:>6}   {}";
    std::string text = fmt::format(head, "policy", "cost_usd", "+/-usd", "regret%",
                                   layout.time.name, "met%", "losses", "share of held time, %");
    if (layout.markets) {
        text += fmt::format("   {:>8} {:>8} {:>8} {:>8} {:>8}",
                            fmt::format("spot {}", layout.time.symbol),
                            fmt::format("o-d {}", layout.time.symbol),
                            fmt::format("worker {}", layout.time.symbol), "spot usd", "o-d usd");
    }
    return text + "\n" +
           fmt::format(head, "", "mean", "", "", "mean", "", "mean", "use red tra chk idl was") +
           "\n";
}

std::string legend(const PolicyTableLayout& layout) {
    return fmt::format(
        "+/-: half the 95 % interval; met%: runs in time; useful redone transition checkpoint idle "
        "wasted{}\n",
        layout.markets ? "; o-d: on demand; worker: in the group" : "");
}

// What all of them could have paid at least.
std::string optimum_line(std::span<const records::RunResult> runs, Notes& notes) {
    const auto mean = optimum_mean(runs);
    if (!mean) return "";
    notes.optimum = true;
    return fmt::format("{:<28} {:>9}\n", optimum_name(*mean), fitted_usd(mean->usd, 9));
}

void note(const PolicyMeans& row, Notes& notes) {
    notes.oracle = notes.oracle || row.oracle;
    notes.unfinished = notes.unfinished || row.outcome.finished < row.outcome.runs;
    notes.runs = std::max(notes.runs, row.outcome.runs);
    notes.repeated = std::max(notes.repeated, row.repeated);
    if (!row.clusters_words.empty()) notes.clusters.insert(row.clusters_words);
    notes.one_cluster = notes.one_cluster || (row.cost_usd.clusters == 1 && row.outcome.runs > 1);
    notes.stuck += row.stuck;
    notes.failed = notes.failed || row.failures > 0;
}

std::string policy_line(const PolicyMeans& row, const PolicyTableLayout& layout) {
    const Summary& cost = row.cost_usd;
    const std::string interval =
        cost.clusters < 2 ? "" : fitted_usd(cost.mean_high_95 - cost.mean, 7);
    std::string text = fmt::format(
        "{} {:>9} {:>7} {:>7} {:>6}{} {:>4} {:>6}  ", name_cells(row), fitted_usd(cost.mean, 9),
        interval, regret_text(row.outcome.regret_percent),
        fitted(row.hours.mean * layout.time.per_hour, 1, 6),
        row.outcome.finished < row.outcome.runs ? '!' : ' ', row.outcome.deadline_met_percent(),
        fitted(row.revocations + row.failures, 1, 6));
    for (const double share : row.share_percent) text += fmt::format("{:>4.0f}", share);
    return text + market_cells(row.outcome, layout) + "\n";
}

std::string remarks(const Notes& notes) {
    std::string text;
    if (notes.optimum) {
        text +=
            "optimum: the least that somebody pays who knows the market and is in time\n"
            "regret%: of the runs in time, over theirs\n";
    }
    if (notes.one_cluster) text += fmt::format("{}\n", no_interval_words);
    if (notes.repeated > 0) {
        text += fmt::format("{} more are the same under another seed, bit for bit: not counted\n",
                            notes.repeated);
    }
    if (notes.oracle) text += "* an oracle: knows the future\n";
    if (!notes.forecasts.empty()) {
        text += fmt::format("what policies expected was {} (\"predictor\")\n",
                            fmt::join(notes.forecasts, " or "));
    }
    if (notes.failed) text += "losses: machines that were taken away, and workers that failed\n";
    if (notes.unfinished) text += "! some runs did not finish their work\n";
    if (notes.stuck > 0) {
        text += fmt::format("{} run{} could not go on: nothing to come would have changed that\n",
                            notes.stuck, notes.stuck == 1 ? "" : "s");
    }
    return text;
}

}  // namespace

std::string policy_table(std::span<const records::RunResult> runs, std::size_t width) {
    double longest_h = 0;
    Notes notes;
    for (const PolicyMeans& row : policy_means(runs)) {
        longest_h = std::max(longest_h, row.hours.mean);
        note(row, notes);
    }
    for (const records::RunResult& run : runs) {
        if (run.predictor != "exact") notes.forecasts.insert(run.predictor);
    }
    const PolicyTableLayout layout{table_time_unit(longest_h), width >= table_width_with_markets};
    std::string text = head_lines(layout);
    const bool varied = !runs.empty() && !runs.front().varied.empty();
    while (!runs.empty()) {  // those of one variant stand together
        const auto other = std::ranges::find_if(
            runs, [&](const records::RunResult& run) { return run.varied != runs.front().varied; });
        const auto own = runs.first(static_cast<std::size_t>(other - runs.begin()));
        if (varied) {
            text += fmt::format("\n{}\n", shortened(scenarios::variant_label(own.front().varied),
                                                    table_width_least));
        }
        text += optimum_line(own, notes);
        std::vector<PolicyMeans> rows = policy_means(own);
        std::ranges::stable_sort(rows, {}, [](const PolicyMeans& row) {
            return std::pair(row.outcome.rank(), row.cost_usd.mean);
        });
        for (const PolicyMeans& row : rows) text += policy_line(row, layout);
        runs = runs.subspan(own.size());
    }
    if (varied) text += "\n";
    text += fmt::format("{} run{} a policy", notes.runs, notes.runs == 1 ? "" : "s");
    if (!notes.clusters.empty()) {
        text += fmt::format("; intervals are over {}", fmt::join(notes.clusters, " or "));
    }
    return text + "\n" + legend(layout) + remarks(notes);
}

}  // namespace ukemi::analysis
