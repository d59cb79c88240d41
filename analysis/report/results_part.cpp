// results_part.cpp — what a results folder says, read from the JSON that lies in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/report/asked.hpp"
#include "analysis/report/cluster_part.hpp"
#include "analysis/report/drawn_figures.hpp"
#include "analysis/report/json_table.hpp"
#include "analysis/report/tuning_part.hpp"
#include "analysis/results.hpp"
#include "analysis/simulated_steps.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

ordered_json json_in(const fs::path& file) { return ordered_json::parse(read_file(file)); }

void add_build(ReportPart& part, const ordered_json& about) {
    part.builds.push_back(text_at(about, "/ukemi/build"));
    for (const ordered_json& one : about.value("warnings", ordered_json::array())) {
        part.warnings.push_back(one.get<std::string>());
    }
}

// As tables for the terminal sort them (analysis/outcome_means.hpp): who always was in time first,
// who never finished last; then by the mean of one quantity.
void sort_rows(ordered_json& rows, const std::string& finished, const std::string& mean) {
    const auto rank = [&](const ordered_json& row) {
        const double count = number_at(row, finished).value_or(0);
        if (count == 0) return 2;
        const bool all = count == number_at(row, "/runs").value_or(0);
        return all && number_at(row, "/deadline_met_share").value_or(1) == 1 ? 0 : 1;
    };
    std::vector<std::string> variants;  // stay in their order
    const auto place = [&](const ordered_json& row) {
        const std::string own = text_at(row, "/scenario") + "\n" + text_at(row, "/variant");
        const auto found = std::ranges::find(variants, own);
        if (found == variants.end()) variants.push_back(own);
        return found - variants.begin();
    };
    for (const ordered_json& row : rows) place(row);
    std::stable_sort(rows.begin(), rows.end(), [&](const ordered_json& a, const ordered_json& b) {
        return std::tuple(place(a), rank(a), number_at(a, mean).value_or(0)) <
               std::tuple(place(b), rank(b), number_at(b, mean).value_or(0));
    });
}

std::string name_of_row(const ordered_json& row, bool scenarios) {
    std::string name;
    for (const char* key : {"/scenario", "/variant"}) {
        const std::string text = text_at(row, key);
        if (!text.empty() && (scenarios || key == std::string_view("/variant"))) {
            name += text + ": ";
        }
    }
    return name + text_at(row, "/policy");
}

void add_means(ReportPart& part, const ordered_json& rows, const std::string& key,
               const std::string& quantity, bool scenarios) {
    for (const ordered_json& row : rows) {
        const auto mean = number_at(row, key + "/mean");
        if (!mean) continue;
        ReportMean& one = part.means.emplace_back();
        one.row = name_of_row(row, scenarios);
        one.quantity = quantity;
        one.mean = *mean;
        if (const auto high = number_at(row, key + "/high_95")) one.half_width_95 = *high - *mean;
    }
}

// What is not over several independent units has no interval.
void forget_intervals_of_one(ordered_json& rows) {
    for (ordered_json& row : rows) {
        if (number_at(row, "/clusters").value_or(0) > 1) continue;
        for (ordered_json& value : row) {
            if (value.is_object()) value.erase("high_95");
        }
    }
}

// Over what the intervals are.
void add_interval_note(ReportTable& table, const ordered_json& rows) {
    std::vector<std::string> words;
    for (const ordered_json& row : rows) {
        std::string own = text_at(row, "/clusters_are");
        if (own.empty()) own = text_at(row, "/cluster");
        if (!own.empty() && std::ranges::find(words, own) == words.end()) words.push_back(own);
    }
    table.notes.push_back(words.empty()
                              ? "no intervals: what the runs are of is not independent"
                              : fmt::format("±: half the 95 % interval of the mean, over {}",
                                            fmt::join(words, " or ")));
}

std::vector<JsonColumn> name_columns(bool scenarios) {
    std::vector<JsonColumn> columns{{"policy", "/policy"}, {"variant", "/variant"}};
    if (scenarios) columns.push_back({"scenario", "/scenario"});
    return columns;
}

void add_columns(std::vector<JsonColumn>& columns, std::initializer_list<JsonColumn> more) {
    columns.insert(columns.end(), more);
}

void add_mean_columns(std::vector<JsonColumn>& columns, const std::string& title,
                      const std::string& unit, const std::string& key, double scale, int decimals) {
    add_columns(columns,
                {{fmt::format("{}, {}", title, unit), key + "/mean", scale, decimals, ""},
                 {fmt::format("± {}", unit), key + "/high_95", scale, decimals, key + "/mean"}});
}

