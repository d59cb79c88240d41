// live_clock.hpp — the clock of a live run: scenario time, which may run faster than the wall's.
//
// With a scale of 60 a recorded hour passes in a minute. Everything that a live run reports to
// policies, ledger and results is in scenario time; what is measured of the machine is wall time.
#pragma once

#include <chrono>
#include <cmath>
#include <functional>
#include <utility>

#include "base/quantity.hpp"

namespace ukemi::runtime {

class LiveClock {
public:
    using Wall = std::chrono::steady_clock;

    // `wall`: another clock than the wall's, for tests; empty: the wall's. `passed`: since the
    // beginning of a run that was begun before.
    explicit LiveClock(double scale, std::function<Wall::time_point()> wall = {},
                       std::chrono::nanoseconds passed = {})
        : scale_(scale),
          wall_now_(wall ? std::move(wall) : &Wall::now),
          start_(wall_now_() - std::chrono::duration_cast<Wall::duration>(passed)) {}

    double scale() const { return scale_; }
    Instant now() const { return at(wall_now_()); }
    Instant at(Wall::time_point moment) const {
        return Instant::at(scaled(std::chrono::nanoseconds(moment - start_)));
    }
    Duration scaled(std::chrono::nanoseconds wall) const {
        return Duration::of(std::llround(static_cast<double>(wall.count()) * scale_));
    }
    std::chrono::nanoseconds wall(Duration scenario) const {
        return std::chrono::nanoseconds(std::llround(static_cast<double>(scenario.raw()) / scale_));
    }

private:
    double scale_;
    std::function<Wall::time_point()> wall_now_;
    Wall::time_point start_;
};

}  // namespace ukemi::runtime
