// crew_group.cpp — the group that trains: its steps, its holds, and how a loss is settled.
//
// A step is committed when every member has reported it. When the group breaks, every survivor is
// asked where it stands; what all of them have done is committed then, whether or not the lost one
// had said so, and nothing that was committed can be undone by anybody.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/invariant.hpp"
#include "runtime/crew_state.hpp"

namespace ukemi::runtime {

bool Crew::State::is_member(InstanceId id) const {
    return std::find(group.members.begin(), group.members.end(), id) != group.members.end();
}

std::vector<InstanceId> Crew::State::survivors() {
    std::vector<InstanceId> alive_members;
    for (const InstanceId id : group.members) {
        if (alive(id)) alive_members.push_back(id);
    }
    return alive_members;
}

void Crew::State::step_finished(InstanceId id, const StepFinished& message) {
    if (message.epoch != group.epoch || !is_member(id)) return;
    Worker& worker = *find(id);
    const std::int64_t samples =
        policies::samples_per_step(group.plan, static_cast<std::int32_t>(group.members.size()));
    const std::int64_t expected = group.position + (message.step - group.step + 1) * samples;
    if (message.step != worker.step || message.position != expected) {
        condemn(id, fmt::format("it reported step {} up to sample {}, expected step {} up to {}",
                                message.step, message.position, worker.step, expected));
        return;
    }
    worker.step = message.step + 1;
    worker.can_undo = true;
    worker.activity.phase = WorkerPhase::computing;  // as far as is known
    worker.activity.step = worker.step;
    if (message.report && message.step >= group.step) {
        group.past[message.step] = {message.step, message.position, *message.report};
    }
    if (group.phase == GroupPhase::training) commit_steps();
}

void Crew::State::commit_steps() {
    std::int64_t done = group.limit;
    for (const InstanceId id : group.members) done = std::min(done, find(id)->step);
    while (group.step < done) commit_step(group.step);
}

void Crew::State::commit_step(std::int64_t step) {
    const std::int64_t samples =
        policies::samples_per_step(group.plan, static_cast<std::int32_t>(group.members.size()));
    StepDone done{step, group.position + samples, {}, Clock::now()};
    const auto found = group.past.find(step);
    // Only lost members may have had it, after a silence of thousands of steps.
    done.report.samples = samples;
    if (found != group.past.end()) done.report = std::move(found->second.report);
    group.past.erase(group.past.begin(), group.past.upper_bound(step));
    group.step = step + 1;
    group.position += samples;
    events.push_back(std::move(done));
    if (std::exchange(group.first_step_done, true)) return;
    // Those who stayed behind had the state until now.
    for (auto& [id, worker] : workers) {
        if (!is_member(id)) worker.holds_state = false;
    }
}

void Crew::State::standing(InstanceId id, const Standing& message) {
    if (message.epoch != group.epoch || !is_member(id)) return;
    Worker& worker = *find(id);
    worker.standing_order = message.order;
    worker.standing_step = message.step;
    worker.activity.phase = WorkerPhase::standing;
    worker.activity.step = message.step;
    if (group.phase == GroupPhase::training) check_standing();
}

void Crew::State::check_standing() {
    for (const InstanceId id : group.members) {
        if (find(id)->standing_order != group.order) return;
    }
    for (const InstanceId id : group.members) {
        const std::int64_t step = find(id)->standing_step;
        if (step == group.step) continue;
        condemn(id,
                fmt::format("it stands before step {}, the others before {}", step, group.step));
        return;
    }
    group.phase = GroupPhase::held;
    group.holds_done = group.hold;
    events.push_back(GroupHeld{group.step});
}

void Crew::State::send_run(std::int64_t limit) {
    group.phase = GroupPhase::training;
    group.limit = limit;
    ++group.order;
    const std::vector<InstanceId> members = group.members;
    for (const InstanceId id : members) {
        tell(id, Run{group.epoch, group.order, limit, group.holds_done});
    }
}

void Crew::State::step_failed(InstanceId id, const StepFailed& message) {
    if (message.epoch != group.epoch || !is_member(id)) return;
    if (message.suspect >= 0 && static_cast<std::size_t>(message.suspect) < group.members.size()) {
        ++group.suspected[group.members[static_cast<std::size_t>(message.suspect)]];
    }
    if (message.plan_disagreement && message.plan_digest != group.plan_digest) {
        condemn(id, fmt::format("it computed step {} under another Plan", message.step));
        return;
    }
    const auto outcome = kernels::outcome_names()[static_cast<std::size_t>(message.outcome)];
    break_group(fmt::format("step {} failed ({})", message.step, outcome), false);
}

// `somebody_died`: then it is known why; else the culprit must show within a heartbeat.
void Crew::State::break_group(std::string complaint, bool somebody_died) {
    if (group.phase == GroupPhase::none) return;
    if (somebody_died) group.culprit_due.reset();
    if (group.phase == GroupPhase::broken) return;
    const Moment now = Clock::now();
    group.phase = GroupPhase::broken;
    group.complaint = std::move(complaint);
    group.inquiry = ++inquiries;
    group.answers_due = now + setup.deadlines.collective;
    if (!somebody_died) group.culprit_due = now + setup.deadlines.heartbeat * 5 / 4;
    for (const InstanceId id : survivors()) {
        tell(id, Abandon{group.epoch, group.inquiry, group.step});
    }
}

void Crew::State::status(InstanceId id, const Status& message) {
    Worker& worker = *find(id);
    if (message.inquiry != group.inquiry || !is_member(id)) return;
    worker.answered = message.inquiry;
    worker.holds_state = message.has_state;
    worker.step = message.step;
    worker.can_undo = message.can_undo;
    for (const PastStep& step : message.past) group.past.try_emplace(step.step, step);
    settle();
    progress_attempt();
}

bool Crew::State::settled() {
    if (group.phase != GroupPhase::broken) return true;
    const std::vector<InstanceId> asked = survivors();
    return std::all_of(asked.begin(), asked.end(),
                       [&](InstanceId id) { return find(id)->answered == group.inquiry; });
}

void Crew::State::settle() {
    if (group.phase != GroupPhase::broken || !settled()) return;
    group.answers_due = Moment::max();
    // Members of a transition are about to stand where the group was committed; see choose_base.
    if (attempt && attempt->stage != Stage::settling) return;
    std::optional<std::int64_t> step;
    for (const InstanceId id : survivors()) {
        const Worker& worker = *find(id);
        if (worker.holds_state) step = std::min(step.value_or(worker.step), worker.step);
    }
    while (step && group.step < *step) commit_step(group.step);
}

// All hearts beat, and still the group does not get on.
void Crew::State::find_culprit(Moment now) {
    const bool answers_overdue = now >= group.answers_due;
    const bool culprit_overdue = group.culprit_due && now >= *group.culprit_due;
    if (!answers_overdue && !culprit_overdue) return;
    std::vector<InstanceId> silent;
    for (const InstanceId id : survivors()) {
        if (find(id)->answered != group.inquiry) silent.push_back(id);
    }
    for (const InstanceId id : silent) {
        condemn(id, fmt::format("it does not let go of its step; {}", sentence(*find(id))));
    }
    if (answers_overdue) group.answers_due = Moment::max();
    if (!silent.empty() || !group.culprit_due) return;
    group.culprit_due.reset();
    // The one that has come least far is the one that the others waited for.
    const auto progress = [&](InstanceId id) {
        const Worker& worker = *find(id);
        const auto votes = group.suspected.find(id);
        return std::tuple(worker.activity.step, worker.activity.collectives,
                          votes == group.suspected.end() ? 0 : -votes->second);
    };
    const std::vector<InstanceId> all = survivors();
    if (all.empty()) return;
    const InstanceId culprit = *std::min_element(
        all.begin(), all.end(),
        [&](InstanceId left, InstanceId right) { return progress(left) < progress(right); });
    condemn(culprit, fmt::format("{}, and the others waited for it; {}", group.complaint,
                                 sentence(*find(culprit))));
}

void Crew::State::saved(InstanceId id, const Saved& message) {
    if (!saving || saving->worker != id || saving->number != message.number) return;
    events.push_back(CheckpointSaved{message.step, message.position, message.bytes, saving->file,
                                     std::chrono::nanoseconds(message.time_ns)});
    std::erase(checkpoints, saving->file);
    checkpoints.push_back(saving->file);
    saving.reset();
    constexpr std::size_t kept = 2;
    while (checkpoints.size() > kept) {
        std::error_code ignored;  // one file too many harms nobody
        std::filesystem::remove(checkpoints.front(), ignored);
        checkpoints.erase(checkpoints.begin());
    }
}

void Crew::State::not_saved(const std::string& why) {
    saving.reset();
    events.push_back(CheckpointFailed{why});
}

}  // namespace ukemi::runtime
