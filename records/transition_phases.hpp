// transition_phases.hpp — how long the phases of a run's transitions took, and who stood still.
#pragma once

#include <array>
#include <cstdint>

#include "base/quantity.hpp"
#include "policies/observation.hpp"

namespace ukemi::records {

// How long each phase of one transition takes, by TransitionPhase.
using PhaseTimes = std::array<Duration, policies::transition_phase_count>;

Duration sum_of(const PhaseTimes& times);
// The phase that is under way once so much of a transition is over; `none` at its end.
policies::TransitionPhase phase_after(const PhaseTimes& times, Duration elapsed);

struct PhaseCost {
    std::int64_t count = 0;
    Duration standstill;     // of the group; nothing where it trains on meanwhile
    Duration instance_time;  // of the machines that the phase kept busy
    friend bool operator==(const PhaseCost&, const PhaseCost&) = default;
};
using PhaseCosts = std::array<PhaseCost, policies::transition_phase_count>;  // by TransitionPhase

inline PhaseCost& cost_of(PhaseCosts& costs, policies::TransitionPhase phase) {
    return costs[static_cast<std::size_t>(phase)];
}
inline const PhaseCost& cost_of(const PhaseCosts& costs, policies::TransitionPhase phase) {
    return costs[static_cast<std::size_t>(phase)];
}
// The first `elapsed` of a transition, by `workers` machines. A phase that has begun counts.
void add_phases(PhaseCosts& costs, const PhaseTimes& times, Duration elapsed, std::int32_t workers);

}  // namespace ukemi::records
