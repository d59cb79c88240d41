// grouped_table.cpp — groups of runs as a table, as CSV and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "analysis/grouped_runs.hpp"
#include "analysis/regret.hpp"
#include "analysis/units.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t group_name_width = 35;
constexpr std::size_t group_line_width = 100;
constexpr double unknown_number = std::numeric_limits<double>::quiet_NaN();

bool has_interval(const Summary& summary) { return summary.clusters > 1; }

std::string group_head(const RunGrouping& grouping) {
    std::string text =
        fmt::format("{:<35} {:>8} {:>8} {:>4}", grouping.by_policy ? grouping.compared : "group",
                    "runs", "finished", "met%");
    for (const std::string& metric : grouping.metrics) {
        text += fmt::format(" {:>12} {:>9}", shortened(metric, 20), "+/-");
    }
    return text + "\n";
}

std::string group_line(const std::string& name, const GroupMeans& group) {
    std::string text = fmt::format("{:<35} {:>8} {:>8} {:>4}",
                                   shortened(one_line(name), group_name_width), group.outcome.runs,
                                   group.outcome.finished, group.outcome.deadline_met_percent());
    for (const Summary& metric : group.metrics) {
        const std::string mean =
            metric.count == 0 ? std::string(nothing_to_show) : rounded(metric.mean, 6);
        const std::string band =
            has_interval(metric) ? rounded(metric.mean_high_95 - metric.mean, 3) : "";
        text += fmt::format(" {:>12} {:>9}", mean, band);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
}

std::string notes_on_groups(std::span<const GroupMeans> groups) {
    std::set<std::string> over;
    std::size_t repeated = 0;
    bool unfinished = false;
    bool several = false;
    for (const GroupMeans& group : groups) {
        if (!group.clusters_words.empty()) over.insert(group.clusters_words);
        repeated += group.repeated;
        several = several || group.outcome.runs > 1;
        unfinished = unfinished || group.outcome.finished < group.outcome.runs;
    }
    constexpr std::size_t shown_most = 3;
    constexpr std::string_view half = "+/-: half the 95 % interval of the mean, over";
    std::string text = "met%: runs in time; ";
    if (over.empty()) {
        text += several ? no_interval_words : "one run each: no interval";
    } else if (over.size() <= shown_most) {
        text += fmt::format("{} {}", half, fmt::join(over, " or "));
    } else {
        text += fmt::format("{} what is independent in each group (--csv says what)", half);
    }
    text += "\n";
    if (repeated > 0) {
        text += fmt::format(
            "{} more runs are the same under another seed, bit for bit: not counted\n", repeated);
    }
    if (unfinished) text += "means are of all runs, whether or not they finished their work\n";
    return text;
}

// A number or a word of a row, for every form that rows are written in.
using GroupValue = std::variant<std::string, double, std::size_t>;
using GroupRow = std::vector<std::pair<std::string, GroupValue>>;

void add_pair(GroupRow& row, const GroupedRuns& groups, const GroupMeans& group) {
    if (groups.pairs().empty()) return;
    PolicyPair none;
    none.quantities = groups.pairs().front().quantities;  // for their names
    const PolicyPair& pair = group.pair ? groups.pairs()[*group.pair] : none;
    row.emplace_back("baseline", pair.baseline);
    row.emplace_back("unfinished_pairs", pair.unfinished);
    for (const PairColumn& column : pair_columns(pair)) {
        row.emplace_back(column.name, group.pair ? column.value : unknown_number);
    }
}

GroupRow row_of_group(const GroupedRuns& groups, const GroupMeans& group) {
    const RunGrouping& grouping = groups.grouping();
    GroupRow row;
    for (std::size_t i = 0; i < grouping.keys.size(); ++i) {
        row.emplace_back(grouping.keys[i], group.keys[i]);
    }
    if (grouping.by_policy) row.emplace_back(grouping.compared, group.policy);
    row.emplace_back("runs", group.outcome.runs);
    row.emplace_back("repeated", group.repeated);
    row.emplace_back("finished", group.outcome.finished);
    row.emplace_back("deadline_met_share",
                     group.outcome.deadline_met_share().value_or(unknown_number));
    for (std::size_t i = 0; i < grouping.metrics.size(); ++i) {
        const Summary& metric = group.metrics[i];
        const bool sure = has_interval(metric);
        row.emplace_back(grouping.metrics[i] + "_mean",
                         metric.count > 0 ? metric.mean : unknown_number);
        row.emplace_back(grouping.metrics[i] + "_low_95",
                         sure ? metric.mean_low_95 : unknown_number);
        row.emplace_back(grouping.metrics[i] + "_high_95",
                         sure ? metric.mean_high_95 : unknown_number);
    }
    row.emplace_back("clusters", group.metrics.empty() ? 0 : group.metrics.front().clusters);
    row.emplace_back("cluster", group.clusters_name);
    add_pair(row, groups, group);
    return row;
}

}  // namespace

