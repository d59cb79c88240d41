// live_jobs.hpp — jobs that share this machine's cores under a scheduler, each a live run of its
// own: one coordinator on a thread of its own, and a group of workers that grows and shrinks as it
// is given GPUs. With none it is paused, as if told to stop: its model is saved, its workers are
// given up, and another run goes on from there when it is given some again.
//
// The loop that asks the scheduler is that of simulated jobs (sim/jobs/schedule_run.hpp); this is
// the JobWorld in it. A core goes from one job to another when the first one's worker has ended.
//
// Paced, time is the workload's: a step takes what its scenario says. Between two decisions each
// job makes the steps that it would make in simulated time, as fast as it can, and stands. Then
// decisions and completion times are those of the simulated run, whatever this machine is like, and
// what is real are groups, gradients, saves and changes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/live_run.hpp"
#include "sim/jobs/job_world.hpp"

namespace ukemi::runtime {

// What a job that has come is.
struct LiveJobSpec {
    scenarios::Scenario scenario;  // its samples are the job's own
    scenarios::PolicyList policies;
    std::uint64_t seed = 0;
    std::filesystem::path folder;       // for checkpoints; exists
    std::filesystem::path resume_from;  // a checkpoint, or empty
    std::int64_t samples_before = 0;    // that it holds
};

struct LiveJobsOptions {
    LiveOptions live;  // of each run, but for what is its own; `stop_requests` end all of them
    std::int32_t cores = 1;
    bool paced = false;
    std::function<void(const std::string& line)> say;  // on the scheduler's thread; may be empty
};

// GPUs that a job was given at one moment, and what it did with them.
struct LiveStint {
    Instant begin;
    Instant end;
    std::int32_t gpus = 0;
    std::int64_t samples = 0;  // in committed steps
};

// What became of one.
struct LiveJobRecord {
    std::string name;
    std::int64_t samples_before = 0;
    std::int64_t samples_total = 0;
    std::int64_t samples_done = 0;
    std::vector<LiveStint> stints;
    std::vector<LiveRun> runs;  // one after each pause: each goes on where the last one saved
    std::filesystem::path checkpoint;  // the last; empty if there is none
    std::string failure;               // why its work is not done; empty if it is
};

class LiveJobs final : public sim::JobWorld {
public:
    using SpecOf = std::function<LiveJobSpec(std::size_t number, const sim::SharingJob& job)>;
    LiveJobs(SpecOf spec_of, LiveJobsOptions options);
    ~LiveJobs() override;  // ends what still runs, as if told to
    LiveJobs(const LiveJobs&) = delete;
    LiveJobs& operator=(const LiveJobs&) = delete;

    std::unique_ptr<sim::JobWork> arrived(std::size_t number, const sim::SharingJob& job) override;
    sim::WorldMoment wait(Instant next) override;

    const LiveJobRecord& record(std::size_t number) const;  // of a job that is over
    std::vector<LiveJobRecord> take_records();              // of all that came; once, at the end

private:
    class Job;
    class PacedWork;
    class TimedWork;

    std::optional<Instant> wait_for_clock(Instant next);
    std::optional<Instant> wait_paced(Instant next);
    template <class Reached>
    bool wait_until(Instant next, Reached reached);
    void order_what_fits();
    void collect_ends();
    void tell();
    bool told_to_stop() const;
    void end_all();
    void expect_something(Instant next) const;

    SpecOf spec_of_;
    LiveJobsOptions options_;
    LiveClock clock_;
    std::atomic<int> stop_{0};  // requests, as all runs see them
    ShareNews news_;
    std::vector<std::string> lines_;          // to be said; under news_.mutex
    Instant reached_;                         // the last moment that wait() said
    std::vector<std::unique_ptr<Job>> jobs_;  // by number
};

}  // namespace ukemi::runtime
