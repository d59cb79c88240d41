// replica_state.hpp — what a saved state must be for a run to go on from it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace ukemi::kernels {

// InputError, naming `file`, unless these bytes are a Replica::state of so many parameters in which
// all numbers are finite: from any other no training comes to anything.
void expect_trainable_state(std::span<const std::byte> state, std::size_t parameters,
                            std::string_view file);

}  // namespace ukemi::kernels
