// step_worth.hpp — what one step collects of each phase: the formulas of noise_scale_law.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/learning/noise_scale_law.hpp"
#include "sim/learning/schedule_cells.hpp"

namespace ukemi::sim {

class StepWorth {
public:
    // `factors`: of the rate, by phase, the first 1.
    StepWorth(const NoiseScaleLaw& law, std::vector<double> factors);

    // Progress of each phase, never negative.
    std::vector<std::int64_t> of_step(const ScheduleCell& cell, const LearningStep& step) const;
    double noise_scale(const ScheduleCell& cell, const LearningStep& step) const;

private:
    double temperature(const LearningStep& step) const;
    double hot(double temperature) const;
    double steady(double rate) const;

    bool of_plan_;
    double batch_;  // of the schedule
    double rate_;
    double rate_over_best_;
    double limit_;  // in units of `rate_`; 0: none
    double exponent_;
    std::vector<double> factors_;
};

}  // namespace ukemi::sim
