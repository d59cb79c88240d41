// tuning_table.cpp — what tuning came to, as a table, as a sentence, as CSV and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/build_info.hpp"
#include "analysis/regret.hpp"
#include "analysis/table_cells.hpp"
#include "analysis/tuning/tuning.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t setting_width = 34;
constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

std::string_view name_of_goal(TuningGoal goal) {
    return goal == TuningGoal::cost_usd ? "cost_usd" : "hours";
}

const Summary& goal_in(const PolicyMeans& means, TuningGoal goal) {
    return goal == TuningGoal::cost_usd ? means.cost_usd : means.hours;
}

constexpr std::size_t value_width = 8;
constexpr std::size_t band_width = 6;

std::string value_cell(double value, TuningGoal goal, std::size_t width) {
    return goal == TuningGoal::cost_usd ? fitted_usd(value, width) : fitted(value, 2, width);
}

std::string half_width(const Summary& summary, TuningGoal goal) {
    if (summary.clusters < 2) return "";
    return value_cell(summary.mean_high_95 - summary.mean, goal, band_width);
}

// The mean, its interval, the difference from the untuned one, its interval, and who was late.
std::string outcome_cells(const TuningOutcome& outcome, TuningGoal goal) {
    const Summary& mean = goal_in(outcome.means, goal);
    std::string more;
    std::string band;
    if (outcome.pair) {
        const double change = outcome.pair->difference.mean;
        more = goal == TuningGoal::cost_usd ? fitted_usd_change(change, value_width)
                                            : fmt::format("{:+.2f}", change);
        band = half_width(outcome.pair->difference, goal);
    }
    return fmt::format(" {:>8} {:>6} {:>8} {:>6}{}", value_cell(mean.mean, goal, value_width),
                       half_width(mean, goal), more, band, outcome.late > 0 ? '!' : ' ');
}

std::string setting_line(const Tuning& tuning, const std::string& name, const TuningRow& row) {
    std::string cells =
        outcome_cells(row.training, tuning.goal) + outcome_cells(row.held_out, tuning.goal);
    cells.erase(cells.find_last_not_of(' ') + 1);
    const std::string shown = one_line(name);
    if (shown.size() > setting_width) return fmt::format("{}\n{:<34}{}\n", shown, "", cells);
    return fmt::format("{:<34}{}\n", shown, cells);
}

std::string optimum_cell(const std::optional<OptimumMean>& optimum) {
    return optimum ? fitted_usd(optimum->usd, value_width) : std::string(nothing_to_show);
}

std::string markets_line(std::string_view name, const TuningMarkets& markets) {
    const std::string traces = markets.traces.size() == 1
                                   ? one_line(markets.traces.front())
                                   : fmt::format("{} traces", markets.traces.size());
    return fmt::format("{:<10} {}, {} run{} a setting{}\n", name, traces, markets.places,
                       markets.places == 1 ? "" : "s",
                       markets.words.empty() ? "" : fmt::format(" ({})", markets.words));
}

struct Gain {
    double mean = 0;
    double half_width = 0;
    bool is_sure = false;  // there is an interval
    bool is_better() const { return is_sure && mean + half_width < 0; }
    bool is_worse() const { return is_sure && mean - half_width > 0; }
};

std::optional<Gain> gain_in(const TuningOutcome& outcome) {
    if (!outcome.pair) return std::nullopt;
    const Summary& difference = outcome.pair->difference;
    return Gain{difference.mean, difference.mean_high_95 - difference.mean,
                difference.clusters > 1};
}

std::string gain_text(const Gain& gain, TuningGoal goal) {
    if (goal == TuningGoal::cost_usd) {
        const std::string band =
            gain.is_sure ? " +/- " + fitted_usd(gain.half_width, value_width) : "";
        return fmt::format("{}{} USD", fitted_usd_change(gain.mean, value_width + 1), band);
    }
    const TimeUnit time = table_time_unit(std::max(std::abs(gain.mean), gain.half_width));
    const std::string band =
        gain.is_sure ? fmt::format(" +/- {:.2f}", gain.half_width * time.per_hour) : "";
    return fmt::format("{:+.2f}{} {}", gain.mean * time.per_hour, band, time.symbol);
}

bool is_better_in_training(const Tuning& tuning) {
    const TuningOutcome& best = tuning.best.front().training;
    const auto gain = gain_in(best);
    return best.late <= tuning.untuned.training.late && gain && gain->mean < 0;
}

nlohmann::ordered_json summary_json(const Summary& summary) {
    nlohmann::ordered_json json = {
        {"mean", summary.mean}, {"low_95", nullptr}, {"high_95", nullptr}};
    if (summary.clusters < 2) return json;
    json["low_95"] = summary.mean_low_95;
    json["high_95"] = summary.mean_high_95;
    return json;
}

