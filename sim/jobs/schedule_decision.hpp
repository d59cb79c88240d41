// schedule_decision.hpp — what a scheduler was told at a decision, and what it gave.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "schedulers/scheduler.hpp"

namespace ukemi::sim {

struct ScheduleDecision {
    Instant at;
    std::vector<std::size_t> ended;  // jobs, by number
    std::vector<std::size_t> arrived;
    std::vector<schedulers::GpuShare> shares;  // as it answered
    std::vector<std::size_t> refused;
};

// But for the moment: the same jobs came and ended, and the same have the same GPUs then.
inline bool decide_alike(const ScheduleDecision& one, const ScheduleDecision& other) {
    const bool same_news =
        one.ended == other.ended && one.arrived == other.arrived && one.refused == other.refused;
    return same_news && std::ranges::is_permutation(one.shares, other.shares);
}

// How many, from the first on, are alike.
inline std::size_t alike_from_first(std::span<const ScheduleDecision> some,
                                    std::span<const ScheduleDecision> others) {
    const std::size_t most = std::min(some.size(), others.size());
    std::size_t alike = 0;
    while (alike < most && decide_alike(some[alike], others[alike])) ++alike;
    return alike;
}

}  // namespace ukemi::sim
