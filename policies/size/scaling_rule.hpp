// scaling_rule.hpp — how many workers to try next, from the throughput at the sizes tried so far:
// pure functions.
//
// Or, Zhang, Freedman, «Resource Elasticity in Distributed Deep Learning» (MLSys'20), as in the
// authors' engine: a walk over sizes that are a fixed number of workers apart. Two neighbouring
// sizes pass if the step between them pays; either by throughput alone, or by what finishing sooner
// is worth against what it costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::policies {

struct MeasuredSize {
    std::int32_t workers = 0;
    double samples_per_second = 0;  // mean over the steps measured
    std::int64_t steps = 0;         // measured at this size
};

struct ScalingLimits {
    std::int32_t spawn = 4;  // workers that are added or taken away at once
    std::int32_t least = 4;
    std::int32_t most = 60;
    std::int32_t consecutive_passes = 3;  // of the smallest sizes: else smaller ones are tried
    std::int64_t stay_steps = 100;        // to be measured beyond the first size that fails
};

// s = (ΔR ÷ Δk) ÷ (R ÷ k): what an added worker brings, of what one brought before. 1 is perfect
// scaling.
double scaling_efficiency(const MeasuredSize& smaller, const MeasuredSize& larger);

// The size to go to. `measured` is sorted by workers and not empty; passes[i] says whether going
// from measured[i] to measured[i + 1] pays.
std::int32_t next_size(std::span<const MeasuredSize> measured, const std::vector<bool>& passes,
                       const ScalingLimits& limits);

// What finishing after some time is worth, in dollars.
class UtilityOfTime {
public:
    struct Point {
        double dollars = 0;
        Duration until;
    };
    // A straight line from `dollars` at once to nothing at `until`, and on below.
    static UtilityOfTime linear(Point intercepts);
    // Straight lines through the points, which are sorted by time; level before the first. As the
    // engine has it, its «steps» are not level: what follows the last is a line to nothing at
    // `total` if that is later, and beyond the last point the last line goes on.
    static UtilityOfTime steps(std::vector<Point> points, Duration total);

    double dollars_at(double seconds) const;

private:
    std::vector<Point> points_;  // at least two
};

struct JobAhead {
    Duration elapsed;
    std::int64_t samples_left = 0;
    double worker_dollars_per_hour = 1;
};

// U(E_larger) − U(E_smaller) > C_larger − C_smaller, with E = elapsed + time left and C the price
// of k workers for the time left.
bool utility_passes(const MeasuredSize& smaller, const MeasuredSize& larger,
                    const UtilityOfTime& utility, const JobAhead& job);

}  // namespace ukemi::policies