// The column of egress only where any row has some: most markets are of one region.
void add_bought_columns(std::vector<JsonColumn>& columns, const ordered_json& rows) {
    add_columns(columns, {{"spot", "/spot_h_mean", 1, 1, "", true},
                          {"on demand", "/on_demand_h_mean", 1, 1, "", true},
                          {"spot, USD", "/spot_usd_mean"},
                          {"on demand, USD", "/on_demand_usd_mean"}});
    const bool egress = std::ranges::any_of(rows, [](const ordered_json& row) {
        return number_at(row, "/egress_usd_mean").value_or(0) > 0;
    });
    if (egress) add_columns(columns, {{"egress, USD", "/egress_usd_mean"}});
    add_columns(columns, {{"finished", "/finished", 1, 0, ""},
                          {"reached", "/reached", 1, 0, ""},
                          {"runs", "/runs", 1, 0, ""}});
}

void add_policies(ReportPart& part, ordered_json rows) {
    sort_rows(rows, "/finished", "/cost_usd/mean");
    forget_intervals_of_one(rows);
    const TimeUnit time = time_unit_of(rows, "/hours/mean");
    std::vector<JsonColumn> columns = name_columns(false);
    add_mean_columns(columns, "cost", "USD", "/cost_usd", 1, 2);
    add_columns(columns, {{"over the optimum, %", "/regret_percent", 1, 1, ""}});
    add_mean_columns(columns, "time", std::string(time.symbol), "/hours", time.per_hour, 1);
    add_columns(columns, {{"in time, %", "/deadline_met_share", 100, 0, ""},
                          {"taken away", "/revocations_mean", 1, 1, ""},
                          {"failed", "/failures_mean", 1, 1, ""}});
    add_bought_columns(columns, rows);
    add_columns(columns, {{"optimum, USD", "/optimum_usd_mean"}, {"optimum is", "/optimum_kind"}});
    ReportTable table = table_of_rows("Policies", rows, columns);
    add_interval_note(table, rows);
    table.notes.emplace_back(
        "means over each policy's runs; those who always were in time stand first, then the "
        "cheapest; optimum: the least that somebody pays who knows the market and is in time; over "
        "it: of the runs that were in time");
    part.tables.push_back(std::move(table));
    add_means(part, rows, "/cost_usd", "cost, USD", false);
    add_means(part, rows, "/hours", "time, h", false);
}

void add_candidates(ReportPart& part, ordered_json rows, bool scenarios) {
    sort_rows(rows, "/reached", "/hours/mean");
    forget_intervals_of_one(rows);
    const TimeUnit time = time_unit_of(rows, "/hours/mean");
    std::vector<JsonColumn> columns = name_columns(scenarios);
    add_mean_columns(columns, "time", std::string(time.symbol), "/hours", time.per_hour, 2);
    add_mean_columns(columns, "samples", "count", "/samples", 1, 0);
    add_mean_columns(columns, "steps", "count", "/steps", 1, 0);
    add_mean_columns(columns, "cost", "USD", "/cost_usd", 1, 2);
    add_mean_columns(columns, "accuracy", "share", "/accuracy", 1, 4);
    add_columns(columns, {{"over the optimum, %", "/regret_percent", 1, 1, ""},
                          {"in time, %", "/deadline_met_share", 100, 0, ""}});
    add_bought_columns(columns, rows);
    ReportTable table = table_of_rows("Time to the target", rows, columns);
    add_interval_note(table, rows);
    table.notes.emplace_back(
        "means of the runs that reached their target; over the optimum: of those in time");
    part.tables.push_back(std::move(table));
    add_means(part, rows, "/hours", "time, h", scenarios);
    add_means(part, rows, "/cost_usd", "cost, USD", scenarios);
}

void add_runs(ReportPart& part, const ordered_json& runs) {
    constexpr std::size_t shown_most = 1000;
    ordered_json rows = runs;
    if (rows.size() > shown_most) rows.erase(rows.begin() + shown_most, rows.end());
    const std::vector<JsonColumn> columns{{"policy", "/policy"},
                                          {"variant", "/variant"},
                                          {"trace", "/trace"},
                                          {"begins at", "/start_s", 1 / 3600.0, 2, "", true},
                                          {"seed", "/seed", 1, 0, ""},
                                          {"cost, USD", "/cost_usd", 1, 4, ""},
                                          {"time", "/duration_s", 1 / 3600.0, 3, "", true},
                                          {"finished", "/finished"},
                                          {"in time", "/deadline_met"},
                                          {"over the optimum, %", "/regret_percent", 1, 1, ""},
                                          {"taken away", "/revocations", 1, 0, ""},
                                          {"failed", "/failures", 1, 0, ""},
                                          {"changes", "/transitions", 1, 0, ""},
                                          {"checkpoints", "/checkpoints", 1, 0, ""},
                                          {"event hash", "/event_hash"}};
    ReportTable table = table_of_rows(fmt::format("Runs ({})", runs.size()), rows, columns);
    if (rows.size() < runs.size()) {
        table.notes.push_back(
            fmt::format("the first {} of {}; all are in summary.csv", rows.size(), runs.size()));
    }
    part.runs.push_back(std::move(table));
}

