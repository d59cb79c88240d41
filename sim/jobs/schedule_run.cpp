// schedule_run.cpp — asks the scheduler, carries out what it says, and moves time on.
#include "sim/jobs/schedule_run.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/time_queue.hpp"
#include "sim/jobs/batch_ladder.hpp"
#include "sim/jobs/free_gpus.hpp"
#include "sim/jobs/shared_machines.hpp"

namespace ukemi::sim {

namespace {

using schedulers::GpuShare;
using schedulers::JobId;
using schedulers::number_of;

class ScheduleRun final : public schedulers::JobForecasts {
public:
    ScheduleRun(const ScheduledWorkload& workload, schedulers::Scheduler& scheduler)
        : workload_(workload),
          scheduler_(scheduler),
          round_(std::max(workload.round, scheduler.round())),
          slot_of_(workload.jobs.size(), no_slot),
          machines_(workload.cluster),
          bills_(workload.cluster, workload.jobs.size()),
          free_(workload.cluster),
          gpus_used_(static_cast<std::size_t>(workload.cluster.machines())) {
        INVARIANT(workload.source == nullptr || workload.jobs.empty());
        moves_ = machines_.next_change() < Instant::never();
        outcome_.jobs.resize(workload.jobs.size());
    }

    ScheduleOutcome run() {
        const std::size_t jobs =
            workload_.source != nullptr ? workload_.source->jobs_max() : workload_.jobs.size();
        facts_ = {0, jobs, workload_.cluster.groups, {}, {}};
        see_machines();
        scheduler_.begin(facts_);
        open_machines();
        ask_source();
        while ((next_ < slot_of_.size() || live_count_ > 0) && !gives_up()) {
            const std::optional<Instant> next = next_moment();
            if (!next) break;
            INVARIANT(*next >= now_);
            now_ = *next;
            if (round_ > Duration{} && now_ < next_round_) {
                change_machines();
                continue;
            }
            step();
        }
        finish();
        return std::move(outcome_);
    }

    Duration remaining(JobId job) const override { return live(job).work->remaining(now_); }
    Int128 work_left(JobId job) const override { return live(job).work->work_left(now_); }
    Int128 work_in(JobId job, std::int32_t gpus, Duration time) const override {
        return live(job).work->work_in(gpus, time);
    }
    std::int32_t gpus_max(JobId job) const override { return live(job).work->gpus_max(); }
    double step_s(JobId job, std::int32_t gpus) const override {
        return live(job).work->step_s(gpus);
    }
    double steps_left(JobId job) const override { return live(job).work->steps_left(now_); }
    double pace(JobId job, std::int32_t group, std::int32_t gpus,
                std::int32_t machines) const override {
        return live(job).work->pace(group, gpus, machines);
    }
    double pace_left(JobId job) const override { return live(job).work->pace_left(now_); }
    bool starting(JobId job) const override { return live(job).work->starting(now_); }

private:
    struct LiveJob {
        std::unique_ptr<JobWork> work;
        HeldShare held;
        HeldShare held_before;  // the present decision
        Instant held_since;
        std::int64_t named_in = -1;  // the last decision that gave it something
        TimeQueue<JobId>::Ticket end;
        CauseTimes spent{};                   // when it began to hold what it holds
        Instant ended_at = Instant::never();  // within a round, before its machine was taken
        Duration step;                        // that it now takes, with others on its links
    };
    static constexpr std::size_t no_slot = static_cast<std::size_t>(-1);
    const SharingJob& job_at(std::size_t number) const {
        return workload_.source != nullptr ? given_[number] : workload_.jobs[number];
    }
    void ask_source() {
        if (workload_.source == nullptr) return;
        std::vector<std::size_t> ended;
        for (const JobId job : ended_) ended.push_back(number_of(job));
        for (SharingJob& job : workload_.source->next(now_, ended, live_count_)) {
            job.arrival = now_;
            given_.push_back(std::move(job));
        }
        slot_of_.resize(given_.size(), no_slot);
        outcome_.jobs.resize(given_.size());
        bills_.expect_jobs(given_.size());
    }
    // Nothing if there is none.
    std::optional<Instant> next_moment() {
        const Instant next = next_instant();
        if (workload_.world != nullptr) {
            const std::optional<Instant> reached = workload_.world->wait(next);
            outcome_.interrupted = !reached;
            return reached;
        }
        INVARIANT(moves_ || next < Instant::never());  // else nobody is ever asked again
        return next < Instant::never() ? std::optional(next) : std::nullopt;
    }
    void step() {
        round_at_ = now_;
        ask_again_ = Instant::never();
        complete();
        change_machines();
        if (!ended_.empty()) ask_source();
        while (next_ < slot_of_.size() && job_at(next_).arrival <= now_) arrive();
        if (live_count_ == 0) return note_ends();
        if (std::exchange(machines_changed_, false)) scheduler_.cluster_changed(facts_);
        decide();
        if (!running_.empty()) held_last_ = now_;
        share_links();
    }
    void finish() {
        if (round_ > Duration{}) outcome_.rounds = now_.since_start().raw() / round_.raw();
        for (std::size_t job = 0; job < slot_of_.size(); ++job) {
            const bool is_over = outcome_.jobs[job].is_complete() || slot_of_[job] == no_slot;
            const bool waits = !is_over || job >= next_;
            (outcome_.interrupted ? outcome_.jobs[job].failed : outcome_.jobs[job].stuck) |= waits;
        }
        for (std::int32_t i = 0; i < workload_.cluster.machines(); ++i) {
            if (bills_.is_open(i)) bills_.close(i, now_);
        }
        for (std::size_t job = 0; job < outcome_.jobs.size(); ++job) {
            outcome_.jobs[job].cost = bills_.by_job()[job];
        }
        outcome_.fleet_cost = bills_.fleet();
        outcome_.unused_cost = bills_.unused();
        outcome_.machine_time = bills_.machine_time();
        outcome_.machines_lost = machines_.losses();
    }
    bool is_live(JobId job) const { return slot_of_[number_of(job)] != no_slot; }
    LiveJob& live(JobId job) { return slots_[slot_of_[number_of(job)]]; }
    const LiveJob& live(JobId job) const { return slots_[slot_of_[number_of(job)]]; }
    void open_slot(JobId job) {
        if (free_slots_.empty()) {
            free_slots_.push_back(slots_.size());
            slots_.emplace_back();
        }
        slot_of_[number_of(job)] = free_slots_.back();
        free_slots_.pop_back();
        outcome_.live_most = std::max(outcome_.live_most, ++live_count_);
    }
    void close_slot(JobId job) {
        live(job) = {};
        free_slots_.push_back(std::exchange(slot_of_[number_of(job)], no_slot));
        --live_count_;
    }

