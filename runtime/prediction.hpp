// prediction.hpp — predict, then run: step and total time of Plans that no calibration measured,
// written down before real workers train under them.
//
// A prediction is simulated: the scenario's job at a fixed Plan on a calm market, with the costs
// of a calibration and the step time of its law. It is a document with a digest; runs that
// follow keep that digest with what was measured, so that a prediction cannot be made to fit.
// Errors are predicted ÷ measured − 1. Times are wall times. On a machine that others use, too,
// both are mostly about the others; so the least disturbed stretch is compared as well: the
// shortest of the calibration's stretches with the shortest of as many stretches of the runs, no
// two of which overlap (fewer, where the runs are too short: a minimum falls with the number of
// tries). None begins at the end of a step that was taken up late (step_times.hpp), and none is
// predicted to be longer than the mean. And between the runs the scenario's own Plan is run again,
// which the calibration did measure: a control. What it is off by is how far the machine has moved
// since, and no fault of the law.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/calibration.hpp"

namespace ukemi::runtime {

struct PredictedRun {
    scenarios::StepSetting setting;
    std::int64_t steps = 0;
    double step_s = 0;
    double step_least_s = 0;  // of the least disturbed stretch
    double total_s = 0;       // from asking for the machines to the last step
    bool covered = true;      // its batch lies within those that were measured
    bool control = false;     // it was measured itself
};

struct Prediction {
    std::string scenario;  // its name
    std::string device;
    std::string costs_digest;  // of the calibration's text
    std::uint64_t seed = 0;
    std::int64_t stretch_steps = 0;  // that the calibration's stretches had
    std::size_t stretches = 0;       // of them, for a setting, at least
    std::vector<PredictedRun> runs;
};

// Settings that the costs do not hold but their law can predict: batches between those measured,
// under every measured kind, with every measured number of workers. Different kinds come first.
std::vector<scenarios::StepSetting> unmeasured_settings(const scenarios::LiveCosts& costs,
                                                        const scenarios::Scenario& scenario,
                                                        std::size_t most);
// "workers=2,batch=96,micro_steps=2,synchronisation=pair_averaging,codec=top_k:0.01", the rest as
// in the scenario's Plan. InputError that names the option for anything else.
scenarios::StepSetting parse_setting(std::string_view text, const scenarios::Scenario& scenario,
                                     std::string_view option);

// The scenario's job with this setting, long enough for so many steps.
scenarios::Scenario scenario_with(const scenarios::Scenario& scenario,
                                  const scenarios::StepSetting& setting, std::int64_t steps);

// A run for each setting, then a control for each of their numbers of workers whose own Plan was
// measured. `wall_s`: about how long each run shall take. InputError for a setting that was
// measured (there is nothing to predict), for one about which the costs say nothing, and for costs
// of another device than `device`.
Prediction predict_runs(const scenarios::LiveCosts& costs, const std::filesystem::path& costs_file,
                        const scenarios::Scenario& scenario,
                        std::span<const scenarios::StepSetting> settings, double wall_s,
                        const std::string& device = scenarios::this_device());
std::string prediction_json(const Prediction& prediction);

// Writes `prediction.json` and, after it, `prediction.digest` into the folder; returns the digest.
std::string write_prediction(const Prediction& prediction, const std::filesystem::path& folder);

struct ComparedRun {
    PredictedRun predicted;
    kernels::MeasuredTimes step;   // mean step time of each repetition
    kernels::MeasuredTimes least;  // of stretches, evenly from all repetitions
    kernels::MeasuredTimes total;  // of each repetition
    double step_error() const;
    double least_error() const;
    double total_error() const;
};

// Lives through every predicted run `repetitions` times, in turn, and before the first checks that
// the folder holds the prediction under its digest.
std::vector<ComparedRun> run_predicted(const scenarios::Scenario& scenario,
                                       const Prediction& prediction,
                                       const std::filesystem::path& folder, int repetitions,
                                       const LiveOptions& live);

std::string comparison_csv(std::span<const ComparedRun> runs, std::string_view digest);
std::string comparison_table(std::span<const ComparedRun> runs);

}  // namespace ukemi::runtime
