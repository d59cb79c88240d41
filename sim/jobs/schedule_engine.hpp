// schedule_engine.hpp — one run of a workload under a scheduler: what happens when, and who is
// told.
//
// It asks, carries the answer out and moves time on. Who has which GPUs is in Holdings, who is live
// in PresentJobs, which machines are there in SharedMachines; how a job gets on is its JobWork's.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/time_queue.hpp"
#include "sim/jobs/batch_ladder.hpp"
#include "sim/jobs/holdings.hpp"
#include "sim/jobs/outcome_order.hpp"
#include "sim/jobs/present_jobs.hpp"
#include "sim/jobs/schedule_run.hpp"
#include "sim/jobs/shared_machines.hpp"

namespace ukemi::sim {

// Puts all of them into an outcome, which outlives it.
class KeptOutcomes final : public ScheduleSink {
public:
    explicit KeptOutcomes(ScheduleOutcome& outcome) : outcome_(outcome) {}
    void over(std::size_t, const JobOutcome& outcome) override { outcome_.jobs.push_back(outcome); }
    void held(const HeldSpan& span) override { outcome_.spans.push_back(span); }

private:
    ScheduleOutcome& outcome_;
};

class ScheduleRun {
public:
    using JobId = schedulers::JobId;

    // Both outlive it.
    ScheduleRun(const ScheduledWorkload& workload, schedulers::Scheduler& scheduler);
    ScheduleOutcome run();  // once

private:
    // Time (schedule_run.cpp).
    bool has_rounds() const { return round_ > Duration{}; }
    const SharingJob& asked(JobId job) const { return *live_[job].job; }
    Instant next_arrival() const;  // never() after the last
    Instant next_instant();
    std::optional<Instant> next_moment(Instant next);
    static Instant next_of(TimeQueue<JobId>& queue) {
        return queue.empty() ? Instant::never() : Instant::at(nanoseconds(queue.next().at));
    }
    Instant first_round(Instant arrival) const;
    bool gives_up() const;
    bool get_nowhere() const;
    void step(bool only_wakes);
    void complete();
    std::vector<JobId> may_have_ended() const;
    void tell_ended();
    void end_of(JobId job, Instant end);
    void ask_source();
    void arrive();
    void close(JobId job);
    std::unique_ptr<JobWork> make_work(const SharingJob& job, JobId id);
    BatchLadder* ladder_of(const SharingJob& job);
    void finish();
    OutcomeOrder::CostOf costs() const;
    ScheduleSink& sink() { return workload_.sink != nullptr ? *workload_.sink : kept_; }

    // Jobs with Controllers (schedule_controlled.cpp).
    std::unique_ptr<JobWork> make_controlled(const SharingJob& job, JobId id);
    bool play();  // all of them, to now; whether the scheduler is to be asked
    void end_controlled(JobId job, bool spent = false);
    void tell_price(LiveJob& one);
    void tell_prices();
    void tell_controlled_on(std::int32_t machine);
    void gone_from_controlled(std::int32_t machine);

    // Decisions (schedule_decisions.cpp).
    void decide();
    void note_decision();
    void note_ends();
    void check_sum() const;
    void give(std::size_t at);
    void take_away(JobId job, Instant end);
    void stop(JobId job, Instant end);
    void await_end(JobId job);
    void share_links();
    void take_turns();

    // Budgets (schedule_budgets.cpp).
    Instant spent_at(JobId job) const;
    Instant next_spent() const;
    void stop_spent();
    void end_spent(JobId job);

    // Machines (schedule_machines.cpp).
    void see_machines();
    void change_machines();
    bool all_stay(const HeldShare& held) const;
    std::vector<JobId> jobs_on(std::int32_t machine) const;
    bool can_save(JobId job, std::int32_t machine) const;
    void tell_those_on(std::int32_t machine);
    void lose(std::int32_t machine);
    bool can_get_nowhere(JobId job) const;
    void note_reached(JobId job);
    void note_kept(JobId job);

    const ScheduledWorkload& workload_;
    schedulers::Scheduler& scheduler_;
    Duration round_;
    Instant now_;
    Instant round_at_;     // of the last decision
    Instant next_round_;   // with rounds
    Instant held_last_;    // after the last decision that gave anybody anything
    Instant got_on_last_;  // when a job last came, was over, or kept more than ever
    Duration patience_;    // after which jobs that did not get on will not
    std::deque<std::unique_ptr<const SharingJob>> given_;  // by the source, and not come yet
    std::size_t next_ = 0;                                 // of all jobs, to come
    ScheduleOutcome outcome_;
    KeptOutcomes kept_{outcome_};  // where nobody else asks
    PresentJobs live_;
    SharedMachines machines_;
    Holdings holdings_;
    OutcomeOrder over_;
    bool has_budgets_ = false;       // of some jobs
    bool moves_ = false;             // machines may come and go, or prices change
    bool machines_changed_ = false;  // and the scheduler has not been told
    schedulers::ClusterFacts facts_;
    std::map<const traces::Application*, BatchLadder> ladders_;
    std::vector<JobId> running_;
    std::vector<JobId> controlled_;  // live ones, in the order of the workload
    TimeQueue<JobId> wakes_;         // of them, without rounds
    bool again_ = false;             // at this very instant: something changed by what was decided
    TimeQueue<JobId> ends_;          // without rounds
    Instant next_turn_ = Instant::never();  // of jobs on links: one begins or stops to compute
    Instant ask_again_ = Instant::never();
    schedulers::Allocation allocation_;
    std::vector<std::size_t> changed_;  // shares, by their places in the answer
    std::vector<JobId> ended_;
    std::vector<JobId> told_ended_;  // before the present decision
    std::size_t seen_until_ = 0;     // of the jobs that have come, those that a kept decision names
};

}  // namespace ukemi::sim