nlohmann::ordered_json outcome_json(const TuningOutcome& outcome, TuningGoal goal) {
    nlohmann::ordered_json json;
    json[std::string(name_of_goal(goal))] = summary_json(goal_in(outcome.means, goal));
    json["difference"] =
        outcome.pair ? summary_json(outcome.pair->difference) : nlohmann::ordered_json();
    json["p"] = outcome.pair && outcome.pair->p ? nlohmann::ordered_json(*outcome.pair->p)
                                                : nlohmann::ordered_json();
    json["not_in_time"] = outcome.late;
    return json;
}

nlohmann::ordered_json row_json(const Tuning& tuning, const TuningRow& row) {
    nlohmann::ordered_json json;
    json["policies"] = row.policies;
    json["parameters"] = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.setting.values.size(); ++i) {
        json["parameters"][tuning.parameters[i].name] = row.setting.values[i];
    }
    json["training"] = outcome_json(row.training, tuning.goal);
    json["held_out"] = outcome_json(row.held_out, tuning.goal);
    return json;
}

nlohmann::ordered_json markets_json(const TuningMarkets& markets) {
    nlohmann::ordered_json json = {{"chosen", markets.words},
                                   {"traces", markets.traces},
                                   {"runs_a_setting", markets.places},
                                   {"clusters_are", markets.clusters_words},
                                   {"optimum_usd_mean", nullptr}};
    if (markets.optimum) json["optimum_usd_mean"] = markets.optimum->usd;
    return json;
}

void add_outcome_numbers(CsvWriter& csv, const TuningOutcome* outcome, TuningGoal goal) {
    const auto add = [&](const Summary* summary) {
        const bool any = summary != nullptr && summary->count > 0;
        const bool sure = any && summary->clusters > 1;
        csv.add(any ? summary->mean : not_known);
        csv.add(sure ? summary->mean_low_95 : not_known);
        csv.add(sure ? summary->mean_high_95 : not_known);
    };
    add(outcome == nullptr ? nullptr : &goal_in(outcome->means, goal));
    add(outcome == nullptr || !outcome->pair ? nullptr : &outcome->pair->difference);
    csv.add(outcome == nullptr ? not_known : static_cast<double>(outcome->late));
}

}  // namespace

std::string setting_name(const Tuning& tuning, const TunedSetting& setting) {
    std::string text;
    for (std::size_t i = 0; i < setting.values.size(); ++i) {
        text += fmt::format("{}{}={}", i == 0 ? "" : ", ", tuning.parameters[i].name,
                            setting.values[i]);
    }
    return text;
}

std::vector<std::string> tuning_verdict(const Tuning& tuning) {
    const TuningRow& best = tuning.best.front();
    const auto training = gain_in(best.training);
    const auto elsewhere = gain_in(best.held_out);
    if (!is_better_in_training(tuning)) {
        return {fmt::format("no setting does better than the untuned {} on the training markets",
                            tuning.untuned.policies)};
    }
    std::vector<std::string> lines{
        fmt::format("{}: against the untuned", setting_name(tuning, best.setting)),
        fmt::format("{} on the training markets", gain_text(*training, tuning.goal))};
    if (!elsewhere) {
        lines.emplace_back("and on the held-out ones no pair of runs finished");
        return lines;
    }
    lines.push_back(
        fmt::format("and {} on the held-out ones:", gain_text(*elsewhere, tuning.goal)));
    if (best.held_out.late > tuning.untuned.held_out.late) {
        lines.push_back(
            fmt::format("tuning did not carry over: there it misses {} deadlines, the "
                        "untuned {}",
                        best.held_out.late, tuning.untuned.held_out.late));
    } else if (elsewhere->is_better()) {
        lines.emplace_back("tuning carried over");
    } else if (elsewhere->is_worse()) {
        lines.emplace_back(
            "tuning did not carry over: it is worse there, it was fitted to the "
            "training markets");
    } else if (elsewhere->is_sure) {
        lines.emplace_back("tuning did not carry over: the gain's interval there covers zero");
    } else {
        lines.emplace_back(
            "whether tuning carried over is not known: what the held-out runs are "
            "of is not independent");
    }
    return lines;
}

