// schedule_run.hpp — jobs that share a cluster under a scheduler, from the first arrival to the
// last end.
//
// Decisions are taken whenever jobs come or end and when the scheduler asked for it; or, where
// there are rounds, at their ends only: GPUs of a job that ends within a round are idle to its end.
// At one instant ends come first, then machines that come and go, then arrivals, then the decision.
//
// Of a machine that is announced to be taken nobody gets GPUs any more. At the next decision who
// has some of it is moved, as if it had been decided: nothing is lost, and it starts anew. Who is
// still there when it is taken loses what was done since its last save; it saves in the notice, if
// that is long enough. Then it holds nothing until the next decision.
//
// A run ends before its jobs where they get nowhere: for 366 days, and for as long as the longest
// record of machines, no job came or ended, and no loss or stop left one with more done than every
// one before. They are stuck then, as those are whose machines never come.
//
// A job with a budget is stopped at the instant at which its part of the bills comes to it, also
// within a round: at the whole second before, if its application counts in these. It is over then,
// and no longer anybody's.
//
// A job with a Controller (controlled_work.hpp) is told at once, and has a machine until it is
// taken. It is moved on whenever something happens in it, in one order with all others; the
// scheduler is asked when it ends, and when its Plans show that it can use fewer GPUs than it has,
// or more than before.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "schedulers/scheduler.hpp"
#include "sim/jobs/job_outcome.hpp"
#include "sim/jobs/job_world.hpp"
#include "sim/jobs/schedule_decision.hpp"
#include "sim/jobs/shared_links.hpp"
#include "sim/jobs/workload_jobs.hpp"

namespace ukemi::sim {

// Jobs that come because of what became of others: at the beginning, and whenever some end.
class JobSource {
public:
    virtual ~JobSource() = default;
    virtual std::size_t jobs_max() const = 0;  // that it will give
    // `ended`: numbers of jobs, from 0 in the order in which they came; `live`: those that have
    // come and not ended. Those that it gives come at once.
    virtual std::vector<SharingJob> next(Instant now, std::span<const std::size_t> ended,
                                         std::size_t live) = 0;
};

struct ScheduledWorkload {
    SharedCluster cluster;
    Duration round;  // zero: at every event
    WorkloadJobs jobs;
    bool keeps_spans = true;
    JobSource* source = nullptr;   // in place of `jobs`
    SharedLinks* links = nullptr;  // of jobs with a LinkedStep
    JobWorld* world = nullptr;     // who runs the jobs; null: their work is computed
    bool keeps_decisions = false;
    bool keeps_logs = false;       // of what Controllers decide
    ScheduleSink* sink = nullptr;  // is told of jobs and spans, in place of the outcome's lists
};

struct ScheduleOutcome {
    std::vector<JobOutcome> jobs;  // without a sink
    std::vector<HeldSpan> spans;   // the same, if they are kept, in the order of their ends
    std::vector<ScheduleDecision> decided;  // if they are kept
    std::int64_t decisions = 0;
    bool interrupted = false;   // the world was told to end
    std::size_t live_most = 0;  // jobs that had come and were not complete, at once
    // Jobs that were over while one before them was not, at once: whose outcomes were kept.
    std::size_t waiting_most = 0;
    std::int64_t rounds = 0;  // until the last job was complete; 0 without rounds
    Instant end;              // of the last job
    // Of all machines: what they cost, and what of it no job had. The rest is the jobs' to the
    // nano-dollar.
    Dollars fleet_cost;
    Dollars unused_cost;
    Duration machine_time;  // paid for
    std::int64_t machines_lost = 0;
    std::int64_t shared_losses = 0;  // of them such as hit several jobs at once
};

// InputError where a measured application's tables lack what the run asks for.
ScheduleOutcome run_schedule(const ScheduledWorkload& workload, schedulers::Scheduler& scheduler);

}  // namespace ukemi::sim
