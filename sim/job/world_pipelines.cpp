// world_pipelines.cpp — carries out what pipelines.hpp orders: meetings, takeovers, new places.
#include <algorithm>

#include "sim/job/world.hpp"

namespace ukemi::sim {

// As many whole pipelines as the Plan has machines for, and no more than its layout says.
policies::Layout World::wanted_layout() const {
    policies::Layout wanted = controller_.plan().layout;
    wanted.data = std::min(wanted.data, controller_.plan().workers_max / wanted.pipeline);
    return wanted;
}

bool World::meeting_ends_now() const {
    return std::ranges::find(meetings_end_, queue_.now()) != meetings_end_.end();
}

void World::carry_out(PipelineOrder order) {
    if (ended_ || trainer_->phase() == policies::JobPhase::finished) return;
    switch (order) {
        case PipelineOrder::none:
        case PipelineOrder::slow_down: return;  // lose_place() has
        case PipelineOrder::meet_all: call_together(true); return;
        case PipelineOrder::meet_within: call_together(false); return;
        case PipelineOrder::form: form_pipelines(); return;
        case PipelineOrder::stop:
            trainer_->tear(queue_.now());
            disband();
            return;
    }
}

// Who joins a meeting for which nothing trains waits with the others.
void World::join_pipelines(Instance& instance) {
    carry_out(pipelines_->started(instance.id));
    if (pipelines_->called().empty() || trainer_->phase() != policies::JobPhase::transition) return;
    ledger_.set_alone(instance.lease, queue_.now(), records::Cause::transition);
}

// A meeting takes as long as the change of the group does that it leads to. Meanwhile all wait, but
// for those that the rules let train on.
void World::call_together(bool of_all) {
    const Instant now = queue_.now();
    const bool as_simulated = pipelines_->rules().as_simulated;
    const bool trains_on = as_simulated && trainer_->phase() == policies::JobPhase::running;
    if (!trains_on) disband();
    std::vector<Instance*> called;
    for (const InstanceId id : pipelines_->called()) called.push_back(fleet_.find(id));
    const auto there = std::max(static_cast<std::int32_t>(called.size()), 1);
    const records::PhaseTimes phases = phase_times(
        change_costs_, of_all ? GroupChange::start : GroupChange::grow, there, of_all ? 0 : there);
    if (!as_simulated) {  // the one before has become pointless
        queue_.cancel(meeting_due_);
        meetings_end_.clear();
    }
    const Instant over = now + records::sum_of(phases);
    meeting_due_ = queue_.schedule(over, Phase::completion, MeetingOver{of_all});
    meetings_end_.push_back(over);
    if (trains_on || called.empty()) return;
    for (const Instance* one : called) {
        ledger_.set_alone(one->lease, now, records::Cause::transition);
    }
    list_members(called);
    begin_transition(phases, true);  // MeetingOver comes before its end
}

void World::handle(const MeetingOver& event) {
    meetings_end_.erase(std::ranges::find(meetings_end_, queue_.now()));
    for (const Instance& one : fleet_.instances()) {
        if (one.started && !one.member) {
            ledger_.set_alone(one.lease, queue_.now(), records::Cause::idle);
        }
    }
    if (trainer_->phase() == policies::JobPhase::finished) return;
    carry_out(pipelines_->met(event.of_all, wanted_layout()));
    note(policies::EventKind::phase_changed);
    record_timeline();
}

void World::form_pipelines() {
    trainer_->tear(queue_.now());
    std::vector<Instance*> group;
    for (const PipelineMachine& one : pipelines_->machines()) {
        if (!one.places.empty()) group.push_back(fleet_.find(one.id));
    }
    form(group);
}

void World::settle_pipelines() {
    const policies::JobPhase phase = trainer_->phase();
    PipelineOrder order = PipelineOrder::none;
    if (phase == policies::JobPhase::running) order = pipelines_->stepped(wanted_layout());
    if (phase == policies::JobPhase::waiting) order = pipelines_->waited(wanted_layout());
    if (order != PipelineOrder::none) disband();  // no further step
    carry_out(order);
}

// Who takes over from whom is tried on a copy.
Instant World::model_lost_at() const {
    if (!pipelines_) return state_lost_at(fleet_.instances(), rules_);
    std::vector<const Instance*> going;
    for (const Instance& one : fleet_.instances()) {
        if (one.announced()) going.push_back(&one);
    }
    std::ranges::stable_sort(going, {}, [](const Instance* one) { return *one->lost_at; });
    Pipelines left = *pipelines_;
    for (const Instance* one : going) {
        if (left.ends(left.lost(one->id))) return *one->lost_at;
    }
    return Instant::never();
}

// What its neighbour can take over does not end the step in progress.
PipelineOrder World::lose_place(Instance& instance) {
    const PipelineOrder order = pipelines_->lost(instance.id);
    const Instant now = queue_.now();
    if (pipelines_->ends(order)) {
        disband();
        return order;
    }
    const bool slowed = order == PipelineOrder::slow_down;
    if (slowed || instance.member) trainer_->go_on(slowed, instance.member, now);
    if (instance.member) ledger_.leave_torn(instance.lease, now);
    instance.member = false;
    return order;
}

}  // namespace ukemi::sim
