// training_rules.hpp — what a Plan must be for a training step, and who averages with whom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policies/plan.hpp"

namespace ukemi::kernels {

// Learners with a replica each, at most: the memory of a worker grows with them.
inline constexpr std::int32_t learners_most = 64;

// Why a step of `workers` ranks cannot be done under this Plan (a layout, a schedule, a codec's
// level or a synchronisation that is not here); empty if it can.
std::string training_refusal(const policies::Plan& plan, int workers);

// Whether each of a worker's learners has a replica of its own: several of them under synchronous
// averaging. Else they share the worker's, and are micro-batches.
bool learners_average(const policies::Plan& plan);

// Who averages with `rank` in this step of pair averaging: ranks are matched at random, anew in
// each step, the same on every rank. With an odd number one is left over and only takes its local
// step.
std::optional<int> peer_of(std::uint64_t seed, std::int64_t step, int rank, int size);

}  // namespace ukemi::kernels
