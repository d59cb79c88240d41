// database_part.cpp — what a database of runs says: the groups that `ukemi query` prints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/database/stored_contents.hpp"
#include "analysis/database/stored_runs.hpp"
#include "analysis/report/drawn_figures.hpp"
#include "analysis/report/json_table.hpp"
#include "analysis/report/report_part.hpp"
#include "analysis/results.hpp"

namespace ukemi::analysis {

using nlohmann::ordered_json;

namespace {

std::string some_of(const std::vector<std::string>& names) {
    constexpr std::size_t named_most = 12;
    const auto shown = std::span(names).first(std::min(names.size(), named_most));
    const std::size_t more = names.size() - shown.size();
    return fmt::format("{}{}", fmt::join(shown, ", "),
                       more > 0 ? fmt::format(" and {} more", more) : "");
}

void add_stored_contents(ReportPart& part, const RunKind& kind, const StoredContents& contents,
                         const DatabaseQuestion& question) {
    std::vector<std::string> variants;
    for (const StoredScenario& one : contents.scenarios) {
        const ordered_json scenario = ordered_json::parse(one.resolved);
        if (!one.variant.empty()) variants.push_back(one.variant);
        const auto same = [&](const auto& shown) { return shown.first == one.name; };
        if (std::ranges::none_of(part.scenarios, same)) {
            const std::string says = scenario.value("description", "");
            part.asked.emplace_back(
                "scenario", says.empty() ? one.name : fmt::format("{}: {}", one.name, says));
            part.scenarios.emplace_back(one.name, scenario.dump(2));
        }
    }
    if (!variants.empty()) {
        part.asked.emplace_back(fmt::format("variants ({})", variants.size()), some_of(variants));
    }
    part.asked.emplace_back(
        kind.compared == "policy" ? "policies" : fmt::format("{}s", kind.compared),
        some_of(contents.deciders));
    if (kind.has_traces) {
        part.asked.emplace_back(fmt::format("markets ({})", contents.traces.size()),
                                some_of(contents.traces));
    }
    part.asked.emplace_back("seeds", contents.seeds == 1
                                         ? fmt::format("{}", contents.first_seed)
                                         : fmt::format("{} from {} to {}", contents.seeds,
                                                       contents.first_seed, contents.last_seed));
    part.asked.emplace_back("runs", fmt::format("{}", contents.runs));
    if (!question.by.empty()) {
        part.asked.emplace_back("grouped by", fmt::format("{}", fmt::join(question.by, ", ")));
    }
    if (!question.baseline.empty()) part.asked.emplace_back("baseline", question.baseline);
    for (const std::string& one : question.where) part.asked.emplace_back("only runs with", one);
}

std::vector<JsonColumn> key_columns(const RunGrouping& grouping) {
    std::vector<JsonColumn> columns;
    if (grouping.by_policy) columns.push_back({grouping.compared, "/" + grouping.compared});
    for (const std::string& key : grouping.keys) {
        if (key != "scenario_id") columns.push_back({key, "/" + key});
    }
    return columns;
}

void add_groups(ReportPart& part, const RunGrouping& grouping, const ordered_json& rows) {
    std::vector<JsonColumn> columns = key_columns(grouping);
    columns.push_back({"runs", "/runs", 1, 0, ""});
    columns.push_back({"finished", "/finished", 1, 0, ""});
    for (const std::string& metric : grouping.metrics) {
        const std::string mean = fmt::format("/{}_mean", metric);
        columns.push_back({metric, mean, 1, 2, ""});
        columns.push_back({"±", fmt::format("/{}_high_95", metric), 1, 2, mean});
    }
    columns.push_back({"intervals over", "/clusters_words"});
    ReportTable table = table_of_rows("Groups", rows, columns);
    table.notes.emplace_back(
        "means over all runs of a group, whether or not they finished their work; ±: half the 95 "
        "% interval of the mean");
    part.tables.push_back(std::move(table));
}

// Rows are named as those of results folders are, so that both stand side by side.
void add_group_means(ReportPart& part, const GroupedRuns& groups) {
    const RunGrouping& grouping = groups.grouping();
    for (const GroupMeans& group : groups.means()) {
        std::string row;
        for (std::size_t i = 0; i < grouping.keys.size(); ++i) {
            const bool tells = grouping.keys[i] != "scenario" && grouping.keys[i] != "scenario_id";
            if (tells && !group.keys[i].empty()) row += group.keys[i] + ": ";
        }
        row += group.policy;
        for (std::size_t i = 0; i < grouping.metrics.size(); ++i) {
            const Summary& metric = group.metrics[i];
            if (metric.count == 0) continue;
            const std::string& name = grouping.metrics[i];
            const bool is_time = name == "duration_s";
            const double scale = is_time ? 1 / 3600.0 : 1;
            ReportMean& one = part.means.emplace_back();
            one.row = row;
            one.quantity = is_time ? "time, h" : name == "cost_usd" ? "cost, USD" : name;
            one.mean = metric.mean * scale;
            if (metric.clusters < 2) continue;
            one.half_width_95 = (metric.mean_high_95 - metric.mean) * scale;
        }
    }
}

// Who was always in time, who was not, who never finished (OutcomeCounts).
int rank_of(const ordered_json& row) {
    OutcomeCounts outcome;
    outcome.runs = static_cast<std::size_t>(number_at(row, "/runs").value_or(0));
    outcome.finished = static_cast<std::size_t>(number_at(row, "/finished").value_or(0));
    outcome.with_deadline = 1;
    outcome.deadline_met = number_at(row, "/deadline_met_share").value_or(1) < 1 ? 0 : 1;
    return outcome.rank();
}

// Rows of a block in the order in which query prints them.
void sort_groups(ordered_json& rows, const RunGrouping& grouping) {
    if (!grouping.by_policy || grouping.metrics.empty()) return;
    const std::string mean = fmt::format("/{}_mean", grouping.metrics.front());
    const auto block = [&](const ordered_json& row) {
        std::vector<std::string> keys;
        for (const std::string& key : grouping.keys) keys.push_back(text_at(row, "/" + key));
        return keys;
    };
    for (auto begin = rows.begin(); begin != rows.end();) {
        const auto end = std::find_if(begin, rows.end(), [&](const ordered_json& row) {
            return block(row) != block(*begin);
        });
        std::stable_sort(begin, end, [&](const ordered_json& a, const ordered_json& b) {
            return std::pair(rank_of(a), number_at(a, mean).value_or(0)) <
                   std::pair(rank_of(b), number_at(b, mean).value_or(0));
        });
        begin = end;
    }
}

// Figures are of single runs, and of one scenario.
void draw_stored_runs(ReportPart& part, const std::filesystem::path& file,
                      const StoredContents& contents, const std::string& baseline,
                      const std::string& build) {
    constexpr std::int64_t drawn_most = 20'000;
    if (contents.runs > drawn_most) {
        part.figure_notes.push_back(fmt::format("there are {} runs: figures are drawn of up to {}",
                                                contents.runs, drawn_most));
        return;
    }
    const StoredScenario& first = contents.scenarios.front();
    const auto is_alike = [&](const StoredScenario& one) {
        return one.name == first.name && one.pointers == first.pointers;
    };
    if (!std::ranges::all_of(contents.scenarios, is_alike)) {
        part.figure_notes.emplace_back("there are several scenarios: figures are drawn of one");
        return;
    }
    draw_figures(part, figures_of_runs(stored_runs_json(file, build), first.pointers, baseline));
}

}  // namespace

ReportPart part_of_database(const std::filesystem::path& file, const DatabaseQuestion& question) {
    ReportPart part;
    part.name = file.string();
    StoredRuns runs(file);
    std::vector<RunFilter> filters;
    for (const std::string& text : question.where) filters.push_back(runs.filter(text));
    const GroupedRuns groups = runs.grouped(
        runs.grouping(question.by, question.metrics, question.baseline), question.build, filters);
    ordered_json rows = ordered_json::parse(grouped_json(groups, {})).at("groups");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i]["clusters_words"] = groups.means()[i].clusters_words;
    }
    sort_groups(rows, groups.grouping());
    const StoredContents contents = stored_contents(file, question.build);
    add_stored_contents(part, runs.kind(), contents, question);
    add_groups(part, groups.grouping(), rows);
    add_group_means(part, groups);
    part.comparisons =
        tables_of_pairs(rows, key_columns(groups.grouping()), pairs_share(groups.grouping()));
    if (!runs.kind().has_traces) {
        part.figure_notes.emplace_back(fmt::format(
            "a database of runs of ukemi {0} has no jobs and no pieces one by one, which "
            "its figures show: ukemi {0} --out keeps them",
            runs.kind().command));
    } else if (filters.empty()) {
        draw_stored_runs(part, file, contents, groups.grouping().baseline, question.build);
    } else {
        part.figure_notes.emplace_back("figures are of all runs, and are left out here");
    }
    part.warnings = runs.doubts(groups, !filters.empty());
    part.builds.push_back(question.build);
    return part;
}

}  // namespace ukemi::analysis
