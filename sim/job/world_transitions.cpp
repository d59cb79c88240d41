// world_transitions.cpp — from the machines that are there to the group that trains: who is in it,
// what it takes to form it, and how long each phase of that was.
#include <algorithm>
#include <tuple>

#include "sim/job/world.hpp"

namespace ukemi::sim {

policies::TransitionPhase World::transition_phase() const {
    if (!job_.transition) return policies::TransitionPhase::none;
    if (drain_since_) return policies::TransitionPhase::drain;
    return trainer_->transition_phase(queue_.now());
}

// A checkpoint that something waits for: a change that comes next, or a loss.
void World::begin_drain() {
    drain_since_ = queue_.now();
    drain_workers_ = trainer_->workers();
    trainer_->begin_checkpoint(queue_.now());
}

void World::end_drain() {
    if (!drain_since_) return;
    const Duration time = queue_.now() - *std::exchange(drain_since_, std::nullopt);
    records::PhaseCost& cost = records::cost_of(phase_costs_, policies::TransitionPhase::drain);
    ++cost.count;
    cost.standstill += time;
    cost.instance_time += std::int64_t{drain_workers_} * time;
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
    if (!instance.started)
        ledger_.set_alone(instance.lease, queue_.now(), records::Cause::transition);
}

// Its worker can join from now on, or it is gone before.
void World::end_spawn(Instance& instance) {
    ledger_.set_alone(instance.lease, queue_.now(), records::Cause::idle);
    records::PhaseCost& cost = records::cost_of(phase_costs_, policies::TransitionPhase::spawn);
    ++cost.count;
    cost.instance_time += queue_.now() - instance.spawning_since;
}

void World::release(InstanceId id, bool lost) {
    Instance* instance = fleet_.find(id);
    const Instant now = queue_.now();
    const bool was_held = instance->ready;
    const ZoneId zone = instance->zone;
    if (was_held && !instance->started) end_spawn(*instance);
    if (was_held && instance->announced() && market_.data().notice > Duration{}) {
        const Duration before = std::min(market_.data().notice, instance->lost_at->since_start());
        const Instant announced_at = std::max(instance->opened, *instance->lost_at - before);
        records::PhaseCost& cost =
            records::cost_of(phase_costs_, policies::TransitionPhase::notice);
        ++cost.count;
        cost.instance_time += now - announced_at;
    }
    const Instant refused_before = fleet_.spot_refused_until(zone);
    fleet_.release(id, now, ended_);
    await_zone(zone, refused_before);
    if (was_held) trainer_->leave(id, lost, now);
}

// Workers that were in the group and kept their machines take a while to be members again.
void World::reattach() {
    if (!job_.transition || job_.transition->reattach <= Duration{}) return;
    std::int32_t places = controller_.plan().workers_max;
    for (const Instance& one : fleet_.instances()) {
        if (one.ready && !one.detached) --places;
    }
    for (Instance& one : fleet_.instances()) {
        if (!one.detached || places <= 0) continue;
        --places;
        one.detached = false;
        one.started = false;
        one.spawning_since = queue_.now();
        ledger_.set_alone(one.lease, queue_.now(), records::Cause::transition);
        queue_.schedule(queue_.now() + job_.transition->reattach, Phase::completion,
                        WorkerStarted{one.id});
    }
}

// Those that are there, members first, those without a notice before those with one.
std::vector<Instance*> World::next_group() {
    std::vector<Instance*> group;
    for (Instance& one : fleet_.instances()) {
        if (one.started && !one.detached) group.push_back(&one);
    }
    const auto most = static_cast<std::size_t>(controller_.plan().workers_max);
    if (group.size() <= most) return group;
    std::ranges::sort(group, {}, [](const Instance* one) {
        return std::tuple(!one->member, one->announced(), ukemi::index_of(one->id));
    });
    // Somebody has to bring the model, however soon it leaves.
    const auto end = group.begin() + static_cast<std::ptrdiff_t>(most);
    const auto holder = std::ranges::find_if(group, &Instance::has_state);
    if (holder != group.end() && holder >= end) std::iter_swap(end - 1, holder);
    group.resize(most);
    return group;
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
    reattach();
    std::vector<Instance*> group = next_group();
    const auto members = std::ranges::count_if(fleet_.instances(), &Instance::member);
    const bool enough = std::ssize(group) >= rules_.workers_min;
    const bool unchanged =
        std::ssize(group) == members && std::ranges::all_of(group, &Instance::member);
    if (!enough) {
        if (members > 0) disband();
        return;
    }
    if (unchanged && phase != policies::JobPhase::waiting && !restart_due_) return;
    if (phase == policies::JobPhase::transition) return;
    if (rules_.whole_program && rules_.saves_first && phase == policies::JobPhase::running &&
        unsaved()) {
        begin_drain();  // the change comes after it
        return;
    }
    form(group);
}

void World::form(std::vector<Instance*>& group) {
    const Instant now = queue_.now();
    const Move move = move_of(group);
    const bool reattaches = job_.transition && job_.transition->reattach > Duration{};
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
    members_ids_.clear();
    member_speeds_.clear();
    std::int32_t holders = 0;
    for (Instance* one : group) {
        ledger_.join(one->lease, now);
        one->member = true;
        one->detached = false;
        if (one->has_state) ++holders;
        members_ids_.push_back(one->id);
        const ZoneData& zone = market_.data().zones[ukemi::index_of(one->zone)];
        const std::int64_t speed = std::int64_t{zone.speed_per_mille} * one->speed_per_mille / 1000;
        constexpr std::int64_t most = 1'000'000'000;
        member_speeds_.push_back(
            static_cast<std::int32_t>(std::clamp<std::int64_t>(speed, 1, most)));
    }
    egress_ = in_all(egress_, move.cost);
    TransitionOrder order{members_ids_, member_speeds_, phases_of(holders, move.time)};
    order.phases_told_apart = job_.transition.has_value();
    order.workers_differ = market_.data().rules.uneven();
    order.workers_shown = order.workers_differ || !job_.profile.communication.empty() ||
                          controller_.looks_at_workers();
    trainer_->begin_transition(order, now);
}

// Of the group in members_ids_.
records::PhaseTimes World::phases_of(std::int32_t holders, Duration move_time) const {
    const auto size = static_cast<std::int32_t>(members_ids_.size());
    const bool survivors = state_held(fleet_.instances());
    records::PhaseTimes times{};
    if (job_.transition) {
        const GroupChange change = !survivors       ? GroupChange::start
                                   : holders < size ? GroupChange::grow
                                                    : GroupChange::shrink;
        times = phase_times(*job_.transition, change, size, holders);
    } else {
        times[static_cast<std::size_t>(policies::TransitionPhase::rendezvous)] =
            survivors ? job_.profile.resize : job_.profile.restart;
    }
    Duration& transfer = times[static_cast<std::size_t>(policies::TransitionPhase::transfer)];
    if (!survivors && trainer_->samples_safe() > 0 && !job_.profile.lossless) {
        transfer += job_.profile.restore;
    }
    transfer += move_time;
    return times;
}

records::PhaseCosts World::all_phase_costs() const {
    records::PhaseCosts sum = trainer_->phase_costs();
    for (std::size_t phase = 0; phase < sum.size(); ++phase) {
        sum[phase].count += phase_costs_[phase].count;
        sum[phase].standstill += phase_costs_[phase].standstill;
        sum[phase].instance_time += phase_costs_[phase].instance_time;
    }
    return sum;
}

}  // namespace ukemi::sim