std::string tuning_table(const Tuning& tuning) {
    std::string text =
        markets_line("training:", tuning.training) + markets_line("held out:", tuning.held_out);
    std::vector<std::string> steps;
    for (const TuningRung& rung : tuning.rungs) {
        steps.push_back(fmt::format("{} on {}", rung.settings, rung.places));
    }
    text += fmt::format("settings:  {} tried by successive halving: {}\n\n", tuning.tried.size(),
                        fmt::join(steps, ", "));
    const std::string_view unit = tuning.goal == TuningGoal::cost_usd ? "usd" : "hours";
    const auto head = [&](std::string_view name) {
        return fmt::format(" {:>8} {:>6} {:>8} {:>6} ", fmt::format("{}", name), "", "", "");
    };
    text += fmt::format("{:<34}{}{}\n", "", head("training"), " held out");
    const std::string columns =
        fmt::format(" {:>8} {:>6} {:>8} {:>6} ", unit, "+/-", "more", "+/-");
    text += fmt::format("{:<34}{}{}\n", "setting", columns, columns.substr(0, columns.size() - 1));
    if (tuning.goal == TuningGoal::cost_usd) {
        text += fmt::format("{:<34} {:>8}{:24} {:>8}\n", "optimum",
                            optimum_cell(tuning.training.optimum), "",
                            optimum_cell(tuning.held_out.optimum));
    }
    text +=
        setting_line(tuning, fmt::format("untuned: {}", tuning.untuned.policies), tuning.untuned);
    for (const TuningRow& row : tuning.best) {
        text += setting_line(tuning, setting_name(tuning, row.setting), row);
    }
    bool late = tuning.untuned.training.late + tuning.untuned.held_out.late > 0;
    for (const TuningRow& row : tuning.best) {
        late = late || row.training.late + row.held_out.late > 0;
    }
    text += fmt::format(
        "more: than the untuned one, pair by pair; +/-: half the 95 % interval,\n"
        "over {} and {}\n",
        tuning.training.clusters_words.empty() ? "one unit" : tuning.training.clusters_words,
        tuning.held_out.clusters_words.empty() ? "one unit" : tuning.held_out.clusters_words);
    if (late) text += "! some runs did not finish in time\n";
    text += fmt::format("\n{}\n", fmt::join(tuning_verdict(tuning), "\n"));
    if (!is_better_in_training(tuning)) return text;
    return text + fmt::format("the setting as a list: --policies '{}'\n",
                              tuning.best.front().setting.policies);
}

std::string tuning_csv(const Tuning& tuning) {
    const std::string goal(name_of_goal(tuning.goal));
    std::vector<std::string> names{"policies"};
    for (const TunedParameter& one : tuning.parameters) names.push_back(one.name);
    names.insert(names.end(), {"rung", "tried_on", goal + "_there_mean", "not_in_time_there"});
    for (const char* markets : {"training", "held_out"}) {
        for (const std::string& what : {goal, std::string("difference")}) {
            for (const char* end : {"mean", "low_95", "high_95"}) {
                names.push_back(fmt::format("{}_{}_{}", markets, what, end));
            }
        }
        names.push_back(fmt::format("{}_not_in_time", markets));
    }
    CsvWriter csv(names);
    const auto add = [&](const TunedSetting& setting, const std::string& policies,
                         const TriedSetting* tried, const TuningRow* row) {
        csv.add(policies);
        for (std::size_t i = 0; i < tuning.parameters.size(); ++i) {
            csv.add(setting.values.empty() ? std::string() : setting.values[i]);
        }
        csv.add(tried == nullptr ? not_known : static_cast<double>(tried->rung + 1));
        csv.add(tried == nullptr ? not_known : static_cast<double>(tried->places));
        csv.add(tried == nullptr ? not_known : tried->mean);
        csv.add(tried == nullptr ? not_known : static_cast<double>(tried->late));
        add_outcome_numbers(csv, row == nullptr ? nullptr : &row->training, tuning.goal);
        add_outcome_numbers(csv, row == nullptr ? nullptr : &row->held_out, tuning.goal);
        csv.end_row();
    };
    add({}, tuning.untuned.policies, nullptr, &tuning.untuned);
    for (const TriedSetting& one : tuning.tried) {
        const auto row = std::ranges::find_if(tuning.best, [&](const TuningRow& best) {
            return best.setting.values == one.setting.values;
        });
        add(one.setting, one.setting.policies, &one, row == tuning.best.end() ? nullptr : &*row);
    }
    return csv.text();
}

std::string tuning_json(const Tuning& tuning) {
    nlohmann::ordered_json json;
    json["scenario"] = tuning.scenario;
    json["goal"] = name_of_goal(tuning.goal);
    json["training"] = markets_json(tuning.training);
    json["held_out"] = markets_json(tuning.held_out);
    json["rungs"] = nlohmann::ordered_json::array();
    for (const TuningRung& rung : tuning.rungs) {
        json["rungs"].push_back({{"settings", rung.settings}, {"runs_a_setting", rung.places}});
    }
    json["untuned"] = row_json(tuning, tuning.untuned);
    json["best"] = nlohmann::ordered_json::array();
    for (const TuningRow& row : tuning.best) json["best"].push_back(row_json(tuning, row));
    json["verdict"] = fmt::format("{}", fmt::join(tuning_verdict(tuning), " "));
    json["resolved"] = nlohmann::ordered_json::parse(tuning.resolved);
    json["ukemi"] = build_description();
    return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ukemi::analysis
