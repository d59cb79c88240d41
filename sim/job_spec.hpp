// job_spec.hpp — the job of a simulated run: its work, its rules, and what its interruptions cost.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/quantity.hpp"
#include "policies/job_profile.hpp"
#include "policies/plan.hpp"
#include "sim/event.hpp"
#include "sim/learning/learning_model.hpp"

namespace ukemi {

struct NoisePoint {  // of a curve over training; straight in between, level outside
    std::int64_t samples = 0;
    double noise_scale = 0;
};
double noise_scale_at(const std::vector<NoisePoint>& curve, std::int64_t samples);

struct JobSpec {
    Plan plan;                       // the first
    std::int32_t instances_max = 1;  // that a Plan may ask for, if more than the first does
    std::int64_t samples_total = 1;
    std::int64_t samples_per_epoch = 0;
    Instant deadline = Instant::never();
    JobProfile profile;
    std::int32_t workers_min = 1;
    std::vector<NoisePoint> noise_scale;  // what a simulated run shows as measured; may be empty
    // What a step is worth. Empty: its samples, and samples_total of them are the work. Else the
    // work ends when this says so, and the Plan's batch and learning rate may be turned.
    std::shared_ptr<const LearningModel> learning;
    // With a tick the policies are asked at its multiples only, and the end of the work is noticed
    // there; without one they are asked on events.
    Duration tick;
    // The work's end is noticed only after the policies were asked once more, so that what they
    // want then is held, and paid, for one more tick.
    bool completion_after_decision = false;
    Instant give_up_at = Instant::never();
    RunQueue::Limits limits;
};

}  // namespace ukemi
