// predictor.hpp — what a policy that must look ahead may ask: durations under another Plan.
//
// A Predictor is a pure function of a profile and of the Observations so far; predictor_choice.hpp
// has those that a scenario can choose between. An Oracle knows what is to come; a policy gets one
// only when the scenario names it, and results then say so.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.hpp"
#include "policies/observation.hpp"
#include "policies/plan.hpp"

namespace ukemi::policies {

class Predictor {
public:
    virtual ~Predictor() = default;

    // Time to train on `samples` more samples with `workers` machines and no interruption, with the
    // checkpoints that the Plan takes.
    virtual Duration work_time(std::int64_t samples, const Plan& plan,
                               std::int32_t workers) const = 0;
    // From asking for the machines of `to` until the first useful step, with those of `from` held:
    // a Plan{} holds none.
    virtual Duration transition_time(const Plan& from, const Plan& to) const = 0;
    virtual Duration checkpoint_time(const Plan& plan) const = 0;  // training stands still
    virtual Duration restore_time(const Plan& plan) const = 0;
    // Whether steps that were finished can be lost; not so where saving is free and continuous.
    virtual bool loses_work() const { return false; }
    // Of a job in pipelines of several depths: each depth, with as many pipelines as were measured.
    virtual std::vector<Layout> layouts() const { return {}; }

    // Once per question, before the policies; `plan` is the one committed.
    virtual void observe(const Observation& seen, const Plan& plan) = 0;
};

class Oracle {
public:
    virtual ~Oracle() = default;
    // For how much of [from, to) at least `count` spot instances can be held, over all zones.
    virtual Duration spot_time(Instant from, Instant to, std::int32_t count) const = 0;
};

}  // namespace ukemi::policies
