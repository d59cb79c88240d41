// binary_tree.cpp — sums travel up a binary tree and come back down: 2 floor(log2 n) steps.
//
// KungFu's BINARY_TREE (RUNTIME §1.6): the children of rank i are 2i + 1 and 2i + 2. An inner rank
// sends three buffers (one up, two down), the root two, a leaf one.
#include <bit>

#include "kernels/schedule.hpp"

namespace ukemi::kernels {

Schedule make_binary_tree(std::int32_t ranks) {
    Schedule schedule{"binary_tree", ranks, 1, {}};
    const auto level = [](std::int32_t rank) {
        return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(rank) + 1)) - 1;
    };
    const std::int32_t depth = level(ranks - 1);
    for (std::int32_t rank = ranks - 1; rank > 0; --rank) {
        schedule.transfers.push_back(
            {rank, (rank - 1) / 2, 0, 1, depth - level(rank), TransferKind::reduce});
    }
    for (std::int32_t rank = 1; rank < ranks; ++rank) {
        schedule.transfers.push_back(
            {(rank - 1) / 2, rank, 0, 1, depth + level(rank) - 1, TransferKind::copy});
    }
    return schedule;
}

}  // namespace ukemi::kernels
