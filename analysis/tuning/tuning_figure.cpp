// tuning_figure.cpp — settings where they were chosen beside the same where they were not.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/tuning/tuning.hpp"
#include "base/plain_text.hpp"
#include "plots/varied_lines.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t places_max = 4;  // the untuned one and the best three

plots::VariationValue value_of(const Summary& summary) {
    plots::VariationValue value;
    value.mean = summary.mean;
    if (summary.clusters > 1) {
        value.interval_95 = std::pair(summary.mean_low_95, summary.mean_high_95);
    }
    return value;
}

void add_point(plots::VariationLine& line, const TuningOutcome& outcome, TuningGoal goal) {
    const PolicyMeans& means = outcome.means;
    plots::VariationPoint& point = line.points.emplace_back();
    point.at = static_cast<double>(line.points.size()) - 1;
    point.values = {value_of(goal == TuningGoal::cost_usd ? means.cost_usd : means.hours),
                    outcome.pair ? value_of(outcome.pair->difference) : plots::VariationValue{}};
    const std::size_t runs = means.cost_usd.count;
    if (runs > 0) {
        point.missed_share = static_cast<double>(outcome.late) / static_cast<double>(runs);
    }
}

// What knowing the market beforehand is worth, whatever the setting.
void add_optimum(plots::VariationInput& input, const TuningMarkets& markets, double untuned_usd,
                 std::size_t column) {
    if (!markets.optimum) return;
    const double usd = markets.optimum->usd;
    plots::VariationLine& line = input.lines.emplace_back();
    line.policy = "optimum";
    line.column = column;
    for (std::size_t i = 0; i < input.places.size(); ++i) {
        line.points.push_back({static_cast<double>(i), {{usd}, {usd - untuned_usd}}, 0});
    }
}

void add_markets(plots::VariationInput& input, const Tuning& tuning, bool training) {
    const std::size_t column = input.columns.size();
    const TuningMarkets& markets = training ? tuning.training : tuning.held_out;
    input.columns.emplace_back(training ? "training: chosen here" : "held out: what it is worth");
    plots::VariationLine line;
    line.policy = "mean of the runs";
    line.column = column;
    const auto add = [&](const TuningRow& row) {
        add_point(line, training ? row.training : row.held_out, tuning.goal);
    };
    add(tuning.untuned);
    for (std::size_t i = 1; i < input.places.size(); ++i) add(tuning.best[i - 1]);
    input.lines.push_back(std::move(line));
    if (tuning.goal != TuningGoal::cost_usd) return;
    const TuningOutcome& untuned = training ? tuning.untuned.training : tuning.untuned.held_out;
    add_optimum(input, markets, untuned.means.cost_usd.mean, column);
}

}  // namespace

plots::FigureResult draw_tuning(const Tuning& tuning, const std::filesystem::path& folder,
                                const plots::FigureOptions& options) {
    plots::VariationInput input;
    input.title = fmt::format("{}: {}, untuned and tuned", one_line(tuning.scenario),
                              one_line(tuning.untuned.policies));
    input.axis = "setting";
    input.column = "setting";
    input.intervals_over = tuning.held_out.clusters_words;
    input.places = {"untuned"};
    for (const TuningRow& row : tuning.best) {
        if (input.places.size() == places_max) break;
        input.places.push_back(one_line(setting_name(tuning, row.setting)));
    }
    if (tuning.goal == TuningGoal::cost_usd) {
        input.quantities = {{"cost", "cost (USD)", "cost_usd"},
                            {"difference", "USD more than untuned", "more_usd"}};
    } else {
        input.quantities = {
            {.panel = "time", .axis = "time", .column = "time", .hours = true},
            {.panel = "difference", .axis = "more than untuned", .column = "more", .hours = true}};
    }
    add_markets(input, tuning, true);
    add_markets(input, tuning, false);
    return plots::draw_varied_lines("tuned", {&input, 1}, folder, options);
}

}  // namespace ukemi::analysis
