// training.hpp — how the training group of a simulated job gets on: steps, checkpoints, setbacks.
//
// Steps are not events. While nothing changes the group runs a segment at a constant rate, and
// a caller that asks is told how many whole steps it has made; the cost of a run follows what
// happens to it and not how long it trains. Each segment's time goes to the ledger when it ends: up
// to the old high-water mark it is redone, beyond it useful, and what is left of a torn step is
// wasted.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policies/controller.hpp"
#include "policies/observation.hpp"
#include "records/ledger.hpp"
#include "sim/engine/event.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/job/trainer.hpp"

namespace ukemi::sim {

class Training final : public Trainer {
public:
    // The seed is for the luck of a task that is learned; others draw nothing.
    Training(const JobSpec& job, policies::Controller& controller, records::Ledger& ledger,
             RunQueue& queue, std::uint64_t seed = 0);

    policies::JobPhase phase() const override { return phase_; }
    std::int32_t workers() const override { return workers_; }
    std::int64_t samples_safe() const override;
    Duration transition_remaining(Instant now) const override;
    policies::TransitionPhase transition_phase(Instant now) const override;
    records::PhaseCosts phase_costs() const override { return phase_costs_; }
    std::int64_t checkpoints() const override { return progress_.checkpoints(); }
    std::int64_t transitions() const override { return transitions_; }
    StepsMade steps_made() const override { return progress_.made(); }
    std::optional<Learned> learned() const override;
    std::vector<LearnedAt> learned_on_the_way(Instant until) const override;
    std::optional<std::uint64_t> model_digest() const override;
    void observe(policies::Observation& seen) const override;

    void report(Instant now) override;
    bool at_boundary(Instant now) const override { return next_step_boundary(now) == now; }
    void await_boundary(Instant now) override;
    bool agree(const policies::Plan&, Instant) override { return true; }

    void go_on(bool slowed, bool member_gone, Instant now) override;
    void tear(Instant now) override;
    void stop(Instant now) override;
    void begin_transition(const TransitionOrder& order, Instant now) override;
    void phase_began(Instant now) override;
    void begin_running(Instant now) override;
    void begin_checkpoint(Instant now) override;
    void save_before(Instant deadline, Instant now) override;
    void finish_checkpoint(Instant now) override;
    void finish(Instant now) override;
    void keep_all(Instant now) override;
    void roll_back() override;

    bool start(InstanceId instance, Instant now) override;
    void leave(InstanceId, bool, Instant) override {}
    bool wait(std::optional<Instant> next_due) override { return next_due.has_value(); }

private:
    void settle(Instant now);
    void settle_whole_steps();
    void take_back_step(Instant now);
    void run_from(Instant since, Duration first_step);
    Instant next_step_boundary(Instant now) const;  // now, or the end of the step in progress
    void cancel_what_is_due();
    Duration computing_in(Duration step) const;
    void observe_workers(policies::Observation& seen) const;
    Duration communication_at(Instant now, std::int32_t after_him = 0) const;
    policies::StepRate pace() const;
    std::optional<std::int64_t> steps_to_other_pace(Instant now) const;
    LearningStep step_settings() const;
    Learned shown(const LearningState& state, const LearningStep& step) const;
    void show_what_is_left();
    LookAhead look_ahead(std::int64_t samples_left, std::int64_t most) const;
    bool unsaved() const { return controller_->samples_done() > samples_safe(); }

    const JobSpec* job_;
    policies::Controller* controller_;
    records::Ledger* ledger_;
    RunQueue* queue_;
    policies::JobPhase phase_ = policies::JobPhase::waiting;
    std::int32_t workers_ = 0;
    std::int32_t workers_formed_ = 0;      // with which the group began: whose pace it has
    bool slowed_ = false;                  // somebody computes two stages of a pipeline
    std::int32_t speed_per_mille_ = 1000;  // of the slowest
    std::vector<std::pair<InstanceId, std::int32_t>> members_;  // and their speeds, if shown
    bool parts_known_ = false;                                  // of a step of theirs

    Instant since_;  // the beginning of the segment, or of the transition
    Instant until_;  // the end of a transition or checkpoint
    Segment segment_;
    Progress progress_;
    Duration communication_;           // of each step of this segment
    std::int64_t steps_reported_ = 0;  // of this segment
    records::PhaseTimes phases_{};     // of the transition
    records::PhaseCosts phase_costs_{};
    RunQueue::Ticket phase_due_;
    RunQueue::Ticket due_;  // the end of the work, of a transition or of a checkpoint
    RunQueue::Ticket checkpoint_due_;
    RunQueue::Ticket hook_due_;      // the next step that policies or the learning model look at
    RunQueue::Ticket boundary_due_;  // that somebody waits for

    std::shared_ptr<const LearningModel> learning_;  // empty: samples are what counts
    Members ranks_;                                  // of the group, for the learning model
    LearningStep step_;                              // of this segment
    LearningState learned_at_start_;                 // of this segment
    LearningState learned_;
    LearningState learned_safe_;

    std::int64_t transitions_ = 0;
};

}  // namespace ukemi::sim
