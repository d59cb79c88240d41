// swarm_time.hpp — how long a swarm of random worlds goes on: a few seconds in every test run,
// longer where UKEMI_SWARM_SECONDS says so.
#pragma once

#include <chrono>
#include <cstdlib>

namespace ukemi {

class SwarmTime {
public:
    explicit SwarmTime(double otherwise_s) {
        const char* given = std::getenv("UKEMI_SWARM_SECONDS");
        limit_s_ = given == nullptr ? otherwise_s : std::atof(given);
    }
    bool is_over() const {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun_;
        return spent.count() > limit_s_;
    }

private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    double limit_s_ = 0;
};

}  // namespace ukemi
