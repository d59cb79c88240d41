// schedule_controlled.cpp — jobs with Controllers of their own, moved on in one order with all
// others, and told what becomes of their machines.
#include <algorithm>
#include <utility>

#include "base/invariant.hpp"
#include "sim/jobs/schedule_engine.hpp"

namespace ukemi::sim {

namespace {

Price of_one_gpu(const schedulers::ClusterFacts& facts, std::int32_t group) {
    const auto at = static_cast<std::size_t>(group);
    return Price::of(facts.states[at].price.raw() / facts.groups[at].gpus_per_machine);
}

}  // namespace

std::unique_ptr<JobWork> ScheduleRun::make_controlled(const SharingJob& job, JobId id) {
    auto work =
        std::make_unique<ControlledWork>(job, now_, of_one_gpu(facts_, 0), workload_.keeps_logs);
    live_[id].controlled = work.get();
    live_[id].useful = work->gpus_max();
    controlled_.push_back(id);
    return work;
}

bool ScheduleRun::play() {
    bool news = !ended_.empty();
    for (const JobId job : std::vector(controlled_)) {
        LiveJob& one = live_[job];
        one.controlled->play(now_);
        wakes_.cancel(one.wake);
        if (one.controlled->is_over()) {
            end_controlled(job);
            news = true;
            continue;
        }
        const std::int32_t useful = one.controlled->gpus_max();
        news |= std::exchange(one.useful, useful) != useful;
        const Instant next = one.controlled->next_at();
        if (!has_rounds() && next < Instant::never()) one.wake = wakes_.push(next.raw(), 0, job);
    }
    return news;
}

void ScheduleRun::end_controlled(JobId job, bool spent) {
    LiveJob& one = live_[job];
    wakes_.cancel(one.wake);
    const Instant ended = one.controlled->ended_at();
    const bool complete = ended < Instant::never();
    const Instant end = complete ? ended : now_;
    while (!one.leaving.empty()) {
        holdings_.gone_from(job, one, one.leaving.front().gpus.machine, end, now_);
    }
    take_away(job, end);
    Holdings::account(one);
    std::erase(controlled_, job);
    if (complete) {
        one.outcome.completion = end;
        outcome_.end = std::max(outcome_.end, end);
    } else {
        (spent ? one.outcome.out_of_budget : one.outcome.stuck) = true;
    }
    close(job);
    ended_.push_back(job);
}

void ScheduleRun::tell_price(LiveJob& one) {
    if (one.held.share.parts == 0) return;
    one.controlled->price_is(now_, of_one_gpu(facts_, one.held.share.group));
}

void ScheduleRun::tell_prices() {
    for (const JobId job : controlled_) tell_price(live_[job]);
}

// It loses them for certain, and knows it now.
void ScheduleRun::tell_controlled_on(std::int32_t machine) {
    const auto group = static_cast<std::size_t>(holdings_.group_with(machine));
    const Instant lost_at = now_ + workload_.cluster.markets[group].notice;
    std::int64_t hit = 0;
    for (const JobId job : controlled_) {
        LiveJob& one = live_[job];
        const auto& machines = one.held.machines;
        if (std::ranges::count(machines, machine, &GpusOnMachine::machine) == 0) continue;
        one.controlled->announced(now_, machine, lost_at);
        if (one.controlled->is_over()) {  // within a round
            take_away(job, std::min(one.controlled->ended_at(), now_));
            continue;
        }
        holdings_.leave(job, one, machine, now_);
        ++one.outcome.losses;
        ++hit;
    }
    outcome_.shared_losses += hit > 1 ? 1 : 0;
}

void ScheduleRun::gone_from_controlled(std::int32_t machine) {
    for (const JobId job : controlled_) {
        LiveJob& one = live_[job];
        holdings_.gone_from(job, one, machine, now_, now_);
        one.controlled->gone(machine);
    }
}

}  // namespace ukemi::sim
