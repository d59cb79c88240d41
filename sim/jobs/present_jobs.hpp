// present_jobs.hpp — the jobs of a workload that have come and are not complete: what each holds,
// and what it forecasts. Memory follows the most that there ever were at once, and takes four bytes
// of each job of the workload.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/invariant.hpp"
#include "base/time_queue.hpp"
#include "sim/jobs/controlled_work.hpp"
#include "sim/jobs/job_outcome.hpp"

namespace ukemi::sim {

// Of a machine that is announced to be taken, and its own until then.
struct LeavingGpus {
    GpusOnMachine gpus;
    std::int32_t group = 0;
    Instant since;
};

struct LiveJob {
    // Every decision looks at these of every job that runs: they stand side by side.
    HeldShare held;
    std::int64_t named_in = -1;  // the last decision that gave it something
    std::unique_ptr<const SharingJob> job;
    std::unique_ptr<JobWork> work;
    ControlledWork* controlled = nullptr;  // that it is, if it has a Controller
    std::vector<LeavingGpus> leaving;      // of such a job, beside what it holds
    TimeQueue<schedulers::JobId>::Ticket wake;
    std::int32_t useful = 0;  // GPUs to such a job, when it was played last
    Instant held_until;       // of spans that are counted
    Int128 held_time = 0;     // of them, GPUs × ns
    Dollars spent;            // of them, if the job has a budget
    // JobWork::reached: the most there ever was, and the most after a stop or a loss. Of jobs
    // without a Controller.
    double most_reached = -std::numeric_limits<double>::infinity();
    double most_kept = -std::numeric_limits<double>::infinity();
    HeldShare held_before;  // the present decision
    Instant held_since;
    TimeQueue<schedulers::JobId>::Ticket end;
    std::vector<GpusOnMachine> kept;      // by a present change, of what it held
    Instant ended_at = Instant::never();  // within a round, before its machine was taken
    Duration step;                        // that it now takes, with others on its links
    JobOutcome outcome;                   // so far
};

class PresentJobs final : public schedulers::JobForecasts {
public:
    using JobId = schedulers::JobId;

    explicit PresentJobs(std::size_t jobs) : slot_of_(jobs, no_slot) {}

    void expect_jobs(std::size_t jobs) { slot_of_.resize(jobs, no_slot); }
    std::size_t expected() const { return slot_of_.size(); }
    bool is_live(JobId job) const { return slot_of_[number_of(job)] != no_slot; }
    LiveJob& operator[](JobId job) { return *slots_[slot_of_[number_of(job)]]; }
    const LiveJob& operator[](JobId job) const { return *slots_[slot_of_[number_of(job)]]; }
    std::size_t count() const { return count_; }
    std::size_t most() const { return most_; }
    void open(JobId job) {
        if (free_slots_.empty()) {
            INVARIANT(slots_.size() < no_slot);
            free_slots_.push_back(static_cast<Slot>(slots_.size()));
            slots_.push_back(std::make_unique<LiveJob>());
        }
        slot_of_[number_of(job)] = free_slots_.back();
        free_slots_.pop_back();
        most_ = std::max(most_, ++count_);
    }
    void close(JobId job) {
        (*this)[job] = {};
        free_slots_.push_back(std::exchange(slot_of_[number_of(job)], no_slot));
        --count_;
    }

    // Forecasts are of this moment.
    void look_at(Instant now) { now_ = now; }
    Duration remaining(JobId job) const override { return work_of(job).remaining(now_); }
    Int128 work_left(JobId job) const override { return work_of(job).work_left(now_); }
    Int128 work_in(JobId job, std::int32_t gpus, Duration time) const override {
        return work_of(job).work_in(gpus, time);
    }
    std::int32_t gpus_max(JobId job) const override { return work_of(job).gpus_max(); }
    double step_s(JobId job, std::int32_t gpus) const override { return work_of(job).step_s(gpus); }
    double steps_left(JobId job) const override { return work_of(job).steps_left(now_); }
    double pace(JobId job, std::int32_t group, std::int32_t gpus,
                std::int32_t machines) const override {
        return work_of(job).pace(group, gpus, machines);
    }
    double pace_left(JobId job) const override { return work_of(job).pace_left(now_); }
    bool starting(JobId job) const override { return work_of(job).starting(now_); }

private:
    using Slot = std::uint32_t;
    static constexpr Slot no_slot = static_cast<Slot>(-1);
    const JobWork& work_of(JobId job) const { return *(*this)[job].work; }

    std::vector<Slot> slot_of_;                    // by job of the workload
    std::vector<std::unique_ptr<LiveJob>> slots_;  // as many as there ever were at once
    std::vector<Slot> free_slots_;
    std::size_t count_ = 0;
    std::size_t most_ = 0;
    Instant now_;
};

}  // namespace ukemi::sim
