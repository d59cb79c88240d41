// transition_systems.hpp — what published systems' changes of the group cost, by name.
//
// One table. Every number in it is an input: typed in from where `source` says, never fitted here.
// A scenario names a system and may still say each thing itself.
#pragma once

#include <span>
#include <string_view>

#include "sim/job/transition_costs.hpp"

namespace ukemi::sim {

struct TransitionSystem {
    std::string_view name;  // "kungfu", as in scenarios
    std::string_view summary;
    std::string_view source;
    TransitionCosts (*costs)();
};

std::span<const TransitionSystem> all_transition_systems();
// Null if there is none of that name.
const TransitionSystem* find_transition_system(std::string_view name);

}  // namespace ukemi::sim
