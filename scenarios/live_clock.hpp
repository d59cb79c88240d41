// live_clock.hpp — the clock of a live run: scenario time, which may run faster than the wall's.
//
// With a scale of 60 a recorded hour passes in a minute. Everything that a live run reports to
// policies, ledger and results is in scenario time; what is measured of the machine is wall time.
#pragma once

#include <chrono>
#include <cmath>

#include "base/quantity.hpp"

namespace ukemi {

class LiveClock {
public:
    using Wall = std::chrono::steady_clock;

    explicit LiveClock(double scale) : scale_(scale), start_(Wall::now()) {}

    double scale() const { return scale_; }
    Instant now() const { return at(Wall::now()); }
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
    Wall::time_point start_;
};

}  // namespace ukemi
