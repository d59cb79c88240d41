// time_by_size_test.cpp — what is said of sizes that nobody measured.
#include "policies/time_by_size.hpp"

#include <catch2/catch.hpp>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::policies;

TEST_CASE("time by size: straight between points and level outside", "[time_by_size]") {
    const TimeBySize times{{2, whole_seconds(10)}, {4, whole_seconds(30)}};
    CHECK(time_for_size(times, 1) == whole_seconds(10));
    CHECK(time_for_size(times, 2) == whole_seconds(10));
    CHECK(time_for_size(times, 3) == whole_seconds(20));
    CHECK(time_for_size(times, 4) == whole_seconds(30));
    CHECK(time_for_size(times, 9) == whole_seconds(30));
    CHECK(time_for_size({}, 9) == Duration{});
    CHECK(time_for_size({{4, whole_seconds(7)}}, 1) == whole_seconds(7));
    CHECK(time_for_size({{4, whole_seconds(7)}}, 100'000) == whole_seconds(7));
}

TEST_CASE("time by size: rounded towards the smaller group's time", "[time_by_size]") {
    const TimeBySize rising{{1, nanoseconds(10)}, {4, nanoseconds(12)}};
    CHECK(time_for_size(rising, 2) == nanoseconds(10));
    CHECK(time_for_size(rising, 3) == nanoseconds(11));
    const TimeBySize falling{{1, nanoseconds(12)}, {4, nanoseconds(10)}};
    CHECK(time_for_size(falling, 2) == nanoseconds(12));
    CHECK(time_for_size(falling, 3) == nanoseconds(11));
    // Longer than products of 64 bits hold.
    const TimeBySize years{{1, Duration{}}, {2'000'000'001, days(100'000)}};
    CHECK(time_for_size(years, 1'000'000'001) == days(50'000));
}

TEST_CASE("time by size: between two points it is between their times",
          "[time_by_size][property]") {
    const std::uint64_t seed = GENERATE(range(1U, 51U));
    CAPTURE(seed);
    RandomStream random(seed, "test/time_by_size");
    TimeBySize times;
    std::int32_t workers = 0;
    for (int point = 0; point < 5; ++point) {
        workers += static_cast<std::int32_t>(random.integer(1, 20));
        times.push_back({workers, nanoseconds(random.integer(0, 1'000'000'000))});
    }
    for (std::size_t right = 1; right < times.size(); ++right) {
        const SizedTime& a = times[right - 1];
        const SizedTime& b = times[right];
        CHECK(time_for_size(times, a.workers) == a.time);
        for (std::int32_t size = a.workers; size <= b.workers; ++size) {
            const Duration time = time_for_size(times, size);
            CHECK(time >= std::min(a.time, b.time));
            CHECK(time <= std::max(a.time, b.time));
        }
    }
}
