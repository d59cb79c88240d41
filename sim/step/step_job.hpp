// step_job.hpp — a job as one step sees it: what is computed, what is sent, what holds it up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "base/rng.hpp"
#include "kernels/grid_schedule.hpp"
#include "policies/plan.hpp"
#include "sim/cluster/nccl/nccl_place.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/buckets.hpp"
#include "sim/step/host_transport.hpp"
#include "sim/step/launch.hpp"
#include "sim/step/layout_work.hpp"
#include "sim/step/workload.hpp"

namespace ukemi::sim {

// Factors on a worker's compute time, lognormal of mean 1 and these coefficients of variation, each
// 0 to 4: drawn for every worker and step; for every worker once; for every machine and step. The
// streams are "step/JOB/worker", "step/JOB/worker/persistent" and "step/JOB/machine".
struct Stragglers {
    double independent = 0;
    double persistent = 0;
    double machine = 0;
};

// Prepares batches for the whole job, at most `ahead` of them before they are asked for.
struct InputSupply {
    double samples_per_second = 0;  // 0: no limit
    std::int64_t ahead = 2;
};

// After every so many steps, the forward pass of so many samples: on all workers, a share each, or
// on the first alone while the others wait. Adding up the results is neglected.
struct Validation {
    std::int64_t every = 0;  // 0: never
    std::int64_t samples = 0;
    bool distributed = true;
};

struct StepJob {
    std::string name;
    std::vector<DeviceId> workers;  // by rank
    // By rank: forward and backward of one micro-batch. With a layout, of the whole model on this
    // worker alone.
    std::vector<Duration> compute;
    // By rank: the update of the whole model's parameters on this worker alone, once a step, when
    // all gradients have arrived. None, or zero: it is in `compute`.
    std::vector<Duration> update;
    std::int64_t batch = 1;         // samples of a worker's micro-batch; of a replica's in a layout
    std::int64_t accumulation = 1;  // micro-batches a step; only the last sends
    // On each worker: `batch` is of each, `compute` of all (learner_time.hpp); they send their sum.
    std::int64_t learners = 1;
    std::optional<LayoutWork> layout;  // none: every worker computes the whole model in one go
    // Of the compute time before the first gradient is on its way: the backward pass computes two
    // products for each of the forward's (Paleo: Qi et al., ICLR 2017).
    double forward_share = 1.0 / 3;
    // Of the compute time, a forward pass of a validation; none: forward_share.
    std::optional<double> validation_share;
    std::vector<GradientBucket> buckets;  // none: nothing is sent; a layout has its own
    // Parameter servers, on which the legs of all buckets are; none: gradients are all-reduced.
    std::vector<DeviceId> servers;
    bool sums_by_machine = false;  // one worker of each machine sends the sum of all of its
    bool asynchronous = false;     // workers do not wait for each other; needs servers, or...
    Bytes pair_model;              // ...this: each averages with a model of one other (PairPlayer)
    // In place of all the above: what each rank does.
    std::shared_ptr<const Workload> workload;
    // Of gradients, on every worker, once they have arrived (monitor_time.hpp).
    Duration monitoring;
    LaunchRule launch;
    policies::Collective collective = policies::Collective::ring;
    // Instead, where a grid is faster (dimension_search.hpp); and the message for which it was
    // searched, or zero.
    std::vector<kernels::GridAxis> axes;
    Bytes searched_message;
    bool nccl_ring_only = false;  // of its all-reduces, NCCL's have no trees (NcclPlace)
    bool nccl = false;  // instead: all-reduces and gathers of gradients take as long as NCCL's
    std::shared_ptr<const NcclRanks> nccl_place;  // of its workers, if it has been looked for
    std::int32_t per_host = 0;                    // of the collective
    std::optional<HostTransport> hosts;           // gradients, or models, go through host memory
    Stragglers stragglers;
    InputSupply input;
    Validation validation;
    std::int64_t steps = 1;
    // Workers that are left of more: their ranks at the start, and how often some have gone.
    std::vector<std::int32_t> first_ranks;
    std::int64_t departures = 0;
    std::int64_t steps_before = 0;  // that it has made already

    std::int64_t replicas() const;  // that have samples of their own
    std::int64_t samples_per_step() const;
    Duration validation_time() const;  // of one validation
    Duration update_of(std::size_t rank) const {
        return update.empty() ? Duration{} : update[rank];
    }
    Duration longest_update() const {
        return update.empty() ? Duration{} : *std::ranges::max_element(update);
    }
};

// Draws the factors of one job, step by step.
class StragglerDraws {
public:
    StragglerDraws(const StepJob& job, const Topology& topology, std::uint64_t seed);
    // Of the worker that is the slowest in all steps, chance aside.
    Duration slowest_compute(const StepJob& job) const;
    std::vector<double> next_factors();  // of the next step, by rank
    // With these: how long each worker computes, over all its micro-batches.
    std::vector<Duration> next(const StepJob& job);

private:
    Stragglers rule_;
    RandomStream worker_;
    RandomStream machine_;
    std::vector<double> persistent_;       // by rank
    std::vector<std::size_t> machine_of_;  // by rank: dense
    std::size_t machine_count_ = 0;
};

}  // namespace ukemi::sim