    Instant next_instant() {
        const Instant change = moves_ ? machines_.next_change() : Instant::never();
        const Instant arrival = next_ < slot_of_.size() ? job_at(next_).arrival : Instant::never();
        if (round_ > Duration{}) {
            next_round_ = live_count_ > 0 ? round_at_ + round_ : first_round(arrival);
            return std::min(next_round_, change);
        }
        const Instant end =
            ends_.empty() ? Instant::never() : Instant::at(nanoseconds(ends_.next().at));
        return std::min({arrival, end, ask_again_, change});
    }
    // After an arrival that nobody was there to see.
    Instant first_round(Instant arrival) const {
        if (arrival == Instant::never()) return arrival;
        const Instant end = Instant::at(round_up_to(arrival.since_start(), round_));
        // The rounds of the workload are decided about at their ends, the first at the first.
        return workload_.round > Duration{} ? std::max(end, Instant::at(round_)) : end;
    }
    // All wait for machines that never come, or not for a year.
    bool gives_up() const {
        if (!moves_ || next_ < slot_of_.size() || !running_.empty()) return false;
        const bool nothing_comes = machines_.next_change() == Instant::never();
        const Duration waited = now_ - held_last_;
        const bool many_rounds = round_ > Duration{} && waited > 1000 * round_;
        return waited > days(366) || (nothing_comes && many_rounds);
    }

