// schedule_run.cpp — moves time on: jobs come and end, and at each decision everybody is asked.
#include "sim/jobs/schedule_run.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"
#include "sim/jobs/schedule_engine.hpp"

namespace ukemi::sim {

namespace {
constexpr Duration a_year = days(366);
}

ScheduleRun::ScheduleRun(const ScheduledWorkload& workload, schedulers::Scheduler& scheduler)
    : workload_(workload),
      scheduler_(scheduler),
      round_(std::max(workload.round, scheduler.round())),
      live_(workload.jobs.size()),
      machines_(workload.cluster),
      holdings_(workload, sink()),
      over_(sink(), costs()) {
    INVARIANT(workload.source == nullptr || workload.jobs.empty());
    // Also where it brings less than there is, and nothing ever changes.
    moves_ = !workload.cluster.markets.empty();
    has_budgets_ = workload.jobs.have_budgets();
    patience_ = a_year;
    for (const GroupMarket& market : workload.cluster.markets) {
        if (market.launchable) {
            patience_ = std::max(patience_, market.launchable->end.since_start());
        }
    }
}

ScheduleOutcome ScheduleRun::run() {
    const std::size_t jobs =
        workload_.source != nullptr ? workload_.source->jobs_max() : workload_.jobs.size();
    facts_ = {0, jobs, workload_.cluster.groups, {}, {}};
    see_machines();
    scheduler_.begin(facts_);
    holdings_.begin(machines_, now_);
    ask_source();
    while ((next_ < live_.expected() || live_.count() > 0) && !gives_up()) {
        const Instant next = next_instant();
        const Instant wake = std::min(next_of(wakes_), next_turn_);
        const std::optional<Instant> moment = next_moment(std::min(next, wake));
        if (!moment) break;
        INVARIANT(*moment >= now_);
        now_ = *moment;
        if (has_rounds() && now_ < next_round_) {
            stop_spent();
            change_machines();
            take_turns();
            continue;
        }
        step(wake < next);
    }
    finish();
    return std::move(outcome_);
}

// Nothing if there is none, or if the world is told to end.
std::optional<Instant> ScheduleRun::next_moment(Instant next) {
    if (workload_.world != nullptr) {
        const WorldMoment reached = workload_.world->wait(next);
        outcome_.interrupted = reached.told_to_end;
        if (!reached.told_to_end) return reached.at;
        now_ = std::max(now_, reached.at);
        return std::nullopt;
    }
    INVARIANT(moves_ || !controlled_.empty() || next < Instant::never());  // else nobody is asked
    return next < Instant::never() ? std::optional(next) : std::nullopt;
}

void ScheduleRun::step(bool only_wakes) {
    complete();
    stop_spent();
    change_machines();
    const bool news = play();
    if (only_wakes && !news) return take_turns();
    round_at_ = now_;
    ask_again_ = Instant::never();
    tell_ended();
    while (next_arrival() <= now_) arrive();
    if (live_.count() == 0) return note_ends();
    if (std::exchange(machines_changed_, false)) scheduler_.cluster_changed(facts_);
    decide();
    if (!running_.empty()) held_last_ = now_;
    share_links();
    again_ = play() && !has_rounds();
}

void ScheduleRun::take_turns() {
    if (next_turn_ <= now_) share_links();
}

Instant ScheduleRun::next_instant() {
    if (std::exchange(again_, false)) return now_;
    const Instant change =
        std::min(moves_ ? machines_.next_change() : Instant::never(), next_spent());
    const Instant arrival = next_arrival();
    if (has_rounds()) {
        next_round_ = live_.count() > 0 ? round_at_ + round_ : first_round(arrival);
        return std::min(next_round_, change);
    }
    return std::min({arrival, next_of(ends_), ask_again_, change});
}

Instant ScheduleRun::next_arrival() const {
    if (next_ == live_.expected()) return Instant::never();
    return workload_.source != nullptr ? given_.front()->arrival : workload_.jobs.arrival(next_);
}

// After an arrival that nobody was there to see.
Instant ScheduleRun::first_round(Instant arrival) const {
    if (arrival == Instant::never()) return arrival;
    const Instant end = Instant::at(round_up_to(arrival.since_start(), round_));
    // The rounds of the workload are decided about at their ends, the first at the first.
    return workload_.round > Duration{} ? std::max(end, Instant::at(round_)) : end;
}

// All wait for machines that never come, or not for a year; or nobody gets anywhere.
bool ScheduleRun::gives_up() const {
    if (next_ < live_.expected() || workload_.world != nullptr) return false;
    if (!running_.empty()) return get_nowhere();
    if (!moves_) return false;
    const bool nothing_comes = machines_.next_change() == Instant::never();
    const Duration waited = now_ - held_last_;
    const bool many_rounds = has_rounds() && waited > 1000 * round_;
    return waited > a_year || get_nowhere() || (nothing_comes && many_rounds);
}

// For a year, and for as long as the longest record, jobs lost their machines before anything more
// was kept, or had to make way before they had started; and what they do now was done before.
bool ScheduleRun::get_nowhere() const {
    if (now_ - got_on_last_ <= patience_ || !controlled_.empty()) return false;
    // Machines that nobody takes any more, from jobs that none makes give way, end them one day.
    const bool nothing_changes = !moves_ || machines_.next_change() == Instant::never();
    if (nothing_changes && !has_rounds()) return false;
    return std::ranges::none_of(running_, [&](JobId job) {
        return live_.is_live(job) && live_[job].held.share.parts > 0 &&
               live_[job].work->reached(now_) > live_[job].most_reached;
    });
}

void ScheduleRun::complete() {
    if (has_rounds() || workload_.world != nullptr) {
        for (const JobId job : may_have_ended()) {
            if (live_[job].controlled != nullptr) continue;
            const Instant ended = live_[job].ended_at;
            const Instant end = ended <= now_ ? ended : live_[job].work->advance(now_);
            if (end <= now_) end_of(job, end);
        }
    } else {
        while (!ends_.empty() && ends_.next().at <= now_.raw()) end_of(ends_.take(), now_);
    }
}

// In a world of its own a job may end while it is being stopped.
std::vector<schedulers::JobId> ScheduleRun::may_have_ended() const {
    if (workload_.world == nullptr) return running_;
    std::vector<JobId> all;
    for (std::size_t job = 0; job < next_; ++job) {
        if (live_.is_live(static_cast<JobId>(job))) all.push_back(static_cast<JobId>(job));
    }
    return all;
}

void ScheduleRun::tell_ended() {
    told_ended_ = ended_;
    if (ended_.empty()) return;
    std::erase_if(running_, [&](JobId job) { return !live_.is_live(job); });
    std::ranges::sort(ended_);
    for (const JobId job : ended_) scheduler_.completed(job);
    ask_source();
    ended_.clear();
}

void ScheduleRun::end_of(JobId job, Instant end) {
    JobOutcome& outcome = live_[job].outcome;
    outcome.failed = live_[job].work->failed();
    if (!outcome.failed) outcome.completion = end;
    outcome_.end = std::max(outcome_.end, end);
    take_away(job, end);
    close(job);
    ended_.push_back(job);
}

// It is over.
void ScheduleRun::close(JobId job) {
    over_.over(number_of(job), std::move(live_[job].outcome));
    live_.close(job);
    got_on_last_ = now_;
}

void ScheduleRun::ask_source() {
    if (workload_.source == nullptr) return;
    std::vector<std::size_t> ended;
    for (const JobId job : ended_) ended.push_back(number_of(job));
    for (SharingJob& job : workload_.source->next(now_, ended, live_.count())) {
        job.arrival = now_;
        given_.push_back(std::make_unique<const SharingJob>(std::move(job)));
    }
    live_.expect_jobs(next_ + given_.size());
    holdings_.expect_jobs(live_.expected());
}

void ScheduleRun::arrive() {
    const auto id = static_cast<JobId>(next_);
    live_.open(id);
    got_on_last_ = now_;
    if (workload_.source != nullptr) {
        live_[id].job = std::move(given_.front());
        given_.pop_front();
    } else {
        live_[id].job = workload_.jobs.made(next_);
    }
    ++next_;
    const SharingJob& job = asked(id);
    JobWork& work = *(live_[id].work = make_work(job, id));
    const Duration service = job.application == nullptr ? work.remaining(now_) : Duration{};
    scheduler_.arrived({id, job.name, job.arrival, job.gpus, service, job.deadline, job.restart,
                        job.priority,
                        job.budget ? std::optional(to_dollars(*job.budget)) : std::nullopt});
}

std::unique_ptr<JobWork> ScheduleRun::make_work(const SharingJob& job, JobId id) {
    if (workload_.world != nullptr) return workload_.world->arrived(number_of(id), job);
    if (job.controlled) return make_controlled(job, id);
    if (job.application == nullptr) return make_service_work(job);
    return make_epoch_work(job, workload_.cluster, ladder_of(job));
}

BatchLadder* ScheduleRun::ladder_of(const SharingJob& job) {
    if (!scheduler_.tunes_batches() || !job.recorded_batches.empty()) return nullptr;
    return &ladders_.try_emplace(job.application, *job.application).first->second;
}

void ScheduleRun::finish() {
    if (has_rounds()) outcome_.rounds = now_.since_start().raw() / round_.raw();
    const auto waits_on = [&](JobOutcome& job) {
        (outcome_.interrupted ? job.failed : job.stuck) = true;
    };
    for (std::size_t job = 0; job < next_; ++job) {
        const auto id = static_cast<JobId>(job);
        if (!live_.is_live(id)) continue;
        if (outcome_.interrupted) take_away(id, now_);
        waits_on(live_[id].outcome);
    }
    for (const JobId job : std::vector(controlled_)) end_controlled(job);
    holdings_.end(now_);
    for (std::size_t job = 0; job < live_.expected(); ++job) {
        const auto id = static_cast<JobId>(job);
        if (live_.is_live(id)) close(id);
        if (job < next_) continue;
        JobOutcome never_came;
        waits_on(never_came);
        over_.over(job, never_came);
    }
    over_.end();
    outcome_.live_most = live_.most();
    outcome_.waiting_most = over_.waiting_most();
    outcome_.fleet_cost = holdings_.bills().fleet();
    outcome_.unused_cost = holdings_.bills().unused();
    outcome_.machine_time = holdings_.bills().machine_time();
    outcome_.machines_lost = machines_.losses();
}

OutcomeOrder::CostOf ScheduleRun::costs() const {
    if (!holdings_.bills().costs_something()) return nullptr;
    return [this](std::size_t job) { return holdings_.bills().of_job(job); };
}

ScheduleOutcome run_schedule(const ScheduledWorkload& workload, schedulers::Scheduler& scheduler) {
    return ScheduleRun(workload, scheduler).run();
}

}  // namespace ukemi::sim
