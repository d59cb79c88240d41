#include "kernels/learners/task_scheduler.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::kernels {

TaskScheduler::TaskScheduler(SchedulerSettings settings)
    : settings_(settings),
      tasks_per_clock_(settings.tasks_per_clock > 0 ? settings.tasks_per_clock : learners()) {
    INVARIANT(settings_.gpus >= 1 && settings_.learners_per_gpu >= 1 && settings_.slack >= 0);
    INVARIANT(settings_.binding == Binding::first_come ||
              (settings_.slack == 0 && tasks_per_clock_ == learners()));
    clocks_.assign(static_cast<std::size_t>(learners()), 0);
    free_.resize(static_cast<std::size_t>(settings_.gpus));
    for (int learner = 0; learner < learners(); ++learner) {
        free_[static_cast<std::size_t>(learner / settings_.learners_per_gpu)].push_back(learner);
    }
}

std::optional<int> TaskScheduler::free_learner(std::int64_t clock_least) {
    if (settings_.binding == Binding::fixed) {
        const auto learner = static_cast<int>(next_task_ % learners());
        auto& there = free_[static_cast<std::size_t>(learner / settings_.learners_per_gpu)];
        const auto found = std::ranges::find(there, learner);
        if (found == there.end() || clocks_[static_cast<std::size_t>(learner)] < clock_least) {
            return std::nullopt;
        }
        there.erase(found);
        return learner;
    }
    for (int turn = 0; turn < settings_.gpus; ++turn) {
        const int gpu = (next_gpu_ + turn) % settings_.gpus;
        auto& there = free_[static_cast<std::size_t>(gpu)];
        const auto found = std::ranges::find_if(there, [&](int learner) {
            return clocks_[static_cast<std::size_t>(learner)] >= clock_least;
        });
        if (found == there.end()) continue;
        const int learner = *found;
        there.erase(found);
        next_gpu_ = (gpu + 1) % settings_.gpus;
        return learner;
    }
    return std::nullopt;
}

std::optional<TaskBinding> TaskScheduler::bind() {
    const std::int64_t clock = clock_of(next_task_);
    const bool bounded = settings_.slack < clock;
    const auto learner = free_learner(bounded ? clock - settings_.slack - 1 : 0);
    if (!learner) return std::nullopt;
    ++running_;
    return TaskBinding{next_task_++, clock, *learner, *learner / settings_.learners_per_gpu};
}

bool TaskScheduler::finish(const TaskBinding& done) {
    INVARIANT(running_ > 0 && done.task < next_task_ && done.clock > clock_);
    --running_;
    free_[static_cast<std::size_t>(done.gpu)].push_back(done.learner);
    const auto place = static_cast<std::size_t>(done.clock - clock_ - 1);
    if (finished_.size() <= place) finished_.resize(place + 1, 0);
    ++finished_[place];
    INVARIANT(finished_[place] <= tasks_per_clock_);
    return finished_.front() == tasks_per_clock_;
}

bool TaskScheduler::synchronised() {
    INVARIANT(!finished_.empty() && finished_.front() == tasks_per_clock_);
    finished_.pop_front();
    ++clock_;
    for (std::int64_t& clock : clocks_) clock = clock_;
    return !finished_.empty() && finished_.front() == tasks_per_clock_;
}

}  // namespace ukemi::kernels
