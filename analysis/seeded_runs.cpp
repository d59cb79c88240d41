#include "analysis/seeded_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/invariant.hpp"
#include "records/run_json.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace {

bool holds_numbers(const NamedColumn& column) {
    using records::RunColumnKind;
    return column.kind != RunColumnKind::text && column.kind != RunColumnKind::identifier;
}

double number_of(const records::RunValue& value) {
    return std::visit(
        [](const auto& held) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>) {
                return static_cast<double>(held);
            } else {
                return std::numeric_limits<double>::quiet_NaN();
            }
        },
        value);
}

UnitRun unit_run(const SeededRun& run, std::span<const NamedColumn> columns) {
    UnitRun unit;
    unit.unit.policy = run.decided_by;
    unit.unit.seed = run.seed;
    unit.unit.event_hash = run.outcome_hash;
    unit.finished = run.finished;
    unit.deadline_met = run.deadline_met;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (holds_numbers(columns[i])) unit.values.push_back(number_of(run.values[i]));
    }
    return unit;
}

}  // namespace

std::vector<NamedColumn> seeded_head() {
    using records::RunColumnKind;
    return {{"seed", RunColumnKind::integer},
            {"finished", RunColumnKind::flag},
            {"deadline_met", RunColumnKind::flag}};
}

std::vector<records::RunValue> head_values(const SeededRun& run) {
    return {static_cast<std::int64_t>(run.seed), run.finished, value_or_nothing(run.deadline_met)};
}

GroupedRuns grouped_over_seeds(std::string compared, std::span<const SeededRun> runs,
                               std::span<const NamedColumn> columns, const std::string& baseline) {
    RunGrouping grouping;
    grouping.keys = {"variant"};
    grouping.compared = std::move(compared);
    if (!baseline.empty()) {
        std::vector<std::string> known;
        for (const SeededRun& run : runs) known.push_back(run.decided_by);
        grouping.baseline = policy_called(baseline, known, "--baseline", grouping.compared);
    }
    for (const NamedColumn& column : columns) {
        if (holds_numbers(column)) grouping.metrics.push_back(column.name);
    }
    GroupedRuns groups(grouping);
    std::vector<RunBlock> blocks;  // in the order of their first runs
    for (const SeededRun& run : runs) {
        const std::vector<std::string> key{records::variant_label(run.varied)};
        auto block = std::ranges::find(blocks, key, &RunBlock::keys);
        if (block == blocks.end()) block = blocks.insert(blocks.end(), {key, {}});
        block->runs.push_back(unit_run(run, columns));
    }
    for (const RunBlock& block : blocks) groups.add(block);
    groups.close();
    return groups;
}

const Summary& mean_of(const GroupedRuns& groups, const GroupMeans& group,
                       std::string_view column) {
    const std::vector<std::string>& metrics = groups.grouping().metrics;
    const auto found = std::ranges::find(metrics, column);
    INVARIANT(found != metrics.end());
    return group.metrics[static_cast<std::size_t>(found - metrics.begin())];
}

std::string mean_count(double mean) {
    return mean == std::floor(mean) ? fmt::format("{:.0f}", mean) : fmt::format("{:.1f}", mean);
}

std::string notes_on_seeds(const GroupedRuns& groups) {
    std::set<std::string> words;
    std::size_t repeated = 0;
    for (const GroupMeans& group : groups.means()) {
        if (!group.clusters_words.empty()) words.insert(group.clusters_words);
        repeated += group.repeated;
    }
    std::string text;
    if (!words.empty()) text += fmt::format("Means over {}.\n", fmt::join(words, " or "));
    if (repeated > 0) {
        text += fmt::format(
            "{} runs are the same under another seed, bit for bit: they count once.\n", repeated);
    }
    return text;
}

nlohmann::ordered_json seeded_rows(const std::string& compared, std::span<const SeededRun> runs,
                                   std::span<const NamedColumn> columns) {
    auto rows = nlohmann::ordered_json::array();
    for (const SeededRun& run : runs) {
        nlohmann::ordered_json& row = rows.emplace_back();
        row[compared] = run.decided_by;
        row["seed"] = run.seed;
        for (const records::VariedValue& one : run.varied) row["vary"][one.pointer] = one.value;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            row[columns[i].name] = records::run_value_json(run.values[i]);
        }
    }
    return rows;
}

void add_summary_value(CsvWriter& csv, const records::RunValue& value) {
    std::visit(
        [&](const auto& held) {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, bool>) {
                csv.add(held ? "yes" : "no");
            } else if constexpr (std::is_same_v<Held, std::monostate>) {
                csv.add("");
            } else {
                csv.add(held);
            }
        },
        value);
}

}  // namespace ukemi::analysis
