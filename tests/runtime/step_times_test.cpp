// step_times_test.cpp — a coordinator that stands still makes no step look shorter than it was.
#include "runtime/step_times.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

namespace ukemi::runtime {

namespace {

// Ends of steps of 1 s each, but nobody took them up from `stall` until `until`.
std::vector<double> ends_with_stall(std::size_t count, double stall, double until) {
    std::vector<double> ends;
    for (std::size_t i = 1; i <= count; ++i) {
        const auto end = static_cast<double>(i);
        ends.push_back(end > stall && end < until ? until : end);
    }
    return ends;
}

}  // namespace

TEST_CASE("step times: reports that were read at once are no short steps", "[prediction]") {
    // A stretch that began with one of those was 0.2 s a step.
    const std::vector<double> stalled = ends_with_stall(40, 10.5, 14.9);
    for (std::size_t length : {1U, 2U, 5U}) {
        const std::vector<double> means = stretch_means_s(stalled, length, 100);
        CAPTURE(length);
        CHECK(std::ranges::min(means) >= 1 - 1e-12);
    }
    // The first of all is late.
    const std::vector<double> late = ends_with_stall(40, 0.5, 4.9);
    CHECK(mean_step_s(late) >= 1 - 1e-12);
    CHECK(mean_step_s(late) < 1.01);
}

TEST_CASE("step times: stretches follow each other, and do not overlap", "[prediction]") {
    const std::vector<double> ends = ends_with_stall(11, 0, 0);
    CHECK(stretch_means_s(ends, 5, 100) == std::vector<double>{1, 1});
    CHECK(stretch_means_s(ends, 5, 1).size() == 1);
    CHECK(stretch_means_s(ends, 50, 3) == std::vector<double>{1});
    CHECK(stretch_means_s(ends, 50, 0).empty());
}

}  // namespace ukemi::runtime
