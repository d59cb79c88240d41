// holdings.hpp — which GPUs each job has, and what having them comes to: places, spans, time by
// cause and bills. It decides nothing.
#pragma once

#include <vector>

#include "sim/jobs/free_gpus.hpp"
#include "sim/jobs/present_jobs.hpp"
#include "sim/jobs/schedule_run.hpp"
#include "sim/jobs/shared_machines.hpp"

namespace ukemi::sim {

class Holdings {
public:
    using JobId = schedulers::JobId;

    // Both outlive it.
    Holdings(const ScheduledWorkload& workload, ScheduleSink& sink);

    void expect_jobs(std::size_t jobs) { bills_.expect_jobs(jobs); }
    void take_away(JobId job, LiveJob& one, Instant end, Instant now);
    // Of what it held before the present decision, as much as the new share has of machines that
    // stay: those where it has most. Before anybody is given anything.
    void keep(LiveJob& one, const schedulers::GpuShare& share, const SharedMachines& machines);
    // A share, on machines that the scheduler chose or, if it chose none, on the freest beside what
    // it keeps. Whether that is another place than before the present decision, so that the job
    // starts anew.
    bool give(LiveJob& one, const schedulers::GpuShare& share, std::vector<GpusOnMachine>* chosen,
              Instant now);

    // Of a job with a Controller: it has its GPUs of a machine until that is gone, and no share in
    // them any more.
    void leave(JobId job, LiveJob& one, std::int32_t machine, Instant now);
    void gone_from(JobId job, LiveJob& one, std::int32_t machine, Instant end, Instant now);
    // It is over: what it did in all the time in which it held anything.
    static void account(LiveJob& one);

    // The instant, `now` at the earliest, at which what it holds has cost all that a budget leaves,
    // if prices stay as they are now; never() if it costs nothing.
    Instant spent_at(const LiveJob& one, Dollars budget, Instant now) const;

    // Machines: at the beginning, before one is taken, when it is gone, and when one has come.
    void begin(const SharedMachines& machines, Instant now);
    void close(std::int32_t machine) { free_.close(group_with(machine), machine); }
    void gone(std::int32_t machine, Instant now) {
        if (bills_.is_open(machine)) bills_.close(machine, now);
    }
    void open(std::int32_t machine, Instant now);
    // All is given back.
    void end(Instant now);
    const MachineBills& bills() const { return bills_; }

    std::int32_t group_with(std::int32_t machine) const;

private:
    void close_span(JobId job, LiveJob& one, Instant end);
    void close_span(JobId job, LiveJob& one, const HeldSpan& span);
    static void add_spent(const SpentTimes& spent, Int128 held, std::int64_t of, LiveJob& one);
    void free(const GpusOnMachine& some, Instant now);
    std::int32_t& gpus_used(std::int32_t machine) {
        return gpus_used_[static_cast<std::size_t>(machine)];
    }
    bool is_billed_in_use(std::int32_t machine) const {
        return bills_.costs_something() && bills_.in_use_only(machine);
    }
    bool is_billed_always(std::int32_t machine) const {
        return bills_.costs_something() && !bills_.in_use_only(machine);
    }

    const SharedCluster& cluster_;
    bool keeps_spans_;
    ScheduleSink& sink_;
    FreeGpus free_;
    MachineBills bills_;
    std::vector<std::int32_t> gpus_used_;  // by machine
};

}  // namespace ukemi::sim
