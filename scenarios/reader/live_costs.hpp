// live_costs.hpp — what one machine needs for a step, a resize, a checkpoint: measured, and kept
// with everything that the numbers came from.
//
// Costs are wall times of one training (model, data, optimiser) on one machine, for several Plans:
// numbers of workers, batches, learners, ways to synchronise, codecs. They serve as a job's profile
// in any scenario; a live run under a Plan that was not measured can so be predicted before it
// starts (step_law.hpp). runtime/calibration.hpp measures them. Costs of another training are
// refused everywhere, those of another machine wherever something is to run on this one;
// measurements of two machines are never joined.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/machine_costs.hpp"
#include "kernels/measured_times.hpp"
#include "policies/job_profile.hpp"
#include "scenarios/reader/scenario.hpp"
#include "scenarios/reader/step_law.hpp"
#include "sim/job/transition_costs.hpp"

namespace ukemi::scenarios {

struct StepCosts {
    StepSetting setting;
    kernels::MeasuredTimes step;  // mean step time of a stretch of steps, a value a stretch
};

using TimesBySize = std::map<std::int32_t, kernels::MeasuredTimes>;  // by the number of workers
// Their medians, on a clock that runs `time_scale` times as fast as the wall's.
policies::TimeBySize medians_of(const TimesBySize& times, double time_scale = 1);

// Between two of the hosts that workers were on, numbered in the order of the ranks.
struct LinkCosts {
    std::int32_t host = 0;  // the lower number
    std::int32_t other = 0;
    kernels::MeasuredTimes round_trip;  // of a few bytes
    kernels::MeasuredTimes mebibyte;    // one way, while as much goes the other way
};

// "Until their steps are warm": what a group's first steps took longer than those that follow is
// part of the change (libraries that load, memory that is laid out).
struct LiveCosts {
    std::string training;  // what was trained: the spec, without what StepSetting has
    std::string device;    // processor, cores, operating system; GPUs where workers compute on them
    std::vector<StepCosts> steps;
    TimesBySize spawn;                      // so many processes at once, until the last can join
    TimesBySize restart;                    // a first group of so many, until its steps are warm
    kernels::MeasuredTimes grow;            // survivors and joiners, until their steps are warm
    kernels::MeasuredTimes rendezvous;      // of that: until the new communicator stands
    kernels::MeasuredTimes state_transfer;  // of that: until joiners have the model
    kernels::MeasuredTimes start_beside;    // what a start takes from those who train beside it
    kernels::MeasuredTimes shrink;  // the last is told to leave, until the others' steps are warm
    kernels::MeasuredTimes loss;    // a member killed, until the others' steps are warm
    kernels::MeasuredTimes checkpoint;     // hold, write, go on
    kernels::MeasuredTimes restore;        // a restart of one from a checkpoint
    std::int64_t worker_memory_bytes = 0;  // resident in the largest worker, at most
    kernels::MachineCosts machine;
    std::vector<LinkCosts> links;  // of every two hosts, in order; none with one host

    std::int64_t stretch_steps = 0;  // of each stretch in `steps`

    StepLaw law() const;        // from the middle mean of each setting's stretches
    StepLaw least_law() const;  // from the shortest, which nobody disturbed
    const StepCosts* find(const StepSetting& setting) const;
};

// What changes cost, under the names that documents and tables have.
struct NamedTimes {
    const char* name;
    kernels::MeasuredTimes LiveCosts::*times;
};
inline constexpr NamedTimes cost_times[] = {
    {"grow", &LiveCosts::grow},
    {"rendezvous", &LiveCosts::rendezvous},
    {"state_transfer", &LiveCosts::state_transfer},
    {"start_beside", &LiveCosts::start_beside},
    {"shrink", &LiveCosts::shrink},
    {"loss", &LiveCosts::loss},
    {"checkpoint", &LiveCosts::checkpoint},
    {"restore", &LiveCosts::restore},
};
struct NamedTimesBySize {
    const char* name;
    TimesBySize LiveCosts::*times;
};
inline constexpr NamedTimesBySize cost_times_by_size[] = {
    {"spawn", &LiveCosts::spawn},
    {"restart", &LiveCosts::restart},
};
// All of both kinds: "restart, 2 workers", …; they point into `costs`.
std::vector<std::pair<std::string, const kernels::MeasuredTimes*>> change_times(
    const LiveCosts& costs);

// This machine: processor, cores, operating system. Whose workers compute on something else adds
// it.
std::string this_device();

std::string costs_json(const LiveCosts& costs);
LiveCosts read_costs(const std::filesystem::path& file);
// The same from a text; `file` is for the message.
LiveCosts costs_from_text(std::string_view text, const std::filesystem::path& file);

// InputError where the scenario's learners average (training.learners): nothing measures them.
void expect_one_replica(const Scenario& scenario);
// InputError if the costs are of another training than the scenario's, where it has one;
// also if they are of another device than `device`; empty: of any.
void expect_costs_of(const LiveCosts& costs, const Scenario& scenario,
                     const std::filesystem::path& file, const std::string& device = this_device());

// The costs' profile for the scenario's Plan: starts as of its largest group; a resize is halfway
// between growing, with what the start took from those who trained, and a loss, where both were
// measured, since each loss is made good. In scenario
// time that runs `time_scale` times as fast as the wall's. Throws InputError if the costs are of
// another training, or say nothing about this Plan; also if they are of another device than
// `device`; empty: of any.
policies::JobProfile measured_profile(const LiveCosts& costs, const Scenario& scenario,
                                      double time_scale, const std::filesystem::path& file,
                                      const std::string& device = this_device());

// Between the hosts of the scenario's largest group, in scenario time as above. InputError about
// the file if some of it was not measured.
std::vector<policies::LinkView> measured_links(const LiveCosts& costs, const Scenario& scenario,
                                               double time_scale,
                                               const std::filesystem::path& file);

// With so many at most.
void limit_workers(sim::JobSpec& job, std::int32_t workers);

std::string training_text(const Scenario& scenario);

}  // namespace ukemi::scenarios