std::string_view pairs_share(const RunGrouping& grouping) {
    return grouping.compared == "policy" ? "trace, window and seed" : "variant and seed";
}

std::string grouped_table(const GroupedRuns& groups) {
    const RunGrouping& grouping = groups.grouping();
    std::string text;
    std::span<const GroupMeans> rest = groups.means();
    if (!grouping.by_policy) text += group_head(grouping);
    while (!rest.empty()) {  // those of a block stand together
        const auto other = std::ranges::find_if(
            rest, [&](const GroupMeans& one) { return one.keys != rest.front().keys; });
        std::vector<GroupMeans> block(rest.begin(), other);
        rest = rest.subspan(block.size());
        const std::string label = label_of_keys(grouping, block.front().keys);
        if (!grouping.by_policy) {
            text += group_line(label.empty() ? "all" : label, block.front());
            continue;
        }
        std::ranges::stable_sort(block, {}, [](const GroupMeans& one) {
            return std::pair(one.outcome.rank(),
                             one.metrics.empty() ? 0 : one.metrics.front().mean);
        });
        if (!label.empty()) {
            text += fmt::format("{}{}\n", text.empty() ? "" : "\n",
                                shortened(one_line(label), group_line_width));
        }
        text += group_head(grouping);
        for (const GroupMeans& group : block) text += group_line(group.policy, group);
    }
    const std::vector<std::string_view> metrics(grouping.metrics.begin(), grouping.metrics.end());
    return text + notes_on_groups(groups.means()) +
           pairs_table(groups.pairs(), metrics, pairs_share(grouping));
}

std::string grouped_csv(const GroupedRuns& groups) {
    std::vector<std::string> names;
    for (const auto& [name, value] : row_of_group(groups, groups.means().front())) {
        names.push_back(name);
    }
    CsvWriter csv(names);
    for (const GroupMeans& group : groups.means()) {
        for (const auto& [name, value] : row_of_group(groups, group)) {
            std::visit([&](const auto& held) { csv.add(held); }, value);
        }
        csv.end_row();
    }
    return csv.text();
}

nlohmann::ordered_json grouped_rows(const GroupedRuns& groups) {
    using nlohmann::ordered_json;
    ordered_json rows = ordered_json::array();
    for (const GroupMeans& group : groups.means()) {
        ordered_json& row = rows.emplace_back();
        for (const auto& [name, value] : row_of_group(groups, group)) {
            std::visit([&, &key = name](const auto& held) { row[key] = held; }, value);
        }
    }
    return rows;
}

std::string grouped_json(const GroupedRuns& groups, std::span<const std::string> warnings) {
    using nlohmann::ordered_json;
    ordered_json document;
    document["groups"] = grouped_rows(groups);
    document["warnings"] = ordered_json::array();
    for (const std::string& one : warnings) document["warnings"].push_back(one);
    return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ukemi::analysis
