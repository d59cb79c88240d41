// schedule_budgets.cpp — jobs whose parts of the bills have come to their budgets are stopped.
#include <algorithm>

#include "sim/jobs/schedule_engine.hpp"

namespace ukemi::sim {

// With what it holds at the prices of now; never() if it has no budget, holds nothing or is done.
Instant ScheduleRun::spent_at(JobId job) const {
    const std::optional<Dollars>& budget = asked(job).budget;
    if (!budget || live_[job].ended_at <= now_) return Instant::never();
    const Instant at = holdings_.spent_at(live_[job], *budget, now_);
    const bool in_seconds = asked(job).application != nullptr && at < Instant::never();
    return in_seconds ? Instant::at(round_down_to(at.since_start(), whole_seconds(1))) : at;
}

Instant ScheduleRun::next_spent() const {
    Instant next = Instant::never();
    if (!has_budgets_) return next;
    for (const JobId job : running_) {
        if (live_.is_live(job)) next = std::min(next, spent_at(job));
    }
    return std::max(next, now_);
}

void ScheduleRun::stop_spent() {
    if (!has_budgets_) return;
    for (const JobId job : std::vector(running_)) {
        if (!live_.is_live(job) || spent_at(job) > now_) continue;
        LiveJob& one = live_[job];
        if (one.controlled != nullptr) {
            one.controlled->play(now_);
            end_controlled(job, true);
        } else if (const Instant end = one.work->advance(now_); end <= now_) {
            one.ended_at = end;  // before its money was out: seen at the end of the round
            continue;
        } else {
            end_spent(job);
        }
        std::erase(running_, job);
    }
}

void ScheduleRun::end_spent(JobId job) {
    live_[job].outcome.out_of_budget = true;
    outcome_.end = std::max(outcome_.end, now_);
    take_away(job, now_);
    close(job);
    ended_.push_back(job);
}

}  // namespace ukemi::sim
