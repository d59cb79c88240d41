// schedule_run.cpp — asks the scheduler, carries out what it says, and moves time on.
#include "sim/jobs/schedule_run.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/time_queue.hpp"
#include "sim/jobs/batch_ladder.hpp"
#include "sim/jobs/free_gpus.hpp"

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
          free_(workload.cluster) {
        INVARIANT(workload.source == nullptr || workload.jobs.empty());
        outcome_.jobs.resize(workload.jobs.size());
    }

    ScheduleOutcome run() {
        const std::size_t jobs =
            workload_.source != nullptr ? workload_.source->jobs_max() : workload_.jobs.size();
        scheduler_.begin({workload_.cluster.gpus(), jobs, workload_.cluster.groups});
        ask_source();
        while (next_ < slot_of_.size() || live_count_ > 0) {
            const Instant next = next_instant();
            INVARIANT(next >= now_ && next < Instant::never());  // else nobody is ever asked again
            now_ = next;
            ask_again_ = Instant::never();
            complete();
            if (!ended_.empty()) ask_source();
            while (next_ < slot_of_.size() && job_at(next_).arrival <= now_) arrive();
            if (live_count_ > 0) decide();
        }
        if (round_ > Duration{}) outcome_.rounds = now_.since_start().raw() / round_.raw();
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
        const Instant arrival = next_ < slot_of_.size() ? job_at(next_).arrival : Instant::never();
        if (round_ > Duration{}) {
            if (live_count_ > 0) return now_ + round_;
            const Instant end = Instant::at(round_up_to(arrival.since_start(), round_));
            // The rounds of the workload are decided about at their ends, the first at the first.
            return workload_.round > Duration{} ? std::max(end, Instant::at(round_)) : end;
        }
        const Instant end =
            ends_.empty() ? Instant::never() : Instant::at(nanoseconds(ends_.next().at));
        return std::min({arrival, end, ask_again_});
    }

    void complete() {
        ended_.clear();
        if (round_ > Duration{}) {
            for (const JobId job : running_) {
                const Instant end = live(job).work->advance(now_);
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
    void end_of(JobId job, Instant end) {
        outcome_.jobs[number_of(job)].completion = end;
        outcome_.end = std::max(outcome_.end, end);
        close_span(job, end);
        free_.give_back(live(job).held.share.group, live(job).held.machines);
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
        if (!workload_.keeps_spans) return;
        outcome_.spans.push_back({number_of(job), one.held_since, end, one.held});
    }

    void arrive() {
        const SharingJob& job = job_at(next_);
        const auto id = static_cast<JobId>(next_++);
        open_slot(id);
        live(id).work = job.application == nullptr
                            ? make_service_work(job)
                            : make_epoch_work(job, workload_.cluster, ladder_of(job));
        const Duration service =
            job.application == nullptr ? live(id).work->remaining(now_) : Duration{};
        scheduler_.arrived(
            {id, job.name, job.arrival, job.gpus, service, job.deadline, job.restart});
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
            if (one.held.share == share && same_place) continue;
            one.held_before = one.held;
            take_away(share.job);
            changed_.push_back(i);
        }
        for (const JobId job : running_) {
            if (live(job).named_in == decision || live(job).held.share.parts == 0) continue;
            take_away(job);
            live(job).work->hold(now_, live(job).held, false);
        }
        for (const std::size_t i : changed_) give(i);
        running_.clear();
        for (const GpuShare& share : allocation_.shares) running_.push_back(share.job);
    }
    void check_sum() const {
        double sum = 0;
        for (const GpuShare& share : allocation_.shares) {
            sum += static_cast<double>(share.parts) / static_cast<double>(share.of);
        }
        INVARIANT(sum <= workload_.cluster.gpus() * (1 + 1e-9));
    }
    void take_away(JobId job) {
        LiveJob& one = live(job);
        if (one.held.share.parts == 0) return;
        close_span(job, now_);
        free_.give_back(one.held.share.group, one.held.machines);
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
        one.held_since = now_;
        one.work->hold(now_, one.held, starts);
        outcome_.jobs[number_of(share.job)].starts += starts ? 1 : 0;
        if (round_ > Duration{}) return;
        one.end = ends_.push(one.work->completion().raw(), 0, share.job);
    }

    const ScheduledWorkload& workload_;
    schedulers::Scheduler& scheduler_;
    Duration round_;
    Instant now_;
    std::deque<SharingJob> given_;  // by the source; names of these outlive the run's use of them
    std::size_t next_ = 0;          // of all jobs, to come
    std::size_t live_count_ = 0;
    std::vector<std::size_t> slot_of_;  // by job of the workload
    std::vector<LiveJob> slots_;        // as many as there ever were live jobs at once
    std::vector<std::size_t> free_slots_;
    FreeGpus free_;
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
