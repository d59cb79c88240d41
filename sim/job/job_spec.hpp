// job_spec.hpp — the job of a simulated run: its work, its rules, and what its interruptions cost.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/quantity.hpp"
#include "policies/job_profile.hpp"
#include "policies/plan.hpp"
#include "policies/predictor_choice.hpp"
#include "sim/engine/event.hpp"
#include "sim/job/pipelines.hpp"
#include "sim/job/transition_costs.hpp"
#include "sim/learning/learning_model.hpp"

namespace ukemi::sim {

struct NoisePoint {  // of a curve over training; straight in between, level outside
    std::int64_t samples = 0;
    double noise_scale = 0;
};
double noise_scale_at(const std::vector<NoisePoint>& curve, std::int64_t samples);

// For a while the network carries other traffic, too, and one collective is slowed down by it. All
// wait for the slowest; who does not notice the traffic measures a calm network, and then waits.
struct Interference {
    Instant from;
    Instant until;
    policies::Collective collective = policies::Collective::automatic;
    double factor = 1;                                                   // of what a step waits for
    std::int32_t noticed_by = std::numeric_limits<std::int32_t>::max();  // so many: the last ones
};

struct JobSpec {
    policies::Plan plan;             // the first
    std::int32_t instances_max = 1;  // that a Plan may ask for, if more than the first does
    std::int64_t samples_total = 1;
    std::int64_t samples_per_epoch = 0;
    bool has_epochs = false;  // somebody said how long one is; else the whole work is one
    Instant deadline = Instant::never();
    policies::JobProfile profile;
    policies::PredictorChoice predictor;        // that policies ask about the profile
    std::optional<policies::JobProfile> guess;  // that it starts from; empty: the profile
    std::int32_t workers_min = 1;
    std::vector<Interference> interference;  // on the profile's exposed communication
    std::vector<NoisePoint> noise_scale;     // what a simulated run shows as measured; may be empty
    // What a step is worth. Empty: its samples, and samples_total of them are the work. Else the
    // work ends when this says so, and the Plan's batch and learning rate may be turned.
    std::shared_ptr<const LearningModel> learning;
    // What changes of the group cost, phase by phase. Empty: the profile's restart and resize are
    // all that is known. The profile's totals are what policies expect, and agree with it.
    std::optional<TransitionCosts> transition;
    // It trains in whole pipelines, of the Plan's layout; a meeting of all takes as long as a start
    // of the group does, one among those that are well as long as growing does.
    std::optional<PipelineRules> pipelines;
    // With a tick the policies are asked at its multiples only, and the end of the work is noticed
    // there; without one they are asked on events.
    Duration tick;
    // The work's end is noticed only after the policies were asked once more, so that what they
    // want then is held, and paid, for one more tick.
    bool completion_after_decision = false;
    Instant give_up_at = Instant::never();
    RunQueue::Limits limits;
    std::int64_t launches_max = 1'000'000;  // machines asked for, over a whole run

    const policies::JobProfile& guess_at_start() const { return guess ? *guess : profile; }
    // The one answer to how long a change takes, as rate_of() is for a step.
    TransitionCosts change_costs() const {
        return transition ? *transition : undivided_costs(profile);
    }
};

}  // namespace ukemi::sim
