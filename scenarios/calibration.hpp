// calibration.hpp — what one machine needs for a step, a resize, a checkpoint: measured, and kept
// with everything that the numbers came from.
//
// Costs are wall times of one training (model, data, batch) on one machine. They serve as a job's
// profile in the simulator; a live run whose costs were measured can so be predicted before it
// starts. Costs of another training or another machine are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "policies/job_profile.hpp"
#include "scenarios/live_run.hpp"

namespace ukemi {

struct MeasuredTimes {  // wall seconds, in the order in which they were taken
    std::vector<double> s;
    double mean() const;
    double median() const;
    double quantile(double q) const;
};

struct StepCosts {
    std::int32_t workers = 1;
    MeasuredTimes step;  // mean step time of a stretch of steps, a value a stretch
};

struct LiveCosts {
    std::string training;  // what was trained: the spec, and the Plan's batch and collective
    std::string device;    // processor, cores, operating system
    std::vector<StepCosts> steps;
    MeasuredTimes spawn;       // starting a process until it can join
    MeasuredTimes restart;     // a first group, until its first step
    MeasuredTimes resize;      // survivors and joiners, until their next step
    MeasuredTimes loss;        // a member killed, until the next step of the others
    MeasuredTimes checkpoint;  // hold, write, go on
    MeasuredTimes restore;     // a first group from a checkpoint, until its first step
};

struct CalibrationOptions {
    std::int32_t workers_max = 2;
    std::int64_t steps = 50;  // of a stretch
    int stretches = 5;        // a repetition
    int repetitions = 3;      // each with processes of its own
    LiveOptions live;
};

LiveCosts measure_costs(const Scenario& scenario, const CalibrationOptions& options);

std::string costs_json(const LiveCosts& costs);
LiveCosts read_costs(const std::filesystem::path& file);

// The job's profile in scenario time that runs `time_scale` times as fast as the wall's. Throws
// InputError if the costs are of another training or of another machine.
JobProfile measured_profile(const LiveCosts& costs, const Scenario& scenario, double time_scale,
                            const std::filesystem::path& file);

std::string this_device();

}  // namespace ukemi
