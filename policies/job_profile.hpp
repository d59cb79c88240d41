// job_profile.hpp — how fast a job runs and what its interruptions cost, as measured beforehand.
//
// The numbers of a scenario (or of a calibration) in one value. The simulator uses it as its truth,
// a Predictor as its guess; where the two should differ, the job names another Predictor
// (predictor_choice.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/quantity.hpp"
#include "policies/host_links.hpp"
#include "policies/predictor.hpp"
#include "policies/step_time.hpp"

namespace ukemi::policies {

// `steps` optimiser steps every `per`: a rational, so that step counts are exact integers.
struct StepRate {
    std::int64_t steps = 0;
    Duration per;
    friend bool operator==(const StepRate&, const StepRate&) = default;
};
std::int64_t steps_within(StepRate rate, Duration time);    // whole steps, rounded down
Duration time_for(StepRate rate, std::int64_t steps);       // rounded up: the last step is done
Int128 nanoseconds_for(StepRate rate, std::int64_t steps);  // the same, however long

StepRate scaled(StepRate rate,
                std::int32_t per_mille);        // so much of it; never rounded where it fits
StepRate slowed(StepRate rate, Duration more);  // each step takes so much longer
// Each step takes numerator ÷ denominator as long; equal parts leave the rate as it is.
StepRate stretched(StepRate rate, std::int64_t numerator, std::int64_t denominator);

struct ThroughputPoint {
    std::int32_t workers = 1;
    StepRate rate;
};

struct ExposedCommunication {  // that a step waits for, on top of what `throughput` says
    Collective collective = Collective::automatic;
    TimeBySize times;
};

// Steps of pipelines of so many stages: with one, two, … of them; with more as with the last.
struct PipelineSteps {
    std::int32_t stages = 2;
    std::vector<Duration> steps;
    friend bool operator==(const PipelineSteps&, const PipelineSteps&) = default;
};

struct JobProfile {
    std::vector<ThroughputPoint> throughput;  // strictly increasing workers, at least one point
    Duration provisioning;                    // from asking for machines until they are there
    Duration restart;      // from "machines are there" to the first step, when starting anew
    Duration resize;       // the same when survivors hold the state
    bool lossless = true;  // state is never lost: checkpoints are free and continuous
    Duration checkpoint;   // cost of saving
    Duration restore;      // added to a restart from a checkpoint
    bool sharded = false;  // losing any worker loses the state (else one survivor is enough)
    std::optional<StepTime> step_time;  // by batch; takes the place of `throughput`
    // What a machine does with one, two, … learners on each of its GPUs, per mille of what it does
    // with one; flat beyond. Empty: nobody knows. Of `throughput`; `step_time` has its own.
    std::vector<std::int32_t> learner_speeds;
    std::vector<ExposedCommunication> communication;  // of others: as the longest
    // Of a job whose pipelines may have several numbers of stages, each once, in rising order: the
    // Plan's layout says which. Takes the place of `throughput`.
    std::vector<PipelineSteps> pipelines;
    // Between hosts that are unequally far from each other. `throughput` has the ring over them in
    // it; where the Plan has a tree, that one's time stands in the ring's place. Not beside
    // `step_time`, `communication` and `pipelines`.
    HostLinks links;
    // Each worker has a batch: a step of `throughput` is of more samples the more there are.
    bool batch_grows = false;
    Duration spawn;  // from a machine's being there until its worker can join; others train
};

// How fast a group of that size steps under this Plan: the one answer to how long a step takes, for
// the simulator, for Predictors and for the optimum; calm machines, an idle network. Without a
// `step_time`, between two points of `throughput` the rate is interpolated linearly; outside it is
// that of the nearest end, so a table never promises a speed-up that nobody measured. It is one of
// samples where `batch_grows`, but below the table each worker is as fast as in the smallest group.
StepRate rate_of(const JobProfile& profile, const Plan& plan, std::int32_t workers);

// What a step of this Plan waits for, on an idle network. One worker alone sends nothing.
Duration exposed_communication(const JobProfile& profile, const Plan& plan, std::int32_t workers);

}  // namespace ukemi::policies
