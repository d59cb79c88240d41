// schedule_decisions.cpp — asks the scheduler, and carries out what it says.
#include <algorithm>
#include <utility>

#include "base/invariant.hpp"
#include "sim/jobs/schedule_engine.hpp"

namespace ukemi::sim {

using schedulers::GpuShare;

void ScheduleRun::decide() {
    allocation_.shares.clear();
    allocation_.places.clear();
    allocation_.refused.clear();
    allocation_.ask_again = Instant::never();
    live_.look_at(now_);
    scheduler_.decide(now_, live_, allocation_);
    INVARIANT(allocation_.ask_again > now_);
    ask_again_ = allocation_.ask_again;
    const std::int64_t decision = outcome_.decisions++;
    note_decision();
    for (const JobId job : allocation_.refused) {
        INVARIANT(live_[job].held.share.parts == 0);
        close(job);
    }
    check_sum();
    changed_.clear();
    for (std::size_t i = 0; i < allocation_.shares.size(); ++i) {
        const GpuShare& share = allocation_.shares[i];
        INVARIANT(live_.is_live(share.job));
        LiveJob& one = live_[share.job];
        INVARIANT(one.named_in != decision && share.parts > 0);
        one.named_in = decision;
        const bool same_place =
            allocation_.places.empty() || one.held.machines == allocation_.places[i];
        if (one.held.share == share && same_place && all_stay(one.held)) continue;
        one.held_before = one.held;
        take_away(share.job, now_);
        const bool keeps = asked(share.job).transition || one.controlled != nullptr;
        if (keeps && allocation_.places.empty()) holdings_.keep(one, share, machines_);
        changed_.push_back(i);
    }
    for (const JobId job : running_) {
        if (live_[job].named_in == decision || live_[job].held.share.parts == 0) continue;
        stop(job, now_);
    }
    for (const std::size_t i : changed_) give(i);
    running_.clear();
    for (const GpuShare& share : allocation_.shares) running_.push_back(share.job);
}

void ScheduleRun::note_decision() {
    if (!workload_.keeps_decisions) return;
    ScheduleDecision& one = outcome_.decided.emplace_back();
    one.at = now_;
    one.shares = allocation_.shares;
    for (const JobId job : told_ended_) one.ended.push_back(number_of(job));
    for (std::size_t job = seen_until_; job < next_; ++job) one.arrived.push_back(job);
    for (const JobId job : allocation_.refused) one.refused.push_back(number_of(job));
    seen_until_ = next_;
}

// With the last of those who were there nothing is left to decide about.
void ScheduleRun::note_ends() {
    allocation_ = {};
    note_decision();
}

void ScheduleRun::check_sum() const {
    double sum = 0;
    for (const GpuShare& share : allocation_.shares) {
        sum += static_cast<double>(share.parts) / static_cast<double>(share.of);
    }
    INVARIANT(sum <= facts_.gpus * (1 + 1e-9));
}

void ScheduleRun::give(std::size_t at) {
    const GpuShare& share = allocation_.shares[at];
    LiveJob& one = live_[share.job];
    auto* const chosen = allocation_.places.empty() ? nullptr : &allocation_.places[at];
    const bool starts = holdings_.give(one, share, chosen, now_);
    one.step = {};
    one.work->hold(now_, one.held, starts);
    if (one.controlled != nullptr) tell_price(one);
    if (!has_rounds()) await_end(share.job);
}

void ScheduleRun::take_away(JobId job, Instant end) {
    LiveJob& one = live_[job];
    if (one.held.share.parts == 0) return;
    note_kept(job);
    holdings_.take_away(job, one, end, now_);
    ends_.cancel(one.end);
}

void ScheduleRun::stop(JobId job, Instant end) {
    take_away(job, end);
    live_[job].work->hold(now_, live_[job].held, false);
}

void ScheduleRun::await_end(JobId job) {
    LiveJob& one = live_[job];
    if (one.controlled != nullptr) return;  // it is played
    ends_.cancel(one.end);
    one.end = ends_.push(one.work->completion().raw(), 0, job);
}

// Who starts or saves sends nothing.
void ScheduleRun::share_links() {
    if (workload_.links == nullptr) return;
    next_turn_ = Instant::never();
    std::vector<JobId> jobs;
    for (const JobId job : running_) {
        if (!live_.is_live(job) || !asked(job).step || live_[job].held.machines.empty()) continue;
        const JobWork::Turn turn = live_[job].work->turn(now_);
        next_turn_ = std::min(next_turn_, turn.until);
        if (turn.computes) jobs.push_back(job);
    }
    std::ranges::sort(jobs);
    std::vector<SharedLinks::PlacedJob> together;
    for (const JobId job : jobs) {
        together.push_back({asked(job).step->kind, live_[job].held.machines});
    }
    const std::vector<Duration> steps = workload_.links->step_times(together);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        LiveJob& one = live_[jobs[i]];
        if (std::exchange(one.step, steps[i]) == steps[i]) continue;
        one.work->step_takes(now_, steps[i], asked(jobs[i]).step->alone);
        if (!has_rounds()) await_end(jobs[i]);
    }
}

}  // namespace ukemi::sim