    void complete() {
        ended_.clear();
        if (round_ > Duration{} || workload_.world != nullptr) {
            for (const JobId job : may_have_ended()) {
                const Instant ended = live(job).ended_at;
                const Instant end = ended <= now_ ? ended : live(job).work->advance(now_);
                if (end <= now_) end_of(job, end);
            }
        } else {
            while (!ends_.empty() && ends_.next().at <= now_.raw()) end_of(ends_.take(), now_);
        }
        if (ended_.empty()) return;
        std::erase_if(running_, [&](JobId job) { return !is_live(job); });
        std::ranges::sort(ended_);
        for (const JobId job : ended_) scheduler_.completed(job);
    }
    // In a world of its own a job may end while it is being stopped.
    std::vector<JobId> may_have_ended() const {
        if (workload_.world == nullptr) return running_;
        std::vector<JobId> all;
        for (std::size_t job = 0; job < next_; ++job) {
            if (is_live(static_cast<JobId>(job))) all.push_back(static_cast<JobId>(job));
        }
        return all;
    }
    void end_of(JobId job, Instant end) {
        JobOutcome& outcome = outcome_.jobs[number_of(job)];
        outcome.failed = live(job).work->failed();
        if (!outcome.failed) outcome.completion = end;
        outcome_.end = std::max(outcome_.end, end);
        take_away(job, end);
        close_slot(job);
        ended_.push_back(job);
    }
    void close_span(JobId job, Instant end) {
        LiveJob& one = live(job);
        if (one.held.share.parts == 0) return;
        JobOutcome& outcome = outcome_.jobs[number_of(job)];
        const Duration time = end - one.held_since;
        outcome.held += time;
        outcome.gpu_s += to_seconds(time) * static_cast<double>(one.held.share.parts) /
                         static_cast<double>(one.held.share.of);
        const CauseTimes before = std::exchange(one.spent, one.work->spent(end));
        Duration sum;
        for (std::size_t cause = 0; cause < before.size(); ++cause) {
            const Duration more = one.spent[cause] - before[cause];
            sum += more;
            outcome.gpu_time[cause] +=
                static_cast<Int128>(more.raw()) * one.held.share.parts / one.held.share.of;
        }
        INVARIANT(sum == time);  // counted by what it did, and by what it held
        if (bills_.costs_something()) {
            for (const GpusOnMachine& some : one.held.machines) {
                bills_.use(number_of(job), some, one.held_since, end);
            }
        }
        if (!workload_.keeps_spans) return;
        outcome_.spans.push_back({number_of(job), one.held_since, end, one.held});
    }

    void arrive() {
        const SharingJob& job = job_at(next_);
        const auto id = static_cast<JobId>(next_++);
        open_slot(id);
        live(id).work = work_of(id, job);
        const Duration service =
            job.application == nullptr ? live(id).work->remaining(now_) : Duration{};
        scheduler_.arrived(
            {id, job.name, job.arrival, job.gpus, service, job.deadline, job.restart});
    }
    std::unique_ptr<JobWork> work_of(JobId id, const SharingJob& job) {
        if (workload_.world != nullptr) return workload_.world->arrived(number_of(id), job);
        if (job.application == nullptr) return make_service_work(job);
        return make_epoch_work(job, workload_.cluster, ladder_of(job));
    }
    BatchLadder* ladder_of(const SharingJob& job) {
        if (!scheduler_.tunes_batches() || !job.recorded_batches.empty()) return nullptr;
        return &ladders_.try_emplace(job.application, *job.application).first->second;
    }

