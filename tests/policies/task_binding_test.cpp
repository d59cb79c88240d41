// task_binding_test.cpp — learners of unlike speed under BSP, SSP and ASP.
#include "policies/task_binding.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace ukemi;

namespace {

// Tasks done in so many seconds by learners whose tasks take these times.
std::int64_t tasks_in(int limit_s, const std::vector<int>& task_s, std::int64_t slack) {
    const auto learners = static_cast<std::int32_t>(task_s.size());
    TaskBinding binding(learners, learners, slack);
    std::multimap<int, std::int32_t> running;  // by the moment at which it ends
    std::int64_t done = 0;
    int now = 0;
    while (true) {
        while (const auto learner = binding.bind()) {
            running.emplace(now + task_s[static_cast<std::size_t>(*learner)], *learner);
            // Nobody runs further ahead than the slack allows.
            const std::int64_t clock = (binding.bound() - 1) / learners;
            if (slack != unlimited_slack) CHECK(clock - binding.synchronised() <= slack);
        }
        now = running.begin()->first;
        if (now > limit_s) return done;
        while (!running.empty() && running.begin()->first == now) {
            binding.finished(running.begin()->second);
            running.erase(running.begin());
            ++done;
        }
    }
}

}  // namespace

TEST_CASE("task binding: without slack all wait for the slowest, without limit nobody does",
          "[task_binding]") {
    const std::vector<int> alike{10, 10, 10, 10};
    CHECK(tasks_in(1000, alike, 0) == 400);
    CHECK(tasks_in(1000, alike, unlimited_slack) == 400);
    const std::vector<int> one_slow{10, 10, 10, 20};
    CHECK(tasks_in(1000, one_slow, 0) == 200);  // a clock of four tasks every 20 s
    CHECK(tasks_in(1000, one_slow, unlimited_slack) == 350);
    // With slack the fast take the tasks that the slow one has no time for.
    CHECK(tasks_in(1000, one_slow, 1) > 200);
    CHECK(tasks_in(1000, one_slow, 3) >= tasks_in(1000, one_slow, 1));
    CHECK(tasks_in(1000, one_slow, 3) <= 350);
}

TEST_CASE("task binding: a task waits for the clock that its slack names", "[task_binding]") {
    TaskBinding binding(2, 2, 0);
    CHECK(binding.bind() == 0);
    CHECK(binding.bind() == 1);
    CHECK_FALSE(binding.bind());  // nobody is free
    binding.finished(1);
    CHECK_FALSE(binding.bind());  // the first clock is not over
    CHECK(binding.synchronised() == 0);
    binding.finished(0);
    CHECK(binding.synchronised() == 1);
    CHECK(binding.bind() == 1);  // first come, first served
    TaskBinding loose(2, 2, 1);
    loose.bind();
    loose.bind();
    loose.finished(1);
    CHECK(loose.bind() == 1);  // a task of the second clock while the first is open
    loose.finished(1);
    CHECK(loose.bind() == 1);
    loose.finished(1);
    CHECK_FALSE(loose.bind());  // the third clock is too far
}
