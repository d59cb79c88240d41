#include "kernels/learners/task_scheduler.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

std::vector<TaskBinding> bind_all(TaskScheduler& scheduler) {
    std::vector<TaskBinding> bound;
    while (const auto task = scheduler.bind()) bound.push_back(*task);
    return bound;
}

std::vector<int> learners_of(const std::vector<TaskBinding>& bound) {
    std::vector<int> learners;
    for (const TaskBinding& task : bound) learners.push_back(task.learner);
    return learners;
}

// Tasks done in so many seconds by learners whose tasks take these times.
std::int64_t tasks_in(int limit_s, const std::vector<int>& task_s, std::int64_t slack) {
    TaskScheduler scheduler(
        {.gpus = 1, .learners_per_gpu = static_cast<int>(task_s.size()), .slack = slack});
    std::multimap<int, TaskBinding> running;  // by the moment at which it ends
    std::int64_t done = 0;
    while (true) {
        const int begun = running.empty() ? 0 : running.begin()->first;
        while (!running.empty() && running.begin()->first == begun) {
            bool due = scheduler.finish(running.begin()->second);
            while (due) due = scheduler.synchronised();
            running.erase(running.begin());
            ++done;
        }
        for (const TaskBinding& task : bind_all(scheduler)) {
            running.emplace(begun + task_s[static_cast<std::size_t>(task.learner)], task);
        }
        if (running.begin()->first > limit_s) return done;
    }
}

}  // namespace

TEST_CASE("task scheduler: without slack all wait for the slowest, without limit nobody does",
          "[task_scheduler][golden]") {
    const std::vector<int> alike{10, 10, 10, 10};
    CHECK(tasks_in(1000, alike, 0) == 400);
    CHECK(tasks_in(1000, alike, slack_unbounded) == 400);
    const std::vector<int> one_slow{10, 10, 10, 20};
    CHECK(tasks_in(1000, one_slow, 0) == 200);  // bulk-synchronous: four tasks every 20 s
    CHECK(tasks_in(1000, one_slow, slack_unbounded) == 350);  // asynchronous
    // With slack the fast take the tasks that the slow one has no time for.
    CHECK(tasks_in(1000, one_slow, 1) > 200);
    CHECK(tasks_in(1000, one_slow, 3) >= tasks_in(1000, one_slow, 1));
    CHECK(tasks_in(1000, one_slow, 3) <= 350);
}

TEST_CASE("task scheduler: without slack nobody begins a clock before all have ended the last",
          "[task_scheduler]") {
    TaskScheduler scheduler({.gpus = 2, .learners_per_gpu = 2});
    CHECK(scheduler.learners() == 4);
    const auto first = bind_all(scheduler);
    CHECK(learners_of(first) == std::vector<int>{0, 2, 1, 3});  // GPUs in turn
    for (const TaskBinding& task : first) CHECK(task.clock == 1);
    CHECK_FALSE(scheduler.finish(first[2]));
    CHECK(bind_all(scheduler).empty());  // learner 1 is free, and must wait for the clock
    CHECK_FALSE(scheduler.finish(first[0]));
    CHECK_FALSE(scheduler.finish(first[3]));
    CHECK(scheduler.finish(first[1]));
    CHECK(bind_all(scheduler).empty());  // until it is synchronised
    CHECK_FALSE(scheduler.synchronised());
    // Who became free first is first on its GPU.
    CHECK(learners_of(bind_all(scheduler)) == std::vector<int>{1, 3, 0, 2});
}

TEST_CASE("task scheduler: slack lets the free go ahead, by so many clocks and no more",
          "[task_scheduler]") {
    TaskScheduler scheduler({.gpus = 1, .learners_per_gpu = 2, .slack = 1});
    std::vector<TaskBinding> slow = bind_all(scheduler);
    REQUIRE(slow.size() == 2);
    // Learner 0 is quick, learner 1 never ends its first task: clock 1 is never complete.
    TaskBinding quick = slow[0];
    std::vector<std::int64_t> clocks;
    for (int i = 0; i < 10; ++i) {
        scheduler.finish(quick);
        const auto next = bind_all(scheduler);
        if (next.empty()) break;
        REQUIRE(next.size() == 1);
        quick = next[0];
        clocks.push_back(quick.clock);
    }
    CHECK(clocks == std::vector<std::int64_t>{2, 2});
    CHECK(scheduler.finish(slow[1]));
    CHECK(scheduler.synchronised());  // clock 2 was complete long ago
    CHECK_FALSE(scheduler.synchronised());
    CHECK(scheduler.clock() == 2);
    CHECK(bind_all(scheduler).size() == 2);
}

TEST_CASE("task scheduler: fixed, a task waits for its own learner", "[task_scheduler]") {
    TaskScheduler scheduler({.gpus = 1, .learners_per_gpu = 3, .binding = Binding::fixed});
    for (int clock = 0; clock < 4; ++clock) {
        auto tasks = bind_all(scheduler);
        CHECK(learners_of(tasks) == std::vector<int>{0, 1, 2});
        std::ranges::reverse(tasks);  // the last is done first
        for (const TaskBinding& task : tasks) {
            if (scheduler.finish(task)) scheduler.synchronised();
        }
    }
    CHECK(scheduler.clock() == 4);
}

TEST_CASE("task scheduler: any order of ends keeps its promises", "[task_scheduler][property]") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "scheduler");
        SchedulerSettings settings;
        settings.gpus = static_cast<int>(random.integer(1, 3));
        settings.learners_per_gpu = static_cast<int>(random.integer(1, 4));
        settings.tasks_per_clock = random.integer(0, 6);
        settings.slack = random.chance(0.2) ? slack_unbounded : random.integer(0, 3);
        TaskScheduler scheduler(settings);
        std::vector<TaskBinding> running;
        std::set<int> busy;
        std::int64_t next_task = 0;
        for (int event = 0; event < 200; ++event) {
            for (const TaskBinding& task : bind_all(scheduler)) {
                REQUIRE(task.task == next_task++);
                REQUIRE(busy.insert(task.learner).second);
                REQUIRE(task.gpu == task.learner / settings.learners_per_gpu);
                if (settings.slack != slack_unbounded) {
                    REQUIRE(task.clock - scheduler.clock() - 1 <= settings.slack);
                }
                running.push_back(task);
            }
            REQUIRE_FALSE(running.empty());  // it never locks up
            const auto last = static_cast<std::int64_t>(running.size()) - 1;
            const auto at = running.begin() + random.integer(0, last);
            busy.erase(at->learner);
            bool complete = scheduler.finish(*at);
            running.erase(at);
            while (complete) complete = scheduler.synchronised();
        }
        REQUIRE(scheduler.clock() > 0);
    }
}
