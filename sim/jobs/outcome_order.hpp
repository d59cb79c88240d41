// outcome_order.hpp — hands outcomes on in the order of the workload, whatever the order in which
// jobs are over.
//
// What waits is what came after the oldest job that is not over: as many jobs as come while the
// longest one is there. Most of them are kept in a fifth of their size.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "sim/jobs/job_outcome.hpp"

namespace ukemi::sim {

class OutcomeOrder {
public:
    using CostOf = std::function<Dollars(std::size_t job)>;

    // The sink outlives it. With a function of costs outcomes wait for the end, and get these.
    OutcomeOrder(ScheduleSink& sink, CostOf cost_of) : sink_(sink), cost_of_(std::move(cost_of)) {}

    void over(std::size_t job, JobOutcome outcome);
    void end();  // all are over
    std::size_t waiting_most() const { return waiting_most_; }

private:
    // What says all of most jobs; the others have the whole beside it.
    struct Waiting {
        bool is_over = false;
        std::int32_t starts = 0;
        Instant completion;
        Duration held;
        double gpu_s = 0;
        std::int64_t useful = 0;
        std::int64_t restarting = 0;  // flat: all that its transitions took
        std::unique_ptr<const JobOutcome> whole;
    };
    static Waiting packed(JobOutcome outcome);
    static JobOutcome unpacked(const Waiting& waiting);
    void hand_on();

    ScheduleSink& sink_;
    CostOf cost_of_;
    std::deque<Waiting> waiting_;  // from the first that was not handed on
    std::size_t first_ = 0;
    std::size_t count_ = 0;  // of those that are over
    std::size_t waiting_most_ = 0;
};

}  // namespace ukemi::sim
