// step_time.hpp — how long a step takes, by the batch that each worker has.
//
// T = m·(fixed + per_sample·b) + synchronisation(n): each of n workers does m micro-steps of at
// most `worker_batch_max` samples, and all combine their gradients once. An affine time is what
// GPUs show beyond the batch that fills them (Pollux, OSDI'21, eq. 9: T_grad = α + β·m, with γ =
// 1); where they do not, a table of measured points is kept and interpolated in between. Where what
// is sent hides behind what is computed, neither is a sum: then whole steps are a table by workers
// and batch (`groups`), measured or out of a model of the network.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.hpp"
#include "policies/observation.hpp"
#include "policies/plan.hpp"
#include "policies/time_by_size.hpp"

namespace ukemi::policies {

// No part of a step takes longer: logs with such times are refused.
inline constexpr Duration step_part_longest = days(2);

struct BatchTime {
    std::int64_t batch = 1;  // samples of one worker
    Duration time;           // forwards and backwards
};

struct GroupTime {
    std::int32_t workers = 1;
    std::vector<BatchTime> steps;  // whole ones of one micro-step; read as StepTime::compute is
    // Whole steps of two micro-steps, and what each one after the second takes, where that is not
    // what `compute` says: a micro-step waits for its stragglers or for what the model itself
    // sends, or adds its gradients to others. Both of all groups of a table, or of none.
    std::vector<BatchTime> twice = {};
    std::vector<BatchTime> further = {};
    // What of each micro-step and once a step is computing in a group of this size, where that is
    // not what `compute` and `update` beside the table say: more machines may bring slower GPUs,
    // and divided states have less to update. Of all groups of a table, or of none.
    std::vector<BatchTime> compute = {};
    Duration update = {};
};

// What a codec makes of a step's exchange.
struct CodecTime {
    Codec codec = Codec::none;
    double level = 0;            // as in the Plan
    bool usual_level = false;    // so that a Plan with level 0 means it, too
    TimeBySize encoding;         // and decoding, a step: none of it is hidden
    TimeBySize synchronisation;  // of its messages
    std::int64_t bytes = 0;      // that one worker hands in, as shown to policies
    double relative_error = 0;   // as shown to policies; real gradients show theirs
    // Not empty: takes the place of `synchronisation`, whole steps as in StepTime::groups; what
    // they take longer than computing and `encoding` is communication. With a row of one machine,
    // whose GPUs send to each other, that machine alone has the codec, too.
    std::vector<GroupTime> groups = {};
};

// Of a step whose workers are kept together in another way than by S-SGD.
struct ExchangeTime {
    Synchronisation synchronisation = Synchronisation::s_sgd;
    TimeBySize times;
};

// Steps of machines with several learners on each GPU, by the batch that a machine has of one
// learner on each: what `compute` and `groups` of a StepTime are of one.
struct LearnerSteps {
    std::int32_t learners = 2;
    std::int64_t worker_batch_max = 1;
    std::vector<BatchTime> compute;
    std::vector<GroupTime> groups;
    Duration update = {};
};

struct StepTime {
    // In increasing order of batch, at least one point: straight in between; above the last, the
    // last two points' line goes on (or the time grows with the batch, if there is one); below the
    // first, its time. So a larger batch never takes less if the points say so.
    std::vector<BatchTime> compute;
    Duration update = {};  // of parameters, once a step besides `compute`
    // No step is shorter than its samples take to come: a million of them. Zero: no limit.
    Duration input_of_a_million = {};
    std::int64_t worker_batch_max = 0;  // larger batches take several micro-steps; 0: any fits
    // Straight between rows and constant outside, like every TimeBySize; but one worker alone
    // sends nothing unless a row says so. The same holds of the tables below.
    TimeBySize synchronisation;
    std::int64_t bytes = 0;         // handed in by one worker without a codec
    std::vector<CodecTime> codecs;  // each (codec, level) once
    // In increasing order of workers, straight in between, the nearest outside. Not empty: without
    // a codec the last micro-step takes this, and `synchronisation` is not looked at.
    std::vector<GroupTime> groups;
    // By the Plan's synchronisation, each once: takes the place of `synchronisation` and `groups`.
    std::vector<ExchangeTime> exchanges;
    // What a machine does with one, two, … learners on each of its GPUs, per mille of what it does
    // with one; flat beyond. `compute` is then of one learner's batch. Empty: several learners on a
    // GPU take as long as one that has all their samples.
    std::vector<std::int32_t> learner_speeds;
    // Of two, three, … learners, without a gap; beyond the last, as many samples a second as with
    // it, but no world commits a Plan with so many. Not empty: takes the place of the speeds.
    std::vector<LearnerSteps> learner_steps;
};

// The row of the Plan's codec at its level; null if it is `none` or has no row.
const CodecTime* codec_time(const StepTime& time, const Plan& plan);

// How such a step exchanges its gradients. Nothing is hidden behind its computing; of `groups`,
// only what is not hidden is known.
ExchangeView exchange_of(const StepTime& time, const Plan& plan, std::int32_t workers);

// An affine time: `fixed` + `per_sample` × batch.
std::vector<BatchTime> affine_time(Duration fixed, Duration per_sample);

// Of one step of `workers` machines under this Plan; at least a nanosecond. Integers throughout.
Duration step_of(const StepTime& time, const Plan& plan, std::int32_t workers);

}  // namespace ukemi::policies
