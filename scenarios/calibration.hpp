// calibration.hpp — what one machine needs for a step, a resize, a checkpoint: measured, and kept
// with everything that the numbers came from.
//
// Costs are wall times of one training (model, data, optimiser) on one machine, for several Plans:
// numbers of workers, batches, learners, ways to synchronise, codecs. They serve as a job's profile
// in any scenario; a live run under a Plan that was not measured can so be predicted before it
// starts (step_law.hpp). Costs of another training are refused everywhere, those of another machine
// wherever something is to run on this one; measurements of two machines are never joined.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernels/machine_costs.hpp"
#include "kernels/measured_times.hpp"
#include "policies/job_profile.hpp"
#include "scenarios/live_run.hpp"
#include "scenarios/step_law.hpp"

namespace ukemi {

struct StepCosts {
    StepSetting setting;
    MeasuredTimes step;  // mean step time of a stretch of steps, a value a stretch
};

struct LiveCosts {
    std::string training;  // what was trained: the spec, without what StepSetting has
    std::string device;    // processor, cores, operating system
    std::vector<StepCosts> steps;
    MeasuredTimes spawn;                   // starting a process until it can join
    MeasuredTimes restart;                 // a first group, until its first step
    MeasuredTimes resize;                  // survivors and joiners, until their next step
    MeasuredTimes rendezvous;              // of that: until the new communicator stands
    MeasuredTimes state_transfer;          // of that: until joiners have the model
    MeasuredTimes loss;                    // a member killed, until the next step of the others
    MeasuredTimes checkpoint;              // hold, write, go on
    MeasuredTimes restore;                 // a first group from a checkpoint, until its first step
    std::int64_t worker_memory_bytes = 0;  // resident in the largest worker, at most
    MachineCosts machine;

    std::int64_t stretch_steps = 0;  // of each stretch in `steps`

    // From this quantile of each setting's stretches: 0.5, or 0 for those that nobody disturbed.
    StepLaw law(double quantile = 0.5) const;
    const StepCosts* find(const StepSetting& setting) const;
};

struct CalibrationOptions {
    std::int32_t workers_max = 2;
    std::int64_t steps = 50;                // of a stretch
    int stretches = 5;                      // a repetition
    int repetitions = 3;                    // each with processes of its own
    std::vector<StepSetting> settings;      // beside the scenario's own Plan, for each group size
    std::optional<MachineOptions> machine;  // nothing: not measured
    LiveOptions live;
};

// Settings around the scenario's Plan that a law needs: half and double its batch, two learners,
// and every other synchronisation and codec that this world can train, at the Plan's batch.
std::vector<StepSetting> calibration_grid(const Scenario& scenario, std::int32_t workers_max);

LiveCosts measure_costs(const Scenario& scenario, const CalibrationOptions& options);

std::string costs_json(const LiveCosts& costs);
LiveCosts read_costs(const std::filesystem::path& file);

// InputError where the scenario's learners average (training.learners): nothing measures them.
void expect_one_replica(const Scenario& scenario);

// The costs' profile for the scenario's Plan, in scenario time that runs `time_scale` times as fast
// as the wall's. Throws InputError if the costs are of another training, or say nothing about this
// Plan; `on_this_machine`: also if they are of another machine.
JobProfile measured_profile(const LiveCosts& costs, const Scenario& scenario, double time_scale,
                            const std::filesystem::path& file, bool on_this_machine = true);

// Two calibrations of one thing beside each other.
struct CostDifference {
    std::string name;
    double first_s = 0;  // medians
    double second_s = 0;
    double spread = 0;    // the larger of the two that they state, at least 5 %
    bool agrees() const;  // their medians differ by no more
};
// InputError if they are of different machines or trainings.
std::vector<CostDifference> differences(const LiveCosts& first, const LiveCosts& second,
                                        const std::filesystem::path& file);

std::string this_device();
std::string training_text(const Scenario& scenario);

}  // namespace ukemi
