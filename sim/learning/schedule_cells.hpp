// schedule_cells.hpp — a law's reference schedule in pieces: in each, noise scale and rate are
// level.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/learning/noise_scale_law.hpp"

namespace ukemi::sim {

struct ScheduleCell {
    std::int64_t from = 0;  // in samples of the schedule; the first begins at 0
    double noise_scale = 0;
    double squared_norm = 0;
    double factor = 1;  // of the schedule's first rate
};

// Cells begin at every point of the curve and every drop, and evenly between two of them.
std::vector<ScheduleCell> schedule_cells(const NoiseScaleLaw& law);

}  // namespace ukemi::sim
