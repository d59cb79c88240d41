// reduction.hpp — how an all-reduce combines two ranks' elements, and what kinds there are.
//
// All of them give equal bits whichever of the two comes first, so an order of sums that a schedule
// fixes gives equal bits on every rank. Integers are wide enough for what is summed (the caller
// sees to it); a half is added in single precision and rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ukemi::kernels {

enum class Reduction : std::uint8_t {
    sum_single,
    sum_half,
    sum_int8,
    sum_int16,
    sum_int32,
    maximum_single,  // of non-negative numbers
};
std::size_t element_bytes(Reduction reduction);

// Element by element into ← into ∘ from; equal sizes, whole elements that begin where
// such an element may stand in memory.
void reduce_into(Reduction reduction, std::span<std::byte> into, std::span<const std::byte> from);

}  // namespace ukemi::kernels
