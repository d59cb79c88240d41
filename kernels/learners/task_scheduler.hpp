// task_scheduler.hpp — which learner does which task: Crossbow's work clock, as a rule without
// threads.
//
// A clock has `tasks_per_clock` tasks (Crossbow's «wpc»: learners × GPUs); task t belongs to clock
// 1 + t ÷ tasks_per_clock. A learner has the clock of the last synchronisation that it has been
// part of, at first 0. A task of clock c may go to a free learner whose clock is at least
// c − slack − 1 (Crossbow's lower bound): slack 0 is bulk-synchronous, more lets learners run ahead
// of a synchronisation, and `slack_unbounded` waits for none. Tasks go in order, each to the free
// learner whose turn it is: GPUs round-robin, and on a GPU who became free first. With `fixed`
// (slack 0) task t goes to learner t mod learners and to nobody else, so that a run can be
// repeated bit for bit.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

namespace ukemi::kernels {

inline constexpr std::int64_t slack_unbounded = std::numeric_limits<std::int64_t>::max();

enum class Binding : std::uint8_t { first_come, fixed };

struct SchedulerSettings {
    int gpus = 1;
    int learners_per_gpu = 1;
    std::int64_t tasks_per_clock = 0;  // 0: one for each learner
    std::int64_t slack = 0;
    Binding binding = Binding::first_come;
};

struct TaskBinding {
    std::int64_t task = 0;
    std::int64_t clock = 1;
    int learner = 0;  // of all GPUs: gpu × learners per GPU + its number there
    int gpu = 0;
};

class TaskScheduler {
public:
    explicit TaskScheduler(SchedulerSettings settings);

    int learners() const { return settings_.gpus * settings_.learners_per_gpu; }
    std::int64_t tasks_per_clock() const { return tasks_per_clock_; }
    std::int64_t clock_of(std::int64_t task) const { return 1 + task / tasks_per_clock_; }
    std::int64_t clock() const { return clock_; }  // synchronisations so far
    std::int64_t next_task() const { return next_task_; }
    std::int64_t running() const { return running_; }

    // The next task and who does it, from now on busy; nothing if nobody may.
    std::optional<TaskBinding> bind();
    // It is done. True if all tasks of its clock, and of those before it, now are: synchronise.
    bool finish(const TaskBinding& done);
    // A synchronisation is over: every learner has the next clock. True if another is due.
    bool synchronised();

private:
    std::optional<int> free_learner(std::int64_t clock_least);

    SchedulerSettings settings_;
    std::int64_t tasks_per_clock_;
    std::vector<std::int64_t> clocks_;   // of learners
    std::vector<std::deque<int>> free_;  // by GPU, who became free first stands first
    std::deque<std::int64_t> finished_;  // tasks, by clock from clock_ + 1 on
    int next_gpu_ = 0;
    std::int64_t next_task_ = 0;
    std::int64_t running_ = 0;
    std::int64_t clock_ = 0;
};

}  // namespace ukemi::kernels
