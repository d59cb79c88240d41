// coverage_test.cpp — the printed intervals hold the truth about as often as they say.
//
// A short run of bench/coverage_bench.cpp, with bounds that 200 repetitions can hold: five standard
// deviations of the count.
#include "bench/coverage.hpp"

#include <catch2/catch.hpp>

namespace ukemi::coverage {

TEST_CASE("coverage: intervals over six traces hold the true mean", "[cli][coverage]") {
    constexpr std::size_t repetitions = 200;
    const MarketPopulation population(0.5);
    const PrintedIntervals truth = long_simulation(population, 1500, 2);
    const auto held = times_held(population, truth, 6, repetitions, 2);
    for (std::size_t i = 0; i < held.size(); ++i) {
        CAPTURE(interval_names[i]);
        CHECK(held[i] >= repetitions * 87 / 100);
        CHECK(held[i] <= repetitions - 1);
    }
}

}  // namespace ukemi::coverage
