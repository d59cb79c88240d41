// forest.cpp — up each tree, then down again, level by level.
#include "kernels/schedules/forest.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::kernels {
namespace {

std::vector<std::int32_t> depths_of(const TreeParents& parents) {
    std::vector<std::int32_t> depths;
    for (std::size_t rank = 0; rank < parents.size(); ++rank) {
        std::int32_t depth = 0;
        for (std::int32_t at = parents[rank]; at >= 0; at = parents[static_cast<std::size_t>(at)]) {
            ++depth;
            INVARIANT(static_cast<std::size_t>(depth) < parents.size());
        }
        depths.push_back(depth);
    }
    return depths;
}

}  // namespace

Schedule forest_schedule(std::string name, const std::vector<TreeParents>& trees) {
    INVARIANT(!trees.empty());
    Schedule schedule{std::move(name),
                      static_cast<std::int32_t>(trees[0].size()),
                      static_cast<std::int32_t>(trees.size()),
                      {}};
    std::vector<std::vector<std::int32_t>> depths;
    std::int32_t deepest = 0;
    for (const TreeParents& parents : trees) {
        depths.push_back(depths_of(parents));
        deepest = std::max(deepest, *std::max_element(depths.back().begin(), depths.back().end()));
    }
    for (std::size_t tree = 0; tree < trees.size(); ++tree) {
        for (std::int32_t rank = 0; rank < schedule.ranks; ++rank) {
            const std::int32_t parent = trees[tree][static_cast<std::size_t>(rank)];
            if (parent < 0) continue;
            const std::int32_t depth = depths[tree][static_cast<std::size_t>(rank)];
            const auto chunk = static_cast<std::int32_t>(tree);
            schedule.transfers.push_back(
                {rank, parent, chunk, 1, deepest - depth, TransferKind::reduce});
            schedule.transfers.push_back(
                {parent, rank, chunk, 1, deepest + depth - 1, TransferKind::copy});
        }
    }
    std::stable_sort(schedule.transfers.begin(), schedule.transfers.end(),
                     [](const Transfer& a, const Transfer& b) { return a.step < b.step; });
    return schedule;
}

std::int32_t host_count(std::int32_t ranks, std::int32_t per_host) {
    INVARIANT(ranks >= 1 && per_host >= 1);
    return (ranks - 1) / per_host + 1;
}

}  // namespace ukemi::kernels
