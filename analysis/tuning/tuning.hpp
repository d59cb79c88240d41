// tuning.hpp — the best setting of a policy's parameters on some markets, and what it is worth on
// others.
//
// Successive halving (Jamieson & Talwalkar, AISTATS 2016) with a third kept each time: all settings
// on a few places of the training markets, the best third of them on up to three times as many,
// until at most three are left, which are tried on all. Who missed fewer deadlines is better, then
// who has the smaller mean. The best of many is better on its training markets than elsewhere,
// because it was chosen there: what it is worth is what it does on markets that had no part in the
// choice.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/pairs.hpp"
#include "analysis/policy_means.hpp"
#include "analysis/tuning/trials.hpp"
#include "analysis/tuning/tuned_parameter.hpp"
#include "plots/figures.hpp"

namespace ukemi::analysis {

enum class TuningGoal : std::uint8_t { cost_usd, hours };

struct TuningMarkets {
    std::string words;  // "every third trace"
    std::vector<std::string> traces;
    std::size_t places = 0;
    std::string clusters_words;  // what intervals are over: "6 zones"
    std::optional<OptimumMean> optimum;
};

// What a setting came to on the training or the held-out markets.
struct TuningOutcome {
    PolicyMeans means;
    std::optional<PairedQuantity> pair;  // with the untuned one: of the goal
    std::size_t late = 0;                // runs that did not finish in time
};

struct TuningRow {
    TunedSetting setting;  // no values: the untuned one
    std::string policies;  // as results call them
    TuningOutcome training;
    TuningOutcome held_out;
};

struct TriedSetting {
    TunedSetting setting;
    std::size_t rung = 0;    // the last that it reached, from zero
    std::size_t places = 0;  // it was tried on
    double mean = 0;         // of the goal, there
    std::size_t late = 0;
};

struct TuningRung {
    std::size_t settings = 0;
    std::size_t places = 0;
};

struct Tuning {
    std::string scenario;
    std::string resolved;  // the scenario as JSON, with every default
    TuningGoal goal = TuningGoal::cost_usd;
    std::vector<TunedParameter> parameters;
    TuningMarkets training;
    TuningMarkets held_out;
    std::vector<TuningRung> rungs;
    TuningRow untuned;
    std::vector<TuningRow> best;  // those of the last rung, the best on the training markets first
    std::vector<TriedSetting> tried;
    std::vector<std::string> warnings;  // about the runs of the untuned list
};

// The policies of `of` are the untuned list and then those of the settings, in this order. Each of
// the trials has at least one place.
Tuning tune(std::span<const TunedSetting> settings, TuningGoal goal, Trials& training,
            Trials& held_out);

// Whether tuning carried over: a sentence, in lines.
std::vector<std::string> tuning_verdict(const Tuning& tuning);
// A line a setting that was left in the end, beside the untuned one and the optimum; at most 100
// columns wide.
std::string tuning_table(const Tuning& tuning);
std::string setting_name(const Tuning& tuning, const TunedSetting& setting);
std::string tuning_csv(const Tuning& tuning);  // every setting that was tried
std::string tuning_json(const Tuning& tuning);
// tuned.svg and its like: the untuned list and the best settings, where they were chosen and where
// they were not, beside the optimum.
plots::FigureResult draw_tuning(const Tuning& tuning, const std::filesystem::path& folder,
                                const plots::FigureOptions& options);

}  // namespace ukemi::analysis
