// live_deaths_test.cpp — when a run stops starting workers in place of dead ones.
#include "runtime/live_deaths.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace ukemi;
using namespace ukemi::runtime;

namespace {

InstanceId worker(std::uint32_t number) { return InstanceId{number}; }

}  // namespace

TEST_CASE("live deaths: each one in a row makes the next start wait longer", "[live_deaths]") {
    LiveDeaths deaths(2, std::chrono::milliseconds(100));
    std::vector<std::int64_t> pauses;
    for (std::uint32_t number = 0; number < 8; ++number) {
        CHECK_FALSE(deaths.hopeless());
        deaths.died(worker(number));
        pauses.push_back(deaths.pause().count());
    }
    CHECK(deaths.hopeless());
    CHECK(pauses == std::vector<std::int64_t>{0, 100, 200, 400, 800, 1600, 3200, 5000});
}

TEST_CASE("live deaths: a new step ends the row, one made again does not", "[live_deaths]") {
    const std::vector group{worker(1), worker(2)};
    LiveDeaths deaths(2, std::chrono::milliseconds(100));
    for (int round = 0; round < 20; ++round) {
        deaths.step_made(group, true);
        deaths.died(worker(1));
        CHECK(deaths.row() == 1);
    }
    for (int round = 0; round < 7; ++round) {
        deaths.step_made(group, false);
        CHECK_FALSE(deaths.hopeless());
        deaths.died(worker(2));
    }
    CHECK(deaths.hopeless());
}

TEST_CASE("live deaths: others' steps do not excuse workers that die at their start",
          "[live_deaths]") {
    const std::vector sound{worker(0)};
    LiveDeaths deaths(2, std::chrono::milliseconds(100));
    for (std::uint32_t number = 1; number <= 8; ++number) {
        deaths.step_made(sound, true);
        CHECK_FALSE(deaths.hopeless());
        deaths.died(worker(number));
    }
    CHECK(deaths.hopeless());
}

TEST_CASE("live deaths: a large group may be lost as a whole, twice", "[live_deaths]") {
    LiveDeaths deaths(16, std::chrono::milliseconds(100));
    for (std::uint32_t number = 0; number < 47; ++number) deaths.died(worker(number));
    CHECK_FALSE(deaths.hopeless());
    deaths.died(worker(47));
    CHECK(deaths.hopeless());
}
