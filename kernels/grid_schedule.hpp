// grid_schedule.hpp — an all-reduce along the axes of a grid of ranks, each in its own way.
//
// Along the first axis lines of ranks reduce-scatter the buffer; those along the next one do the
// same with the part that is left to them, and so on; then all-gathers lead back. (PowerAI DDL,
// Cho et al., 2017, section 3; BlueConnect, Cho et al., MLSys 2019: "decompose a single all-reduce
// into parallelizable reduce-scatter and all-gather operations".)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/schedule.hpp"

namespace ukemi::kernels {

// How the ranks of a line divide what they add up: each passes parts on to the next, in size − 1
// rounds; pairs exchange halves, in log2(size) rounds; each sends every other its part at once.
enum class AxisExchange : std::uint8_t { ring, halving_doubling, direct };
inline constexpr std::array<std::string_view, 3> axis_exchange_names = {"ring", "halving_doubling",
                                                                        "direct"};

// Ranks whose numbers differ by multiples of `stride`, `size` of them, are a line.
struct GridAxis {
    std::int32_t size = 2;
    std::int32_t stride = 1;  // the product of the sizes of some of the other axes
    AxisExchange exchange = AxisExchange::ring;
    friend bool operator==(const GridAxis&, const GridAxis&) = default;
};

// Ranks of a grid with these axes: the product of their sizes.
std::int32_t ranks_of(std::span<const GridAxis> axes);

// In the order of `axes`, and back. INVARIANT: sizes ≥ 1, a power of two where halves are
// exchanged; strides and sizes number every rank once.
Schedule grid_schedule(std::span<const GridAxis> axes);

// "4 (ring) x 2 (direct)", in the order in which axes are reduced.
std::string words_of(std::span<const GridAxis> axes);

}  // namespace ukemi::kernels
