// double_binary_tree.cpp — two trees of half the buffer each; an inner rank of one is a leaf of the
// other, so that every rank sends and receives all the time.
//
// Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35(12), 2009; the trees are those of NCCL (src/graph/trees.cc, ncclGetBtree
// and ncclGetDtree): the parent of a rank clears its lowest bit and sets the next one; the second
// tree is the mirror image, or shifted by one if the number of ranks is odd. Chunks follow each
// other through both trees, upwards as sums and downwards as results.
#include <algorithm>

#include "base/invariant.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::kernels {
namespace {

// −1 for the root, rank 0.
std::int32_t parent_of(std::int32_t ranks, std::int32_t rank) {
    if (rank == 0) return -1;
    const std::int32_t lowest = rank & -rank;
    const std::int32_t up = (rank ^ lowest) | (lowest << 1);
    return up < ranks ? up : rank ^ lowest;
}

class Tree {
public:
    explicit Tree(std::int32_t ranks) : height_(static_cast<std::size_t>(ranks)) {
        parent_.reserve(static_cast<std::size_t>(ranks));
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            parent_.push_back(parent_of(ranks, rank));
            // A path never has more edges than there are bits, so this ends soon.
            std::int32_t steps = 0;
            for (std::int32_t at = rank; at != 0; at = parent_of(ranks, at)) {
                std::int32_t& above = height_[static_cast<std::size_t>(parent_of(ranks, at))];
                above = std::max(above, ++steps);
            }
        }
    }
    std::int32_t parent(std::int32_t rank) const { return parent_[static_cast<std::size_t>(rank)]; }
    std::int32_t height(std::int32_t rank) const { return height_[static_cast<std::size_t>(rank)]; }
    std::int32_t depth(std::int32_t rank) const { return rank == 0 ? 0 : 1 + depth(parent(rank)); }

private:
    std::vector<std::int32_t> parent_;
    std::vector<std::int32_t> height_;
};

}  // namespace

Schedule double_binary_tree_schedule(std::int32_t ranks, std::int32_t chunks_per_tree) {
    INVARIANT(ranks >= 1 && chunks_per_tree >= 1);
    Schedule schedule{"double_binary_tree", ranks, 2 * chunks_per_tree, {}};
    const Tree tree(ranks);
    for (std::int32_t second = 0; second < 2; ++second) {
        const auto placed = [&](std::int32_t rank) {
            if (second == 0) return rank;
            return ranks % 2 == 0 ? ranks - 1 - rank : (rank + 1) % ranks;
        };
        const auto channel = static_cast<std::uint8_t>(second);
        for (std::int32_t chunk = 0; chunk < chunks_per_tree; ++chunk) {
            const std::int32_t whole = second * chunks_per_tree + chunk;
            for (std::int32_t rank = 1; rank < ranks; ++rank) {
                const std::int32_t parent = tree.parent(rank);
                schedule.transfers.push_back({placed(rank), placed(parent), whole, 1,
                                              chunk + tree.height(rank), TransferKind::reduce,
                                              channel});
                schedule.transfers.push_back({placed(parent), placed(rank), whole, 1,
                                              chunk + tree.height(0) + tree.depth(parent),
                                              TransferKind::copy, channel});
            }
        }
    }
    std::stable_sort(schedule.transfers.begin(), schedule.transfers.end(),
                     [](const Transfer& a, const Transfer& b) { return a.step < b.step; });
    return schedule;
}

// Eight chunks a tree: live workers cut those of a large buffer into segments, and pass on each as
// it comes. A simulated network has to be asked for as many as suit the size.
Schedule make_double_binary_tree(std::int32_t ranks) {
    return double_binary_tree_schedule(ranks, 8);
}

}  // namespace ukemi::kernels
