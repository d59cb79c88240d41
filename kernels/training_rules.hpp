// training_rules.hpp — what a Plan must be for a training step, and who averages with whom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policies/plan.hpp"

namespace ukemi {

// Why a step of `workers` ranks cannot be done under this Plan (a layout, a schedule, a codec's
// level or a synchronisation that is not here); empty if it can.
std::string training_refusal(const Plan& plan, int workers);

// Who averages with `rank` in this step of pair averaging: ranks are matched at random, anew in
// each step, the same on every rank. With an odd number one is left over and only takes its local
// step.
std::optional<int> peer_of(std::uint64_t seed, std::int64_t step, int rank, int size);

}  // namespace ukemi
