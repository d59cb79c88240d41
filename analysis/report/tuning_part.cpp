// tuning_part.cpp — what `ukemi tune --out` left behind: settings where they were chosen, and where
// they were not.
#include "analysis/report/tuning_part.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/report/json_table.hpp"

namespace ukemi::analysis {

using nlohmann::ordered_json;

namespace {

std::string words_of_markets(const ordered_json& markets) {
    const ordered_json& traces = markets.at("traces");
    const std::string chosen = text_at(markets, "/chosen");
    return fmt::format(
        "{}, {} runs a setting{}",
        traces.size() == 1 ? text_at(traces, "/0") : fmt::format("{} traces", traces.size()),
        text_at(markets, "/runs_a_setting"), chosen.empty() ? "" : fmt::format(" ({})", chosen));
}

void add_outcome_columns(std::vector<JsonColumn>& columns, const std::string& markets,
                         const std::string& words, const std::string& goal) {
    const bool is_time = goal != "cost_usd";  // whose unit is said behind
    for (const auto& [key, title] :
         {std::pair(goal, words + (is_time ? "" : ", USD")),
          std::pair(std::string("difference"),
                    std::string(is_time ? "" : "USD ") + "more there")}) {
        const std::string mean = fmt::format("/{}/{}/mean", markets, key);
        columns.push_back({title, mean, 1, 2, "", is_time});
        columns.push_back({"±", fmt::format("/{}/{}/high_95", markets, key), 1, 2, mean, is_time});
    }
    columns.push_back({"not in time", fmt::format("/{}/not_in_time", markets), 1, 0, ""});
}

}  // namespace

void add_tuning(ReportPart& part, const ordered_json& document) {
    part.asked.emplace_back("scenario", text_at(document, "/scenario"));
    part.asked.emplace_back("tuned", text_at(document, "/untuned/policies"));
    part.asked.emplace_back("goal", text_at(document, "/goal"));
    part.asked.emplace_back("training", words_of_markets(document.at("training")));
    part.asked.emplace_back("held out", words_of_markets(document.at("held_out")));
    part.scenarios.emplace_back(text_at(document, "/scenario"), document.at("resolved").dump(2));
    ordered_json rows = document.at("best");
    rows.insert(rows.begin(), document.at("untuned"));
    const std::string goal = text_at(document, "/goal");
    std::vector<JsonColumn> columns{{"policies", "/policies"}};
    add_outcome_columns(columns, "training", "training", goal);
    add_outcome_columns(columns, "held_out", "held out", goal);
    ReportTable table = table_of_rows("Tuning", rows, columns);
    table.notes.push_back(text_at(document, "/verdict"));
    for (const auto& [markets, words] :
         {std::pair("training", "training"), std::pair("held_out", "held-out")}) {
        const auto usd = number_at(document, fmt::format("/{}/optimum_usd_mean", markets));
        if (!usd) continue;
        table.notes.push_back(
            fmt::format("optimum of the {} markets: {} USD", words, shown_number(*usd, 2)));
    }
    table.notes.emplace_back(
        "the untuned one stands first; more there: than it, pair by pair; ±: half the 95 % "
        "interval");
    part.tables.push_back(std::move(table));
    part.builds.push_back(text_at(document, "/ukemi"));
}

}  // namespace ukemi::analysis
