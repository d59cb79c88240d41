// parallel_for_test.cpp — every index once, whatever the threads, and really beside each other.
#include "base/parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <latch>
#include <vector>

using namespace ukemi;

TEST_CASE("parallel for: every index is called once, on any number of threads", "[parallel_for]") {
    for (const int threads : {-1, 0, 1, 2, 7, 100}) {
        for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
            CAPTURE(threads, count);
            // Plain values: their writers are ordered by nothing but the joining of the threads.
            std::vector<int> calls(count);
            parallel_for(count, threads, [&](std::size_t index) { ++calls[index]; });
            CHECK(std::ranges::count(calls, 1) == static_cast<std::ptrdiff_t>(count));
        }
    }
}

TEST_CASE("parallel for: as many calls as threads are under way at the same time",
          "[parallel_for]") {
    constexpr int threads = 4;
    std::latch all_there(threads);  // without it the test would never end
    std::atomic<int> done = 0;
    parallel_for(threads, threads, [&](std::size_t) {
        all_there.arrive_and_wait();
        ++done;
    });
    CHECK(done == threads);
}
