#include "analysis/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/regret.hpp"
#include "base/plain_text.hpp"
#include "base/statistics.hpp"
#include "policies/registry.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t table_width = 100;
constexpr std::size_t name_width = 28;

struct Row {
    std::string policy;
    bool oracle = false;
    Summary cost;
    double hours = 0;
    double losses = 0;
    std::size_t runs = 0;
    std::size_t finished = 0;
    std::size_t stuck = 0;
    std::size_t with_deadline = 0;
    std::size_t met = 0;
    std::array<double, records::cause_count> share{};
};

Row row_of(const std::string& policy, std::span<const records::RunResult> runs) {
    Row row;
    row.policy = policy;
    std::vector<double> costs;
    std::vector<double> hours;
    double held_s = 0;
    std::array<double, records::cause_count> cause_s{};
    for (const records::RunResult& run : runs) {
        if (run.policy != policy) continue;
        row.oracle = row.oracle || run.oracle;
        costs.push_back(to_dollars(run.cost));
        hours.push_back(to_hours(run.duration));
        row.losses += static_cast<double>(run.revocations);
        row.finished += run.finished;
        row.stuck += run.stuck;
        row.with_deadline += run.deadline.has_value();
        row.met += run.deadline && run.deadline_met;
        held_s += to_seconds(run.held);
        for (std::size_t cause = 0; cause < records::cause_count; ++cause) {
            cause_s[cause] += to_seconds(run.causes.time[cause]);
        }
    }
    row.runs = costs.size();
    row.cost = summarise(costs);
    row.hours = summarise(hours).mean;
    row.losses /= static_cast<double>(row.runs);
    for (std::size_t cause = 0; cause < records::cause_count; ++cause) {
        row.share[cause] = held_s > 0 ? 100 * cause_s[cause] / held_s : 0;
    }
    return row;
}

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
};

// How many runs met their deadline, of those that have one.
std::string met_percent(const Row& row) {
    if (row.with_deadline == 0) return "-";
    return fmt::format("{:.0f}",
                       100 * static_cast<double>(row.met) / static_cast<double>(row.with_deadline));
}

// What all of them could have paid at least.
std::string optimum_line(std::span<const records::RunResult> runs, Notes& notes) {
    const auto mean = optimum_mean(runs);
    if (!mean) return "";
    notes.optimum = true;
    return fmt::format("{:<28} {:>9}\n", optimum_name(*mean), fitted(mean->usd, 2, 9));
}

std::string policy_lines(std::span<const records::RunResult> runs, Notes& notes) {
    std::vector<std::string> policies;
    for (const records::RunResult& run : runs) {
        if (run.predictor != "exact") notes.forecasts.insert(run.predictor);
        if (std::ranges::find(policies, run.policy) == policies.end()) {
            policies.push_back(run.policy);
        }
    }
    std::vector<Row> rows;
    for (const std::string& policy : policies) rows.push_back(row_of(policy, runs));
    // A policy that finished nothing paid for something else.
    std::ranges::stable_sort(
        rows, {}, [](const Row& row) { return std::pair(row.finished == 0, row.cost.mean); });

    std::string text = optimum_line(runs, notes);
    for (const Row& row : rows) {
        const std::string interval =
            row.runs < 2 ? "" : fitted(row.cost.mean_high_95 - row.cost.mean, 2, 7);
        const bool unfinished = row.finished < row.runs;
        notes.oracle = notes.oracle || row.oracle;
        notes.unfinished = notes.unfinished || unfinished;
        notes.runs = std::max(notes.runs, row.runs);
        const std::string name =
            fitted(short_label(row.policy), name_width - 2) + (row.oracle ? " *" : "");
        notes.stuck += row.stuck;
        text += fmt::format("{:<28} {:>9} {:>7} {:>7} {:>6}{} {:>4} {:>6}  ", name,
                            fitted(row.cost.mean, 2, 9), interval,
                            regret_text(regret_percent(runs, row.policy)), fitted(row.hours, 1, 6),
                            unfinished ? '!' : ' ', met_percent(row), fitted(row.losses, 1, 6));
        for (const double share : row.share) text += fmt::format("{:>4.0f}", share);
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
    text += fmt::format("{} run{} a policy\n", notes.runs, notes.runs == 1 ? "" : "s");
    if (notes.optimum) {
        text +=
            "optimum: the least that somebody pays who knows the market and is in time; regret% "
            "is over it\n";
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