    void decide() {
        allocation_.shares.clear();
        allocation_.places.clear();
        allocation_.refused.clear();
        allocation_.ask_again = Instant::never();
        scheduler_.decide(now_, *this, allocation_);
        INVARIANT(allocation_.ask_again > now_);
        ask_again_ = allocation_.ask_again;
        const std::int64_t decision = outcome_.decisions++;
        note_decision();
        for (const JobId job : allocation_.refused) {
            INVARIANT(live(job).held.share.parts == 0);
            close_slot(job);
        }
        check_sum();
        changed_.clear();
        for (std::size_t i = 0; i < allocation_.shares.size(); ++i) {
            const GpuShare& share = allocation_.shares[i];
            INVARIANT(is_live(share.job));
            LiveJob& one = live(share.job);
            INVARIANT(one.named_in != decision && share.parts > 0);
            one.named_in = decision;
            const bool same_place =
                allocation_.places.empty() || one.held.machines == allocation_.places[i];
            if (one.held.share == share && same_place && all_stay(one.held)) continue;
            one.held_before = one.held;
            take_away(share.job, now_);
            changed_.push_back(i);
        }
        for (const JobId job : running_) {
            if (live(job).named_in == decision || live(job).held.share.parts == 0) continue;
            stop(job, now_);
        }
        for (const std::size_t i : changed_) give(i);
        running_.clear();
        for (const GpuShare& share : allocation_.shares) running_.push_back(share.job);
    }
    void note_decision() {
        if (!workload_.keeps_decisions) return;
        ScheduleDecision& one = outcome_.decided.emplace_back();
        one.at = now_;
        one.shares = allocation_.shares;
        for (const JobId job : ended_) one.ended.push_back(number_of(job));
        for (std::size_t job = seen_until_; job < next_; ++job) one.arrived.push_back(job);
        for (const JobId job : allocation_.refused) one.refused.push_back(number_of(job));
        seen_until_ = next_;
    }
    // With the last of those who were there nothing is left to decide about.
    void note_ends() {
        allocation_ = {};
        note_decision();
    }
    void check_sum() const {
        double sum = 0;
        for (const GpuShare& share : allocation_.shares) {
            sum += static_cast<double>(share.parts) / static_cast<double>(share.of);
        }
        INVARIANT(sum <= facts_.gpus * (1 + 1e-9));
    }
    void take_away(JobId job, Instant end) {
        LiveJob& one = live(job);
        if (one.held.share.parts == 0) return;
        close_span(job, end);
        free_.give_back(one.held.share.group, one.held.machines);
        for (const auto& [machine, gpus] : one.held.machines) {
            if ((gpus_used(machine) -= gpus) > 0 || !is_billed_in_use(machine)) continue;
            bills_.close(machine, now_);
        }
        one.held = {};
        ends_.cancel(one.end);
    }
    void give(std::size_t at) {
        const GpuShare& share = allocation_.shares[at];
        LiveJob& one = live(share.job);
        one.held.share = share;
        bool starts = true;
        if (!allocation_.places.empty()) {
            one.held.machines = std::move(allocation_.places[at]);
            free_.take(share.group, one.held.machines);
            starts = one.held_before.share.group != share.group ||
                     !std::ranges::equal(one.held.machines, one.held_before.machines, {},
                                         &GpusOnMachine::gpus, &GpusOnMachine::gpus);
        } else if (share.of == 1) {
            one.held.machines = free_.take(share.group, static_cast<std::int32_t>(share.parts));
        }
        for (const auto& [machine, gpus] : one.held.machines) {
            const bool was_used = gpus_used(machine) > 0;
            gpus_used(machine) += gpus;
            if (!was_used && is_billed_in_use(machine)) bills_.open(machine, now_);
        }
        one.held_since = now_;
        one.step = {};
        one.work->hold(now_, one.held, starts);
        outcome_.jobs[number_of(share.job)].starts += starts ? 1 : 0;
        if (round_ > Duration{}) return;
        one.end = ends_.push(one.work->completion().raw(), 0, share.job);
    }

    void stop(JobId job, Instant end) {
        take_away(job, end);
        live(job).work->hold(now_, live(job).held, false);
    }

