// job_outcome.hpp — what became of a job of a workload, and who is told while a run goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

struct ControlledOutcome;  // controlled_work.hpp

// A stretch of time in which a job held the same GPUs; not an empty one. GPUs of machines that are
// being left have spans of their own, beside those of the others.
struct HeldSpan {
    std::size_t job = 0;
    Instant begin;
    Instant end;
    HeldShare held;
};

struct JobOutcome {
    Instant completion = Instant::never();  // never: it was refused, or is not complete
    bool stuck = false;                     // its machines never come, or it gets nowhere
    bool failed = false;                    // it gave up, or the run ended before it did
    bool out_of_budget = false;             // it was stopped: its budget was spent
    std::int64_t starts = 0;                // with other GPUs than before
    Duration held;                          // time in which it had any
    double gpu_s = 0;                       // that it had, up to its end
    std::int64_t losses = 0;                // of machines under it
    GpuTimes gpu_time{};                    // that it had, by cause
    PhaseGpuTimes phase_time{};             // of it, what transitions took
    std::shared_ptr<const ControlledOutcome> controlled;  // of a job with a Controller
    Dollars cost;                                         // of it
    bool is_complete() const { return completion < Instant::never(); }
    bool refused() const { return !is_complete() && !stuck && !failed && !out_of_budget; }

    friend bool operator==(const JobOutcome&, const JobOutcome&) = default;
};

// Is told what became of jobs while a run goes, so that nobody has to keep it all.
class ScheduleSink {
public:
    virtual ~ScheduleSink() = default;
    // Each job once, in the order of the workload: when it and all before it are over. Where
    // machines cost something, at the end of the run: a job's part of a bill is known when the
    // lease ends.
    virtual void over(std::size_t job, const JobOutcome& outcome) = 0;
    // In the order of their ends, of jobs of which `over` has not told yet.
    virtual void held(const HeldSpan& span) = 0;
};

}  // namespace ukemi::sim
