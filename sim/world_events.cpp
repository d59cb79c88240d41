// world_events.cpp — what each event does to the world. Events that come too late for what they
// were about (a boundary of a run that is over) do nothing.
#include <algorithm>

#include "sim/world.hpp"

namespace ukemi {

void World::handle(const CapacityChanged& event) {
    const Instant now = queue_.now();
    market_.advance_capacity(event.zone);
    const Instant next = market_.capacity_changes_at(event.zone);
    if (next < Instant::never()) queue_.schedule(next, Phase::environment, CapacityChanged{event});
    const std::int32_t announced_count = fleet_.revoke_excess(event.zone, now);
    if (announced_count > 0 && market_.data().notice > Duration{}) {
        note(EventKind::revocation_notice);
        save_before_loss();
    }
    if (!closing_) acquire();
    if (fleet_unsettled()) schedule_boundary();
    note(EventKind::capacity_changed);
    record_timeline();
}

void World::handle(const PriceChanged& event) {
    market_.advance_price(event.zone, queue_.now());
    const Instant next = market_.price_changes_at(event.zone);
    if (next < Instant::never()) queue_.schedule(next, Phase::environment, PriceChanged{event});
    note(EventKind::price_changed);
    record_timeline();
}

void World::handle(const InstanceReady& event) {
    const Instant now = queue_.now();
    Instance* instance = fleet_.find(event.instance);
    INVARIANT(instance != nullptr);
    fleet_.became_ready(*instance, now);
    schedule_boundary();  // others may become ready at this very moment
    note(EventKind::instances_ready);
    record_timeline();
}

void World::handle(const InstanceLost& event) {
    const Instant now = queue_.now();
    const Instance* instance = fleet_.find(event.instance);
    INVARIANT(instance != nullptr);
    const bool had_state = instance->has_state;
    training_.report(now);
    if (controller_.finished() && training_.phase() == JobPhase::running) finish_work();
    if (ended_) return;  // the work was done at this very moment
    const bool saving = training_.phase() == JobPhase::checkpointing;
    if (instance->member || (saving && had_state)) disband();
    fleet_.release(event.instance, now);
    if (had_state && job_.profile.sharded) {
        for (Instance& one : fleet_.instances()) one.has_state = false;
    }
    if (!state_held() && training_.unsaved() && training_.phase() != JobPhase::finished) {
        disband();
        training_.roll_back();
    }
    discard_pending("an instance was lost before the step boundary");
    if (!closing_) acquire();
    schedule_boundary();  // once all that is lost at this moment is gone
    note(EventKind::instances_lost);
    record_timeline();
}

void World::handle(const TransitionEnded&) {
    for (Instance& one : fleet_.instances()) one.has_state = one.member;
    resume_running();
    swap_fleets();
    reconcile();
    note(EventKind::phase_changed);
    record_timeline();
}

void World::handle(const CheckpointDue&) {
    if (training_.phase() == JobPhase::running) training_.begin_checkpoint(queue_.now());
    record_timeline();
}

void World::handle(const CheckpointEnded&) {
    const Instant now = queue_.now();
    training_.finish_checkpoint(now);
    // Those who were to leave may do so now; if the Plan has changed its mind, all go on.
    if (training_.workers() > 0) {
        resume_running();
    } else {
        training_.stop(now);
    }
    swap_fleets();
    reconcile();
    note(EventKind::phase_changed);
    record_timeline();
}

void World::handle(const WorkFinished&) {
    finish_work();
    record_timeline();
}

void World::handle(const PlanDue&) {
    training_.report(queue_.now());
    if (controller_.finished()) {
        if (training_.phase() == JobPhase::running) finish_work();
        return;
    }
    if (pending_plan_) {
        commit_at_boundary();
    } else if (training_.next_step_boundary(queue_.now()) == queue_.now()) {
        swap_fleets();
        reconcile();
    } else {
        schedule_boundary();
    }
    record_timeline();
}

void World::handle(const ClockTicked&) {
    ++ticks_;
    if (closing_) {
        end_run(true);
        return;
    }
    training_.report(queue_.now());
    if (controller_.finished()) {
        finished_at_ = queue_.now();
        if (!job_.completion_after_decision) {
            end_run(true);
            return;
        }
        closing_ = true;
    }
    queue_.schedule(queue_.now() + job_.tick, Phase::decision, ClockTicked{});
    if (!pending_plan_) ask({Hook::on_event, std::max(pending_kind_, EventKind::clock)});
    record_timeline();
}

void World::handle(const AskedAgain&) {
    ask_due_at_ = Instant::never();
    note(EventKind::clock);
}

void World::handle(const Settled&) {
    settled_scheduled_ = false;
    if (pending_plan_) return;  // the commit or the discard asks again
    ask({Hook::on_event, pending_kind_});
    schedule_ask_again();
    record_timeline();
}

void World::handle(const GaveUp&) { end_run(false); }

}  // namespace ukemi