    std::int32_t& gpus_used(std::int32_t machine) {
        return gpus_used_[static_cast<std::size_t>(machine)];
    }
    bool is_billed_in_use(std::int32_t machine) const {
        return bills_.costs_something() && bills_.in_use_only(machine);
    }
    bool all_stay(const HeldShare& held) const {
        return std::ranges::all_of(held.machines, [&](const GpusOnMachine& some) {
            return machines_.stays(some.machine);
        });
    }
    std::int32_t group_with(std::int32_t machine) const {
        std::int32_t group = 0;
        const auto groups = static_cast<std::int32_t>(workload_.cluster.groups.size());
        while (group + 1 < groups && workload_.cluster.first_machine(group + 1) <= machine) ++group;
        return group;
    }
    void see_machines() {
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
    void open_machines() {
        for (std::int32_t i = 0; i < workload_.cluster.machines(); ++i) {
            if (machines_.is_gone(i)) {
                free_.close(group_with(i), i);
            } else if (bills_.costs_something() && !bills_.in_use_only(i)) {
                bills_.open(i, now_);
            }
        }
    }
    void change_machines() {
        if (!moves_ || machines_.next_change() > now_) return;
        const SharedMachines::Changes changes = machines_.take(now_);
        for (const std::int32_t machine : changes.announced) {
            free_.close(group_with(machine), machine);
            if (round_ == Duration{}) tell_those_on(machine);
        }
        for (const std::int32_t machine : changes.lost) lose(machine);
        for (const std::int32_t machine : changes.come) {
            free_.open(group_with(machine), machine);
            const bool always = bills_.costs_something() && !bills_.in_use_only(machine);
            if (always) bills_.open(machine, now_);
        }
        see_machines();
        machines_changed_ = true;
    }
    Duration notice_of(std::int32_t machine) const {
        return workload_.cluster.markets[static_cast<std::size_t>(group_with(machine))].notice;
    }
    std::vector<JobId> jobs_on(std::int32_t machine) const {
        std::vector<JobId> jobs;
        for (const JobId job : running_) {
            if (!is_live(job)) continue;
            const auto& machines = live(job).held.machines;
            if (std::ranges::count(machines, machine, &GpusOnMachine::machine) > 0)
                jobs.push_back(job);
        }
        return jobs;
    }
    bool can_save(JobId job, std::int32_t machine) const {
        const Duration notice = notice_of(machine);
        return notice > Duration{} && notice >= job_at(number_of(job)).saves.takes;
    }
    // Those who cannot save in time lose now what they would lose then, and are moved now.
    void tell_those_on(std::int32_t machine) {
        std::int64_t hit = 0;
        for (const JobId job : jobs_on(machine)) {
            if (can_save(job, machine)) continue;
            live(job).work->lose(now_, false);
            ++outcome_.jobs[number_of(job)].losses;
            ++hit;
        }
        outcome_.shared_losses += hit > 1 ? 1 : 0;
    }
    void lose(std::int32_t machine) {
        std::int64_t hit = 0;
        for (const JobId job : jobs_on(machine)) {
            LiveJob& one = live(job);
            const Instant end = round_ > Duration{} ? one.work->advance(now_) : Instant::never();
            if (end <= now_) {
                one.ended_at = end;
                take_away(job, end);
                continue;
            }
            ++hit;
            if (round_ > Duration{}) {
                one.work->lose(now_, can_save(job, machine));
                ++outcome_.jobs[number_of(job)].losses;
            }
            stop(job, now_);
        }
        if (round_ > Duration{}) outcome_.shared_losses += hit > 1 ? 1 : 0;
        if (bills_.is_open(machine)) bills_.close(machine, now_);
    }

    void share_links() {
        if (workload_.links == nullptr) return;
        std::vector<JobId> jobs;
        for (const JobId job : running_) {
            const bool sends = job_at(number_of(job)).step && !live(job).held.machines.empty();
            if (sends) jobs.push_back(job);
        }
        std::ranges::sort(jobs);
        std::vector<SharedLinks::PlacedJob> together;
        for (const JobId job : jobs) {
            together.push_back({job_at(number_of(job)).step->kind, live(job).held.machines});
        }
        const std::vector<Duration> steps = workload_.links->step_times(together);
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            LiveJob& one = live(jobs[i]);
            if (std::exchange(one.step, steps[i]) == steps[i]) continue;
            one.work->step_takes(now_, steps[i], job_at(number_of(jobs[i])).step->alone);
            if (round_ > Duration{}) continue;
            ends_.cancel(one.end);
            one.end = ends_.push(one.work->completion().raw(), 0, jobs[i]);
        }
    }

    const ScheduledWorkload& workload_;
    schedulers::Scheduler& scheduler_;
    Duration round_;
    Instant now_;
    Instant round_at_;              // of the last decision
    Instant next_round_;            // with rounds
    Instant held_last_;             // after the last decision that gave anybody anything
    std::deque<SharingJob> given_;  // by the source; names of these outlive the run's use of them
    std::size_t next_ = 0;          // of all jobs, to come
    std::size_t seen_until_ = 0;    // of them, those that a kept decision names
    std::size_t live_count_ = 0;
    std::vector<std::size_t> slot_of_;  // by job of the workload
    std::vector<LiveJob> slots_;        // as many as there ever were live jobs at once
    std::vector<std::size_t> free_slots_;
    SharedMachines machines_;
    MachineBills bills_;
    FreeGpus free_;
    std::vector<std::int32_t> gpus_used_;  // by machine
    bool moves_ = false;                   // machines come and go, or prices change
    bool machines_changed_ = false;        // and the scheduler has not been told
    schedulers::ClusterFacts facts_;
    std::map<const traces::Application*, BatchLadder> ladders_;
    std::vector<JobId> running_;
    TimeQueue<JobId> ends_;  // without rounds
    Instant ask_again_ = Instant::never();
    schedulers::Allocation allocation_;
    std::vector<std::size_t> changed_;  // shares, by their places in the answer
    std::vector<JobId> ended_;
    ScheduleOutcome outcome_;
};

}  // namespace

ScheduleOutcome run_schedule(const ScheduledWorkload& workload, schedulers::Scheduler& scheduler) {
    return ScheduleRun(workload, scheduler).run();
}

}  // namespace ukemi::sim
