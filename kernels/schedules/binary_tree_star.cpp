// binary_tree_star.cpp — a star inside each host, a binary tree over the hosts' masters.
//
// KungFu's BINARY_TREE_STAR, its default, and MULTI_BINARY_TREE_STAR, which cuts the buffer into
// one part a host and turns the masters' places in the tree by one from part to part (RUNTIME
// §1.6).
#include "kernels/schedules/forest.hpp"

namespace ukemi::kernels {
namespace {

// The master of host h + turn stands at place h of the tree.
TreeParents tree_star(std::int32_t ranks, std::int32_t per_host, std::int32_t turn) {
    const std::int32_t hosts = host_count(ranks, per_host);
    TreeParents parents;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const std::int32_t host = rank / per_host;
        const std::int32_t place = (host - turn + hosts) % hosts;
        const std::int32_t above = ((place - 1) / 2 + turn) % hosts * per_host;
        const std::int32_t of_master = place == 0 ? -1 : above;
        parents.push_back(rank % per_host == 0 ? of_master : host * per_host);
    }
    return parents;
}

}  // namespace

Schedule make_binary_tree_star(std::int32_t ranks, std::int32_t per_host) {
    return forest_schedule("binary_tree_star", {tree_star(ranks, per_host, 0)});
}

Schedule make_multi_binary_tree_star(std::int32_t ranks, std::int32_t per_host) {
    std::vector<TreeParents> trees;
    for (std::int32_t turn = 0; turn < host_count(ranks, per_host); ++turn) {
        trees.push_back(tree_star(ranks, per_host, turn));
    }
    return forest_schedule("multi_binary_tree_star", trees);
}

}  // namespace ukemi::kernels
