#include "records/transition_phases.hpp"

#include <algorithm>

namespace ukemi::records {

Duration sum_of(const PhaseTimes& times) {
    Duration sum;
    for (const Duration time : times) sum += time;
    return sum;
}

policies::TransitionPhase phase_after(const PhaseTimes& times, Duration elapsed) {
    for (std::size_t phase = 0; phase < times.size(); ++phase) {
        if (elapsed < times[phase]) return static_cast<policies::TransitionPhase>(phase);
        elapsed -= times[phase];
    }
    return policies::TransitionPhase::none;
}

void add_phases(PhaseCosts& costs, const PhaseTimes& times, Duration elapsed,
                std::int32_t workers) {
    for (std::size_t phase = 0; phase < times.size() && elapsed > Duration{}; ++phase) {
        if (times[phase] <= Duration{}) continue;
        const Duration part = std::min(elapsed, times[phase]);
        ++costs[phase].count;
        costs[phase].standstill += part;
        costs[phase].instance_time += std::int64_t{workers} * part;
        elapsed -= part;
    }
}

}  // namespace ukemi::records
