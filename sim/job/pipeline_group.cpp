#include "sim/job/pipeline_group.hpp"

#include <algorithm>

#include "sim/job/group_change.hpp"

namespace ukemi::sim {

PipelineGroup::PipelineGroup(const RunParts& parts, GroupKeeper& keeper)
    : parts_(parts),
      keeper_(keeper),
      pipelines_(*parts.job.pipelines),
      change_costs_(parts.job.change_costs()) {}

// As many whole pipelines as the Plan has machines for, and no more than its layout says.
policies::Layout PipelineGroup::wanted_layout() const {
    const policies::Plan& plan = parts_.controller.plan();
    policies::Layout wanted = plan.layout;
    wanted.data = std::min(wanted.data, plan.workers_max / wanted.pipeline);
    return wanted;
}

bool PipelineGroup::meeting_ends_now() const {
    return std::ranges::find(meetings_end_, parts_.queue.now()) != meetings_end_.end();
}

void PipelineGroup::carry_out(PipelineOrder order) {
    if (ended_ || parts_.trainer.phase() == policies::JobPhase::finished) return;
    switch (order) {
        case PipelineOrder::none:
        case PipelineOrder::slow_down: return;  // lost() has
        case PipelineOrder::meet_all: call_together(true); return;
        case PipelineOrder::meet_within: call_together(false); return;
        case PipelineOrder::meet_anew: call_together(called_all_); return;
        case PipelineOrder::form: form(); return;
        case PipelineOrder::stop:
            parts_.trainer.tear(parts_.queue.now());
            keeper_.disband();
            return;
    }
}

// Who joins a meeting for which nothing trains waits with the others.
void PipelineGroup::started(Instance& instance) {
    carry_out(called_at_ == parts_.queue.now() ? pipelines_.started_with_others(instance.id)
                                               : pipelines_.started(instance.id));
    if (pipelines_.called().empty() || parts_.trainer.phase() != policies::JobPhase::transition)
        return;
    parts_.ledger.set_alone(instance.lease, parts_.queue.now(), records::Cause::transition);
}

void PipelineGroup::given_back(InstanceId id) { carry_out(pipelines_.given_back(id)); }

// A meeting takes as long as the change of the group does that it leads to. Meanwhile all wait, but
// for those that the rules let train on.
void PipelineGroup::call_together(bool of_all) {
    const Instant now = parts_.queue.now();
    const bool as_simulated = pipelines_.rules().as_simulated;
    const bool trains_on = as_simulated && parts_.trainer.phase() == policies::JobPhase::running;
    if (!trains_on) keeper_.disband();
    std::vector<Instance*> called;
    for (const InstanceId id : pipelines_.called()) called.push_back(parts_.fleet.find(id));
    const auto there = std::max(static_cast<std::int32_t>(called.size()), 1);
    const records::PhaseTimes phases = phase_times(
        change_costs_, of_all ? GroupChange::start : GroupChange::grow, there, of_all ? 0 : there);
    if (!as_simulated) {  // the one before has become pointless
        parts_.queue.cancel(meeting_due_);
        meetings_end_.clear();
    }
    called_at_ = now;
    called_all_ = of_all;
    const Instant over = now + records::sum_of(phases);
    meeting_due_ = parts_.queue.schedule(over, Phase::completion, MeetingOver{of_all});
    meetings_end_.push_back(over);
    if (trains_on || called.empty()) return;
    for (const Instance* one : called) {
        parts_.ledger.set_alone(one->lease, now, records::Cause::transition);
    }
    keeper_.gather(called, phases);
}

bool PipelineGroup::met(const MeetingOver& event) {
    const Instant now = parts_.queue.now();
    meetings_end_.erase(std::ranges::find(meetings_end_, now));
    for (const Instance& one : parts_.fleet.instances()) {
        if (one.started && !one.member && !one.saving) {
            parts_.ledger.set_alone(one.lease, now, records::Cause::idle);
        }
    }
    if (parts_.trainer.phase() == policies::JobPhase::finished) return false;
    carry_out(pipelines_.met(event.of_all, wanted_layout()));
    return true;
}

void PipelineGroup::form() {
    parts_.trainer.tear(parts_.queue.now());
    std::vector<Instance*> group;
    for (const PipelineMachine& one : pipelines_.machines()) {
        if (!one.places.empty()) group.push_back(parts_.fleet.find(one.id));
    }
    keeper_.form(group);
}

void PipelineGroup::at_boundary() {
    const policies::JobPhase phase = parts_.trainer.phase();
    PipelineOrder order = PipelineOrder::none;
    if (phase == policies::JobPhase::running) order = pipelines_.stepped(wanted_layout());
    if (phase == policies::JobPhase::waiting) order = pipelines_.waited(wanted_layout());
    if (order != PipelineOrder::none) keeper_.disband();  // no further step
    carry_out(order);
}

// Who takes over from whom is tried on a copy.
Instant PipelineGroup::model_lost_at() const {
    std::vector<const Instance*> going;
    for (const Instance& one : parts_.fleet.instances()) {
        if (one.announced()) going.push_back(&one);
    }
    std::ranges::stable_sort(going, {}, [](const Instance* one) { return *one->lost_at; });
    Pipelines left = pipelines_;
    for (const Instance* one : going) {
        if (left.ends(left.lost(one->id))) return *one->lost_at;
    }
    return Instant::never();
}

PipelineOrder PipelineGroup::lost(Instance& instance) {
    const Instant now = parts_.queue.now();
    const PipelineOrder order =
        called_at_ == now ? pipelines_.lost_with_others(instance.id) : pipelines_.lost(instance.id);
    if (pipelines_.ends(order)) {
        keeper_.disband();
        return order;
    }
    const bool slowed = order == PipelineOrder::slow_down;
    if (slowed || instance.member) parts_.trainer.go_on(slowed, instance.member, now);
    if (instance.member) parts_.ledger.leave_torn(instance.lease, now);
    instance.member = false;
    return order;
}

}  // namespace ukemi::sim
