// training.hpp — how the training group of a simulated job gets on: steps, checkpoints, setbacks.
//
// Steps are not events. While nothing changes the group runs a segment at a constant rate, and
// whoever looks is told how many whole steps it has made; the cost of a run follows what happens
// to it and not how long it trains. Each segment's time goes to the ledger when it ends: up to the
// old high-water mark it is redone, beyond it useful, and what is left of a torn step is wasted.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/controller.hpp"
#include "policies/observation.hpp"
#include "records/ledger.hpp"
#include "sim/event.hpp"
#include "sim/job_spec.hpp"

namespace ukemi {

class Training {
public:
    Training(const JobSpec& job, Controller& controller, Ledger& ledger, RunQueue& queue);

    JobPhase phase() const { return phase_; }
    std::int32_t workers() const { return workers_; }
    std::int64_t samples_safe() const;  // would survive the loss of every instance
    bool unsaved() const { return controller_->samples_done() > samples_safe(); }
    Duration transition_remaining(Instant now) const;
    std::int64_t checkpoints() const { return checkpoints_; }
    std::int64_t transitions() const { return transitions_; }

    // Tells the Controller the steps made so far. Cheap; call it before anybody looks.
    void report(Instant now);
    // Now, or the end of the step in progress.
    Instant next_step_boundary(Instant now) const;

    // Ends what the group is doing. A step in progress is torn unless `now` is a step boundary.
    // The group's time is in the ledger afterwards, so membership may change.
    void stop(Instant now);
    void begin_transition(std::int32_t workers, Duration time, Instant now);
    void begin_running(Instant now);  // with the workers of the transition, or as before
    void begin_checkpoint(Instant now);
    // A checkpoint as late as it can be and still be over a second before `deadline`; none if it
    // is too late for that.
    void save_before(Instant deadline, Instant now);
    void finish_checkpoint(Instant now);  // the state it began with is safe; not running yet
    void finish(Instant now);
    // Every copy of the model is gone: back to the last checkpoint.
    void roll_back();

private:
    void settle(Instant now);
    void settle_steps(Instant now);

    const JobSpec* job_;
    Controller* controller_;
    Ledger* ledger_;
    RunQueue* queue_;
    JobPhase phase_ = JobPhase::waiting;
    std::int32_t workers_ = 0;

    Instant since_;  // the beginning of the segment, or of the transition
    Instant until_;  // the end of a transition or checkpoint
    StepRate rate_;
    std::int64_t steps_reported_ = 0;  // of this segment
    RunQueue::Ticket due_;             // the end of the work, of a transition or of a checkpoint
    RunQueue::Ticket checkpoint_due_;

    std::int64_t samples_at_start_ = 0;  // of this segment
    std::int64_t samples_high_ = 0;      // most that were ever done: below it, work is redone
    std::int64_t high_at_start_ = 0;     // the same when this segment began
    std::int64_t samples_safe_ = 0;
    std::int64_t steps_safe_ = 0;
    Duration run_since_checkpoint_;
    std::int64_t checkpoints_ = 0;
    std::int64_t transitions_ = 0;
};

}  // namespace ukemi
