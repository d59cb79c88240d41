// world_events.cpp — what each event does to the world. Events that come too late for what they
// were about (a boundary of a run that is over) do nothing.
#include <algorithm>

#include "sim/job/world.hpp"

namespace ukemi::sim {

void World::heed(const ZoneNews& news) {
    if (news.announced > 0 && (news.told || market_.data().notice > Duration{})) {
        note(policies::EventKind::revocation_notice);
        save_before_loss();
    }
    if (news.gives && !closing_) acquire();
    if (news.regroups && unsettled(fleet_.instances())) trainer_->await_boundary(queue_.now());
    if (news.kind != policies::EventKind::none) note(news.kind);
    record_timeline();
}

void World::handle(const InstanceReady& event) {
    const Instant now = queue_.now();
    Instance* instance = fleet_.find(event.instance);
    if (instance == nullptr && setup_.provider != nullptr) return;  // given back meanwhile
    INVARIANT(instance != nullptr);
    fleet_.became_ready(*instance, now);
    start_worker(*instance);
    // Others may become ready at this very moment.
    if (instance->started) trainer_->await_boundary(now);
    note(policies::EventKind::instances_ready);
    record_timeline();
}

void World::handle(const InstanceLost& event) { lose(event.instance); }

// The others may have the model still; else it is saved while it can be.
void World::handle(const InstanceRecalled& event) {
    if (fleet_.find(event.instance) == nullptr) return;  // it went before
    const auto has_it = [&](const Instance& one) {
        return one.has_state && one.id != event.instance;
    };
    const bool stays = !rules_.falls_together && std::ranges::any_of(fleet_.instances(), has_it);
    trainer_->report(queue_.now());
    if (!stays && rules_.saves_first && unsaved() && !controller_.finished()) {
        trainer_->keep_all(queue_.now());
        drain_due_ = true;
    }
    lose(event.instance);
}

void World::handle(const WorkerFailed& event) {
    if (fleet_.find(event.instance) == nullptr) return;
    ++failures_;
    lose(event.instance);
}

void World::lose(InstanceId id) {
    const Instant now = queue_.now();
    Instance* instance = fleet_.find(id);
    INVARIANT(instance != nullptr);
    const bool had_state = instance->has_state;
    trainer_->report(now);
    if (controller_.finished() && trainer_->phase() == policies::JobPhase::running) finish_work();
    if (ended_) return;  // the work was done at this very moment
    const bool saving = trainer_->phase() == policies::JobPhase::checkpointing;
    PipelineOrder order = PipelineOrder::none;
    if (pipelines_) {
        order = pipelines_->lost(*instance);
    } else if (instance->member || (saving && had_state)) {
        disband();
    }
    release(id, true);
    const bool part_lost = pipelines_ ? pipelines_->ends(order) : rules_.falls_together;
    if (had_state && part_lost) forget_model();
    if (!state_held(fleet_.instances()) && unsaved() &&
        trainer_->phase() != policies::JobPhase::finished) {
        disband();
        trainer_->roll_back();
    }
    if (pipelines_) pipelines_->carry_out(order);
    // A machine that is no member takes no part in an agreement.
    if (!agreeing_) discard_pending("an instance was lost before the step boundary");
    if (!closing_) acquire();
    trainer_->await_boundary(now);  // once all that is lost at this moment is gone
    note(policies::EventKind::instances_lost);
    record_timeline();
}

void World::handle(const WorkerStarted& event) {
    Instance* instance = fleet_.find(event.instance);
    if (instance == nullptr) return;
    instance->started = true;
    end_spawn(*instance);
    if (pipelines_) pipelines_->started(*instance);
    trainer_->await_boundary(queue_.now());  // others may be there at this very moment
    note(policies::EventKind::instances_ready);
    record_timeline();
}

void World::handle(const MeetingOver& event) {
    if (!pipelines_->met(event)) return;
    note(policies::EventKind::phase_changed);
    record_timeline();
}

void World::handle(const TransitionEnded&) {
    for (Instance& one : fleet_.instances()) one.has_state = one.member;
    if (job_.profile.lossless) model_stays_where_it_is();
    resume_running();
    swap_fleets();
    reconcile();
    if (trainer_->phase() == policies::JobPhase::running) ask_step_hooks();
    note(policies::EventKind::phase_changed);
    record_timeline();
}

void World::handle(const PhaseBegan&) {
    trainer_->phase_began(queue_.now());
    record_timeline();
}

void World::handle(const CheckpointDue&) {
    if (trainer_->phase() == policies::JobPhase::running) {
        if (model_lost_at() < Instant::never()) {
            begin_drain();
        } else {
            trainer_->begin_checkpoint(queue_.now());
        }
    }
    record_timeline();
}

void World::handle(const CheckpointEnded&) {
    const Instant now = queue_.now();
    trainer_->finish_checkpoint(now);
    end_drain();
    const bool failed = unsaved();
    if (!failed) model_stays_where_it_is();
    // Those who were to leave may do so now; if the Plan has changed its mind, all go on.
    if (trainer_->workers() > 0) {
        resume_running();
    } else {
        trainer_->stop(now);
    }
    if (!failed) swap_fleets();  // else machines with the model stay until it is saved
    reconcile();
    note(policies::EventKind::phase_changed);
    record_timeline();
}

void World::handle(const WorkFinished&) {
    finish_work();
    record_timeline();
}

void World::handle(const PlanDue&) {
    if (pipelines_ && pipelines_->meeting_ends_now()) {  // which comes before the end of a step
        trainer_->await_boundary(queue_.now());
        return;
    }
    trainer_->report(queue_.now());
    if (controller_.finished()) {
        if (trainer_->phase() == policies::JobPhase::running) finish_work();
        return;
    }
    if (pending_plan_) {
        commit_at_boundary();
    } else if (trainer_->at_boundary(queue_.now())) {
        swap_fleets();
        reconcile();
    } else {
        trainer_->await_boundary(queue_.now());
    }
    record_timeline();
}

void World::handle(const ClockTicked&) {
    ++ticks_;
    if (closing_) {
        end_run(true);
        return;
    }
    trainer_->report(queue_.now());
    if (controller_.finished()) {
        finished_at_ = queue_.now();
        if (!job_.completion_after_decision) {
            end_run(true);
            return;
        }
        closing_ = true;
    }
    queue_.schedule(queue_.now() + job_.tick, Phase::decision, ClockTicked{});
    const std::int64_t plans_before = plans_;
    if (!pending_plan_)
        ask({policies::Hook::on_event, std::max(pending_kind_, policies::EventKind::clock)});
    quiet_tick_ = plans_ == plans_before && !pending_plan_;
    record_timeline();
}

void World::handle(const AskedAgain&) {
    check_questions();
    ask_due_at_ = Instant::never();
    note(policies::EventKind::clock);
}

void World::handle(const Settled&) {
    settled_scheduled_ = false;
    if (pending_plan_) return;  // the commit or the discard asks again
    ask({policies::Hook::on_event, pending_kind_});
    schedule_ask_again();
    record_timeline();
}

void World::handle(const GaveUp&) { end_run(false); }

void World::handle(const PlanAgreed&) {
    agreeing_ = false;
    if (pending_plan_) {
        const policies::Plan plan = *std::exchange(pending_plan_, std::nullopt);
        commit(plan);
    }
    go_on_after_hooks();
}

void World::handle(const StepReached&) {
    if (trainer_->phase() != policies::JobPhase::running) return;
    trainer_->report(queue_.now());
    if (pending_plan_) commit_at_boundary();  // it waited for this very boundary
    go_on_after_hooks();
}

void World::go_on_after_hooks() {
    ask_step_hooks();
    const bool all_asked = !pending_plan_ && !ended_;
    if (all_asked && trainer_->phase() == policies::JobPhase::running) resume_running();
    record_timeline();
}

}  // namespace ukemi::sim
