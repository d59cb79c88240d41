// multi_star.cpp — stars inside the hosts, and a star over their masters.
//
// KungFu's TREE (one graph, in whose middle is the first master) and MULTI_STAR (one graph and part
// of the buffer for each master in the middle), RUNTIME §1.6.
#include "kernels/schedules/forest.hpp"
#include "studies/schedules/schedules.hpp"

namespace ukemi::studies {
namespace {

kernels::TreeParents star_of_stars(std::int32_t ranks, std::int32_t per_host, std::int32_t root) {
    kernels::TreeParents parents;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const std::int32_t master = rank / per_host * per_host;
        parents.push_back(rank != master ? master : rank == root ? -1 : root);
    }
    return parents;
}

}  // namespace

kernels::Schedule star_of_stars_schedule(std::int32_t ranks, std::int32_t per_host) {
    return kernels::forest_schedule("tree", {star_of_stars(ranks, per_host, 0)});
}

kernels::Schedule multi_star_schedule(std::int32_t ranks, std::int32_t per_host) {
    std::vector<kernels::TreeParents> trees;
    for (std::int32_t host = 0; host < kernels::host_count(ranks, per_host); ++host) {
        trees.push_back(star_of_stars(ranks, per_host, host * per_host));
    }
    return kernels::forest_schedule("multi_star", trees);
}

}  // namespace ukemi::studies