void add_pairs(ReportPart& part, const ordered_json& rows, bool scenarios) {
    part.comparisons = tables_of_pairs(rows, name_columns(scenarios));
}

void add_simulated(ReportPart& part, const ordered_json& document) {
    ordered_json rows = ordered_json::array();
    const ordered_json variants =
        document.contains("variants") ? document.at("variants") : ordered_json::array({document});
    for (const ordered_json& variant : variants) {
        const ordered_json varied = variant.value("vary", ordered_json::object());
        for (ordered_json job : variant.at("jobs")) {
            job["cluster"] = variant.at("cluster");
            job["policy"] = job.at("name");
            job["variant"] = words_of_variation(varied);
            rows.push_back(std::move(job));
        }
    }
    const std::vector<JsonColumn> columns{{"job", "/policy"},
                                          {"variant", "/variant"},
                                          {"cluster", "/cluster"},
                                          {"workers", "/workers", 1, 0, ""},
                                          {"step, ms", "/step_s/mean", 1000, 3, ""},
                                          {"shortest", "/step_s/min", 1000, 3, ""},
                                          {"longest", "/step_s/max", 1000, 3, ""},
                                          {"samples/s", "/samples_per_s", 1, 1, ""},
                                          {"of a worker", "/samples_per_s_per_worker", 1, 1, ""},
                                          {"efficiency", "/efficiency", 1, 3, ""},
                                          {"collective", "/collective"},
                                          {"codec", "/codec"},
                                          {"layout", "/layout"}};
    part.tables.push_back(table_of_rows("Steps", rows, columns));
    add_means(part, rows, "/step_s", "step, s", false);
}

// Of schedules and searches; with means as `ukemi query` has them.
ordered_json means_document(const fs::path& folder, const char* file, const char* command) {
    ordered_json document = json_in(folder / file);
    const ordered_json means = document.value("means", ordered_json::array());
    if (means.empty() || !means.front().contains("runs")) {
        throw InputError(
            folder.string(), "",
            fmt::format("was written by an older version: ukemi {} runs it again", command));
    }
    return document;
}

void add_contents(ReportPart& part, const fs::path& folder, const ordered_json& about) {
    if (fs::exists(folder / "schedule.json")) {
        add_asked(part, about, "schedule");
        add_scheduled(part, means_document(folder, "schedule.json", "schedule"));
        add_drawn_figures(part, folder / "figures");
        return;
    }
    if (fs::exists(folder / "search.json")) {
        add_asked(part, about, "search");
        add_searched(part, means_document(folder, "search.json", "search"));
        add_drawn_figures(part, folder / "figures");
        return;
    }
    if (is_simulated(folder)) {
        add_asked(part, about, "simulate");
        add_simulated(part, json_in(folder / "simulate.json"));
        draw_figures(part, read_simulated(folder));
        return;
    }
    if (fs::exists(folder / "compare.json")) {
        const bool scenarios = about.contains("more");
        add_asked(part, about, "compare");
        const ordered_json document = json_in(folder / "compare.json");
        add_candidates(part, document.at("candidates"), scenarios);
        add_pairs(part, document.value("pairs", ordered_json::array()), scenarios);
        // What learns over time is in no file but the drawings and their data.
        add_drawn_figures(part, folder);
        return;
    }
    plots::FigureInput figures = read_results(folder);  // says what is missing
    const ordered_json document = json_in(folder / "runs.json");
    if (!document.contains("policies")) {
        throw InputError(folder.string(), "",
                         "was written by an older version: ukemi replay runs it again");
    }
    add_asked(part, about, "replay");
    add_policies(part, document.at("policies"));
    add_pairs(part, document.value("pairs", ordered_json::array()), false);
    add_runs(part, document.at("runs"));
    draw_figures(part, figures);
}

}  // namespace

ReportPart part_of_results(const fs::path& folder) {
    const bool is_tuning = fs::exists(folder / "tune.json");
    if (!is_tuning && !fs::exists(folder / "run.json")) {
        throw InputError(folder.string(), "", "is no results folder: run.json is missing");
    }
    ReportPart part;
    part.name = folder.string();
    try {
        if (is_tuning) {
            add_tuning(part, json_in(folder / "tune.json"));
            add_drawn_figures(part, folder);
            return part;
        }
        const ordered_json about = json_in(folder / "run.json");
        add_contents(part, folder, about);
        add_build(part, about);
    } catch (const ordered_json::exception& error) {
        throw InputError(folder.string(), "", fmt::format("damaged: {}", one_line(error.what())));
    }
    return part;
}

}  // namespace ukemi::analysis
