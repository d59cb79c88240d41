// world_transitions.cpp — from the machines that are there to the group that trains: who is in it,
// what it takes to form it, and how long each phase of that was.
#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/job/world.hpp"
#include "sim/market/lease_bill.hpp"

namespace ukemi::sim {

policies::TransitionPhase World::transition_phase() const {
    if (!change_costs_.phases_known) return policies::TransitionPhase::none;
    if (meter_.draining()) return policies::TransitionPhase::drain;
    return trainer_->transition_phase(queue_.now());
}

// A checkpoint that something waits for: a change that comes next, or a loss. Of a group that a
// loss has broken up, those that have the model save it, though they are members no more.
void World::begin_drain() {
    const Instant now = queue_.now();
    std::int32_t held_up = 0;
    for (Instance& one : fleet_.instances()) {
        one.saving = !one.member && one.started && one.has_state;
        if (one.saving) ledger_.set_alone(one.lease, now, records::Cause::checkpoint);
        if (one.saving || one.member) ++held_up;
    }
    meter_.drain_began(held_up, now);
    trainer_->begin_checkpoint(now);
}

void World::end_drain() {
    const Instant now = queue_.now();
    meter_.drain_ended(now);
    for (Instance& one : fleet_.instances()) {
        if (std::exchange(one.saving, false)) {
            ledger_.set_alone(one.lease, now, records::Cause::idle);
        }
    }
}

void World::disband() {
    const Instant now = queue_.now();
    agreeing_ = false;
    end_drain();
    if (trainer_->phase() != policies::JobPhase::finished) trainer_->stop(now);
    for (Instance& one : fleet_.instances()) {
        if (one.member) ledger_.leave(one.lease, now);
        one.member = false;
    }
}

void World::start_worker(Instance& instance) {
    instance.spawning_since = queue_.now();
    instance.started = trainer_->start(instance.id, queue_.now());
    if (!instance.started) {
        ledger_.set_alone(instance.lease, queue_.now(), records::Cause::transition);
    } else if (pipelines_) {
        pipelines_->started(instance);
    }
}

// Its worker can join from now on, or it is gone before.
void World::end_spawn(Instance& instance) {
    ledger_.set_alone(instance.lease, queue_.now(), records::Cause::idle);
    meter_.spawn_ended(instance, queue_.now());
}

void World::release(InstanceId id, bool lost) {
    Instance* instance = fleet_.find(id);
    const Instant now = queue_.now();
    const bool was_held = instance->ready;
    const ZoneId zone = instance->zone;
    if (was_held && !instance->started) end_spawn(*instance);
    const bool by_record = market_.data().notice > Duration{} && !instance->told;
    if (was_held && instance->announced() && by_record) {
        meter_.notice_ended(*instance, market_.data().notice, now);
    }
    const Instant refused_before = fleet_.spot_refused_until(zone);
    fleet_.release(id, now, ended_);
    if (pipelines_ && !lost) pipelines_->given_back(id);
    if (!ended_) zones_.await(zone, refused_before);
    if (was_held) trainer_->leave(id, lost, now);
}

// Workers that were in the group and kept their machines take a while to be members again.
void World::reattach() {
    if (change_costs_.reattach <= Duration{}) return;
    for (Instance* one : next_to_reattach(fleet_.instances(), controller_.plan().workers_max)) {
        one->detached = false;
        one->started = false;
        one->spawning_since = queue_.now();
        ledger_.set_alone(one->lease, queue_.now(), records::Cause::transition);
        queue_.schedule(queue_.now() + change_costs_.reattach, Phase::completion,
                        WorkerStarted{one->id});
    }
}

// The group that could train now. Called at step boundaries only. A group that is already right is
// left alone; one that is starting or saving first finishes that.
void World::reconcile() {
    const Instant now = queue_.now();
    const policies::JobPhase phase = trainer_->phase();
    if (ended_ || phase == policies::JobPhase::finished ||
        phase == policies::JobPhase::checkpointing)
        return;
    trainer_->report(now);
    if (controller_.finished()) {  // the last step ended at this very moment
        finish_work();
        return;
    }
    if (pipelines_) {
        pipelines_->at_boundary();
        return;
    }
    reattach();
    std::vector<Instance*> group = next_group(fleet_.instances(), controller_.plan().workers_max);
    switch (next_order(fleet_.instances(), group, rules_, {phase, restart_due_, unsaved()})) {
        case GroupOrder::none: return;
        case GroupOrder::disband: disband(); return;
        case GroupOrder::save: begin_drain(); return;
        case GroupOrder::form: form(group); return;
    }
}

void World::form(std::vector<Instance*>& group) {
    const Instant now = queue_.now();
    const Move move = move_of(market_.data(), fleet_.instances(), model_kept_at(), group);
    const bool reattaches = change_costs_.reattach > Duration{};
    for (Instance& one : fleet_.instances()) one.detached |= reattaches && one.member;
    disband();
    restart_due_ = false;
    if (rules_.whole_program) {
        forget_model();
        if (unsaved()) trainer_->roll_back();
    }
    std::ranges::sort(group, {}, [](const Instance* one) {
        return std::tuple(!one->has_state,
                          ukemi::index_of(one->id));  // who has the model ranks first
    });
    std::int32_t holders = 0;
    for (Instance* one : group) {
        ledger_.join(one->lease, now);
        one->member = true;
        one->detached = false;
        if (one->has_state) ++holders;
    }
    list_members(group);
    egress_ = in_all(egress_, move.cost);
    const Formation formation{static_cast<std::int32_t>(group.size()), holders,
                              state_held(fleet_.instances()), trainer_->samples_safe() > 0,
                              move.time};
    // Of pipelines, the meeting took as long as the change itself does.
    const TransitionCosts& costs = pipelines_ ? TransitionCosts{} : change_costs_;
    records::PhaseTimes phases = formation_times(costs, job_.profile, formation);
    if (std::exchange(drain_due_, false)) {  // the model's way is by a save
        phases[static_cast<std::size_t>(policies::TransitionPhase::transfer)] +=
            job_.profile.checkpoint;
    }
    begin_transition(phases, false);
}

void World::list_members(std::span<Instance* const> group) {
    members_ids_.clear();
    member_speeds_.clear();
    for (const Instance* one : group) {
        members_ids_.push_back(one->id);
        member_speeds_.push_back(speed_there(market_.data(), *one));
    }
}

void World::gather(std::span<Instance* const> called, const records::PhaseTimes& phases) {
    list_members(called);
    begin_transition(phases, true);  // MeetingOver comes before its end
}

void World::begin_transition(const records::PhaseTimes& phases, bool provisional) {
    TransitionOrder order{members_ids_, member_speeds_, phases};
    order.provisional = provisional;
    order.phases_told_apart = change_costs_.phases_known;
    order.workers_differ = market_.data().rules.uneven();
    order.workers_shown = order.workers_differ || !job_.profile.communication.empty() ||
                          controller_.looks_at_workers();
    trainer_->begin_transition(order, queue_.now());
}

}  // namespace ukemi::sim
