#include "analysis/report/cluster_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "analysis/report/json_table.hpp"

namespace ukemi::analysis {

using nlohmann::ordered_json;

namespace {

constexpr double per_hour = 1 / 3600.0;
constexpr std::size_t rows_shown_most = 1000;

// A column of means over the seeds, and half of its interval.
struct MeanColumn {
    const char* title;  // of a time without its unit
    const char* metric;
    double scale;
    int decimals;
    const char* quantity;  // as others name it beside theirs; null: nobody compares it
    bool is_time = false;
};

void add_half(std::vector<JsonColumn>& columns, const MeanColumn& one) {
    const std::string mean = fmt::format("/{}_mean", one.metric);
    columns.push_back({one.title, mean, one.scale, one.decimals, "", one.is_time});
    if (one.quantity == nullptr) return;
    columns.push_back(
        {"±", fmt::format("/{}_high_95", one.metric), one.scale, one.decimals, mean, one.is_time});
}

std::string name_of(const ordered_json& row, const std::string& compared) {
    const std::string variant = text_at(row, "/variant");
    return (variant.empty() ? "" : variant + ": ") + text_at(row, "/" + compared);
}

void add_means(ReportPart& part, const std::string& title, const std::string& compared,
               const ordered_json& rows, std::span<const MeanColumn> means) {
    std::vector<JsonColumn> columns{
        {compared, "/" + compared}, {"variant", "/variant"}, {"seeds", "/runs", 1, 0, ""}};
    for (const MeanColumn& one : means) add_half(columns, one);
    part.tables.push_back(table_of_rows(title, rows, columns));
    bool over_seeds = false;
    for (const ordered_json& row : rows) {
        over_seeds = over_seeds || number_at(row, "/clusters").value_or(0) > 1;
        for (const MeanColumn& one : means) {
            const auto mean = number_at(row, fmt::format("/{}_mean", one.metric));
            if (!mean || one.quantity == nullptr) continue;
            ReportMean& shown = part.means.emplace_back();
            shown.row = name_of(row, compared);
            shown.quantity = one.quantity;
            shown.mean = *mean * one.scale;
            if (const auto high = number_at(row, fmt::format("/{}_high_95", one.metric))) {
                shown.half_width_95 = (*high - *mean) * one.scale;
            }
        }
    }
    part.tables.back().notes.emplace_back(
        over_seeds ? "means over the seeds; ±: half the 95 % interval of the mean; seeds that "
                     "change nothing count once"
                   : "no intervals: one seed, or none that changes anything");
}

// Of all quantities only those that are compared above.
void add_pairs(ReportPart& part, const std::string& compared, ordered_json rows,
               std::span<const MeanColumn> means) {
    constexpr std::string_view ending = "_difference_mean";
    for (ordered_json& row : rows) {
        std::vector<std::string> others;
        for (const auto& [key, value] : row.items()) {
            if (!key.ends_with(ending)) continue;
            const std::string metric = key.substr(0, key.size() - ending.size());
            const bool is_compared = std::ranges::any_of(means, [&](const MeanColumn& one) {
                return one.quantity != nullptr && one.metric == metric;
            });
            if (!is_compared) others.push_back(key);
        }
        for (const std::string& key : others) row.erase(key);
    }
    const std::vector<JsonColumn> names{{compared, "/" + compared}, {"variant", "/variant"}};
    part.comparisons = tables_of_pairs(rows, names, "variant and seed");
}

// A row a run, as many as a page holds.
ordered_json first_rows(const ordered_json& runs) {
    ordered_json rows = runs;
    if (rows.size() > rows_shown_most) rows.erase(rows.begin() + rows_shown_most, rows.end());
    for (ordered_json& row : rows) {
        row["variant"] = words_of_variation(row.value("vary", ordered_json::object()));
    }
    return rows;
}

void add_runs(ReportPart& part, const ordered_json& rows, std::size_t all, std::string_view file,
              std::span<const JsonColumn> columns) {
    ReportTable table = table_of_rows(fmt::format("Runs ({})", all), rows, columns);
    if (rows.size() < all) {
        table.notes.push_back(
            fmt::format("the first {} of {}; all are in {}", rows.size(), all, file));
    }
    part.runs.push_back(std::move(table));
}

}  // namespace

std::string words_of_variation(const ordered_json& varied) {
    std::string words;
    for (const auto& [pointer, value] : varied.items()) {
        words += fmt::format("{}{}={}", words.empty() ? "" : ", ", pointer,
                             value.is_string() ? value.get<std::string>() : value.dump());
    }
    return words;
}

void add_scheduled(ReportPart& part, const ordered_json& document) {
    static constexpr std::array means{
        MeanColumn{"jobs", "jobs", 1, 0, nullptr},
        MeanColumn{"completion", "completion_s_mean", per_hour, 2, "completion, h", true},
        MeanColumn{"median", "completion_s_median", per_hour, 2, nullptr, true},
        MeanColumn{"99 %", "completion_s_p99", per_hour, 2, nullptr, true},
        MeanColumn{"makespan", "makespan_s", per_hour, 2, "makespan, h", true},
        MeanColumn{"cost, USD", "cost_usd", 1, 2, "cost, USD"},
        MeanColumn{"restarts a job", "restarts_per_job", 1, 2, nullptr},
        MeanColumn{"GPUs in use, %", "gpu_use", 100, 1, nullptr},
        MeanColumn{"over an equal part", "finish_time_ratio_mean", 1, 3, nullptr},
        MeanColumn{"worst", "finish_time_ratio_max", 1, 2, nullptr},
        MeanColumn{"Jain's index", "jain_fairness", 1, 3, nullptr},
        MeanColumn{"of users", "user_jain_fairness", 1, 3, nullptr},
        MeanColumn{"late", "late", 1, 2, nullptr},
        MeanColumn{"refused", "refused", 1, 2, nullptr},
        MeanColumn{"budget spent", "out_of_budget", 1, 2, nullptr},
        MeanColumn{"machines lost", "machines_lost", 1, 2, nullptr},
        MeanColumn{"redone on GPUs", "redone_gpu_h", 1, 2, nullptr, true}};
    const ordered_json& rows = document.at("means");
    add_means(part, "Schedulers", "scheduler", rows, means);
    part.tables.back().notes.emplace_back(
        "completion: from arrival to end; over an equal part: that time over what an equal part of "
        "the cluster would give; late: after the deadline");
    add_pairs(part, "scheduler", rows, means);
    const ordered_json& runs = document.at("runs");
    const std::vector<JsonColumn> columns{
        {"scheduler", "/scheduler"},
        {"variant", "/variant"},
        {"seed", "/seed", 1, 0, ""},
        {"completion", "/completion_s_mean", per_hour, 3, "", true},
        {"makespan", "/makespan_s", per_hour, 3, "", true},
        {"cost, USD", "/cost_usd", 1, 4, ""},
        {"late", "/late", 1, 0, ""},
        {"stuck", "/stuck", 1, 0, ""},
        {"outcome hash", "/outcome_hash"}};
    add_runs(part, first_rows(runs), runs.size(), "schedule.csv", columns);
}

void add_searched(ReportPart& part, const ordered_json& document) {
    static constexpr std::array means{
        MeanColumn{"metric", "metric", 1, 4, "metric of the trial that won"},
        MeanColumn{"makespan", "makespan_s", per_hour, 2, "makespan, h", true},
        MeanColumn{"GPUs", "gpu_h", 1, 2, "GPUs, h", true},
        MeanColumn{"of full training, %", "gpu_share", 100, 1, nullptr},
        MeanColumn{"same winner, %", "same_winner", 100, 0, nullptr},
        MeanColumn{"as good, %", "as_good", 100, 0, nullptr}};
    const ordered_json& rows = document.at("means");
    add_means(part, "Searchers", "searcher", rows, means);
    part.tables.back().notes.emplace_back(
        "metric: of the trial that won; of full training: of what training all these trials to "
        "their end takes; same winner, as good: searches of which full training said so, where it "
        "was asked for");
    add_pairs(part, "searcher", rows, means);
    const ordered_json& runs = document.at("runs");
    ordered_json shown = first_rows(runs);
    for (ordered_json& row : shown) row["won"] = words_of_variation(row.at("settings"));
    const std::vector<JsonColumn> columns{{"searcher", "/searcher"},
                                          {"variant", "/variant"},
                                          {"seed", "/seed", 1, 0, ""},
                                          {"trials", "/trials", 1, 0, ""},
                                          {"pieces", "/pieces", 1, 0, ""},
                                          {"metric", "/metric", 1, 4, ""},
                                          {"GPUs", "/gpu_h", 1, 2, "", true},
                                          {"restarts", "/restarts", 1, 0, ""},
                                          {"what won", "/won"},
                                          {"outcome hash", "/outcome_hash"}};
    add_runs(part, shown, runs.size(), "search.csv", columns);
}

}  // namespace ukemi::analysis
