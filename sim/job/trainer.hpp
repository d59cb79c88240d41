// trainer.hpp — the training group of a run, as the world that owns it sees it.
//
// The world decides who belongs to the group, when it changes and when it saves; a Trainer makes
// it so and says how far it got. There are two: Training computes in virtual time what a group
// would do; a live one orders real worker processes about. What takes a real group a while is over
// when the trainer schedules the event that says so; a simulated group may be done at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "policies/observation.hpp"
#include "policies/plan.hpp"
#include "records/transition_phases.hpp"
#include "sim/job/progress.hpp"

namespace ukemi::sim {

// How far a task has been learned, where that is modelled.
struct Learned {
    double share = 0;              // of the way to the target
    std::optional<double> metric;  // accuracy or whatever else the model knows
    std::optional<double> noise_scale = std::nullopt;
};

// Where it was on the way.
struct LearnedAt {
    Instant at;
    std::int64_t samples_done = 0;
    Learned learned;
};

// A group that is to form.
struct TransitionOrder {
    std::span<const InstanceId> members;
    std::span<const std::int32_t> speeds;  // of each member, per mille of the job's profile
    records::PhaseTimes phases{};          // what they are expected to take
    bool workers_shown = false;            // in Observation::worker_views
    bool workers_differ = false;           // perhaps, by their machines' speeds
    bool phases_told_apart = false;        // PhaseBegan follows at the beginning of each but one
    bool provisional = false;              // another order follows when it is over
};

class Trainer {
public:
    virtual ~Trainer() = default;

    virtual policies::JobPhase phase() const = 0;
    virtual std::int32_t workers() const = 0;
    virtual std::int64_t samples_safe() const = 0;  // would survive the loss of every instance
    virtual Duration transition_remaining(Instant now) const = 0;
    virtual policies::TransitionPhase transition_phase(Instant) const {
        return policies::TransitionPhase::none;
    }
    virtual records::PhaseCosts phase_costs() const { return {}; }  // of transitions, so far
    virtual std::int64_t checkpoints() const = 0;
    virtual std::int64_t transitions() const = 0;
    virtual StepsMade steps_made() const = 0;
    virtual std::optional<Learned> learned() const { return std::nullopt; }
    // Since the last report and before `until`, if nothing happens before: where what is learned
    // bends, so that lines between these points and the reports are the way that it went.
    virtual std::vector<LearnedAt> learned_on_the_way(Instant) const { return {}; }
    // Over all bits of what was learned and how; where it is part of the run's fingerprint.
    virtual std::optional<std::uint64_t> model_digest() const { return std::nullopt; }
    virtual void observe(policies::Observation& seen) const = 0;  // loss, gradient, workers' views

    // Tells the Controller the steps made so far. Cheap; call it before anybody looks.
    virtual void report(Instant now) = 0;
    // No step is in progress and nothing is under way that has to end first: the group may change
    // its Plan or its members now. If not, await_boundary() has PlanDue follow when it is so.
    virtual bool at_boundary(Instant now) const = 0;
    virtual void await_boundary(Instant now) = 0;
    // A machine is gone and those that train go on without it; in pipelines perhaps more slowly
    // from now on, until the next transition. Members' time is in the ledger up to the last
    // boundary.
    virtual void go_on(bool, bool, Instant) {}
    // Ends a step in progress for good, also one that ends at this very moment; stop() follows.
    virtual void tear(Instant) {}

    // At a boundary: has every member take over the next Plan. True if they have; otherwise they
    // are asked, and PlanAgreed follows unless a member is lost before.
    virtual bool agree(const policies::Plan& next, Instant now) = 0;

    // Ends what the group is doing. A step in progress is torn unless `now` is a step boundary.
    // The group's time is in the ledger afterwards, so membership may change.
    virtual void stop(Instant now) = 0;
    // TransitionEnded follows. The group will be as fast as its slowest member.
    virtual void begin_transition(const TransitionOrder& order, Instant now) = 0;
    virtual void phase_began(Instant) {}
    virtual void begin_running(
        Instant now) = 0;  // with the workers of the transition, or as before
    virtual void begin_checkpoint(Instant now) = 0;  // CheckpointEnded follows
    // A checkpoint as late as it can be and still be over a second before `deadline`; none if it
    // is too late for that.
    virtual void save_before(Instant deadline, Instant now) = 0;
    virtual void finish_checkpoint(Instant now) = 0;  // what it saved is safe; not running yet
    virtual void finish(Instant now) = 0;
    // The run is over, whether or not the work is done: the last chance to keep what was learned,
    // while the machines are still held.
    virtual void end(Instant) {}
    // What was finished until now is safe, as if it had been saved before: it takes no time here.
    virtual void keep_all(Instant) {}
    // Every copy of the model is gone: back to the last checkpoint.
    virtual void roll_back() = 0;

    // Machines. start: true if the worker on it can join a group at once; else WorkerStarted
    // follows. leave: the machine is gone (lost) or is given back; its worker is no member.
    virtual bool start(InstanceId instance, Instant now) = 0;
    virtual void leave(InstanceId instance, bool lost, Instant now) = 0;

    // Before each event: waits for the moment at which the next one is due, or for something that
    // is scheduled meanwhile. False if nothing can happen any more.
    virtual bool wait(std::optional<Instant> next_due) = 0;
};

}  // namespace ukemi::sim
