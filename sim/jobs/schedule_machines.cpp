// schedule_machines.cpp — what becomes of jobs when machines are announced, taken, or come.
#include <algorithm>

#include "sim/jobs/schedule_engine.hpp"

namespace ukemi::sim {

void ScheduleRun::see_machines() {
    facts_.states = machines_.states(now_);
    if (moves_) {
        facts_.away.assign(static_cast<std::size_t>(workload_.cluster.machines()), false);
        for (std::int32_t i = 0; i < workload_.cluster.machines(); ++i) {
            facts_.away[static_cast<std::size_t>(i)] = !machines_.stays(i);
        }
    }
    facts_.gpus = 0;
    for (std::size_t i = 0; i < facts_.groups.size(); ++i) facts_.gpus += facts_.gpus_of(i);
}

void ScheduleRun::change_machines() {
    if (!moves_ || machines_.next_change() > now_) return;
    const SharedMachines::Changes changes = machines_.take(now_);
    for (const std::int32_t machine : changes.announced) {
        holdings_.close(machine);
        tell_controlled_on(machine);
        if (!has_rounds()) tell_those_on(machine);
    }
    for (const std::int32_t machine : changes.lost) {
        gone_from_controlled(machine);
        lose(machine);
    }
    for (const std::int32_t machine : changes.come) holdings_.open(machine, now_);
    see_machines();
    if (changes.prices) tell_prices();
    machines_changed_ = true;
}

bool ScheduleRun::all_stay(const HeldShare& held) const {
    return std::ranges::all_of(
        held.machines, [&](const GpusOnMachine& some) { return machines_.stays(some.machine); });
}

std::vector<ScheduleRun::JobId> ScheduleRun::jobs_on(std::int32_t machine) const {
    std::vector<JobId> jobs;
    for (const JobId job : running_) {
        if (!live_.is_live(job)) continue;
        const auto& machines = live_[job].held.machines;
        if (std::ranges::count(machines, machine, &GpusOnMachine::machine) > 0) jobs.push_back(job);
    }
    return jobs;
}

bool ScheduleRun::can_save(JobId job, std::int32_t machine) const {
    const auto group = static_cast<std::size_t>(holdings_.group_with(machine));
    const Duration notice = workload_.cluster.markets[group].notice;
    return notice > Duration{} && notice >= asked(job).saves.takes;
}

// Those who cannot save in time lose now what they would lose then, and are moved now.
void ScheduleRun::tell_those_on(std::int32_t machine) {
    std::int64_t hit = 0;
    for (const JobId job : jobs_on(machine)) {
        if (can_save(job, machine)) continue;
        note_reached(job);
        live_[job].work->lose(now_, false);
        ++live_[job].outcome.losses;
        ++hit;
    }
    outcome_.shared_losses += hit > 1 ? 1 : 0;
}

void ScheduleRun::lose(std::int32_t machine) {
    std::int64_t hit = 0;
    for (const JobId job : jobs_on(machine)) {
        LiveJob& one = live_[job];
        const Instant end = has_rounds() ? one.work->advance(now_) : Instant::never();
        if (end <= now_) {
            one.ended_at = end;
            take_away(job, end);
            continue;
        }
        ++hit;
        if (has_rounds()) {
            note_reached(job);
            one.work->lose(now_, can_save(job, machine));
            ++one.outcome.losses;
        }
        stop(job, now_);
    }
    if (has_rounds()) outcome_.shared_losses += hit > 1 ? 1 : 0;
    holdings_.gone(machine, now_);
}

// A Controller's job ends by its own give_up_after, and of a world nobody knows what it brings.
bool ScheduleRun::can_get_nowhere(JobId job) const {
    return workload_.world == nullptr && live_[job].controlled == nullptr;
}

// Before a loss.
void ScheduleRun::note_reached(JobId job) {
    if (!can_get_nowhere(job)) return;
    LiveJob& one = live_[job];
    one.most_reached = std::max(one.most_reached, one.work->reached(now_));
}

// After a loss, or where nothing is lost.
void ScheduleRun::note_kept(JobId job) {
    if (!can_get_nowhere(job)) return;
    LiveJob& one = live_[job];
    const double kept = one.work->reached(now_);
    if (kept > one.most_kept) got_on_last_ = now_;
    one.most_kept = std::max(one.most_kept, kept);
    one.most_reached = std::max(one.most_reached, kept);
}

}  // namespace ukemi::sim
