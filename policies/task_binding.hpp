// task_binding.hpp — how far ahead of the last synchronisation learners may take tasks: a pure
// rule.
//
// Crossbow (Koliousis et al., VLDB'19), as in its task engine: every `tasks_per_clock` tasks a
// clock ends with a synchronisation; a task of clock c may be bound to any free learner, first come
// first served, once all tasks of clock c − slack − 1 have been synchronised. Slack 0 is bulk
// synchronous (BSP), some slack is stale synchronous (SSP), no limit is asynchronous (ASP).
//
// Not a policy: no Plan binds tasks. Whoever schedules learners can ask here.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "base/invariant.hpp"

namespace ukemi {

inline constexpr std::int64_t unlimited_slack = std::numeric_limits<std::int64_t>::max();

class TaskBinding {
public:
    TaskBinding(std::int32_t learners, std::int64_t tasks_per_clock, std::int64_t slack)
        : tasks_per_clock_(tasks_per_clock),
          slack_(slack),
          clock_of_(static_cast<std::size_t>(learners), -1) {
        INVARIANT(learners > 0 && tasks_per_clock > 0 && slack >= 0);
        for (std::int32_t learner = 0; learner < learners; ++learner) free_.push_back(learner);
    }

    // Clocks whose tasks are all done, one after the other: so many synchronisations there were.
    std::int64_t synchronised() const { return synchronised_; }
    std::int64_t bound() const { return bound_; }

    // The learner that takes the next task; none if nobody is free or the task has to wait.
    std::optional<std::int32_t> bind() {
        const std::int64_t clock = bound_ / tasks_per_clock_;
        const bool may_run = slack_ == unlimited_slack || clock - slack_ <= synchronised_;
        if (free_.empty() || !may_run) return std::nullopt;
        const std::int32_t learner = free_.front();
        free_.pop_front();
        clock_of_[static_cast<std::size_t>(learner)] = clock;
        ++bound_;
        return learner;
    }
    void finished(std::int32_t learner) {
        std::int64_t& clock = clock_of_.at(static_cast<std::size_t>(learner));
        INVARIANT(clock >= 0);
        const auto open = static_cast<std::size_t>(clock - synchronised_);
        if (done_.size() <= open) done_.resize(open + 1);
        ++done_[open];
        clock = -1;
        free_.push_back(learner);
        while (!done_.empty() && done_.front() == tasks_per_clock_) {
            done_.pop_front();
            ++synchronised_;
        }
    }

private:
    std::int64_t tasks_per_clock_;
    std::int64_t slack_;
    std::vector<std::int64_t> clock_of_;  // of each learner's task; −1: it has none
    std::deque<std::int32_t> free_;       // in the order in which they became so
    std::deque<std::int64_t> done_;       // tasks of the clocks that are not synchronised yet
    std::int64_t synchronised_ = 0;
    std::int64_t bound_ = 0;
};

}  // namespace ukemi
