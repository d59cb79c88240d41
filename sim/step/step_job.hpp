// step_job.hpp — a job as one step sees it: what is computed, what is sent, what holds it up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "base/rng.hpp"
#include "policies/plan.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/buckets.hpp"
#include "sim/step/launch.hpp"

namespace ukemi {

// Factors on a worker's compute time, lognormal of mean 1 and these coefficients of variation, each
// 0 to 4: drawn for every worker and step; for every worker once; for every machine and step. The
// streams are "step/JOB/worker", "step/JOB/worker/persistent" and "step/JOB/machine".
struct Stragglers {
    double independent = 0;
    double persistent = 0;
    double machine = 0;
};

// Prepares batches for the whole job, at most `ahead` of them before they are asked for.
struct InputPipeline {
    double samples_per_second = 0;  // 0: no limit
    std::int64_t ahead = 2;
};

struct StepJob {
    std::string name;
    std::vector<DeviceId> workers;  // by rank
    std::vector<Duration> compute;  // by rank: forward, backward and update of one micro-batch
    std::int64_t batch = 1;         // samples of a worker's micro-batch
    std::int64_t accumulation = 1;  // micro-batches a step; only the last sends
    // Of the compute time before the first gradient is on its way: the backward pass computes two
    // products for each of the forward's (Paleo: Qi et al., ICLR 2017).
    double forward_share = 1.0 / 3;
    std::vector<GradientBucket> buckets;  // none: nothing is sent
    LaunchRule launch;
    Collective collective = Collective::ring;
    std::int32_t per_host = 0;  // of the collective
    Stragglers stragglers;
    InputPipeline input;
    std::int64_t steps = 1;

    std::int64_t samples_per_step() const;
};

// Draws the factors of one job, step by step.
class StragglerDraws {
public:
    StragglerDraws(const StepJob& job, const Topology& topology, std::uint64_t seed);
    // Of the next step, by rank: how long each worker computes, over all its micro-batches.
    std::vector<Duration> next(const StepJob& job);

private:
    RandomStream worker_;
    RandomStream machine_;
    std::vector<double> persistent_;       // by rank
    std::vector<std::size_t> machine_of_;  // by rank: dense
    std::size_t machine_count_ = 0;
};

}  // namespace ukemi
