// clique.cpp — every rank is the middle of a star for its own part of the buffer: 2 steps.
//
// KungFu's CLIQUE (RUNTIME §1.6). 2(n−1)/n of the buffer a rank, in 2(n−1) messages.
#include "kernels/schedules/forest.hpp"

namespace ukemi::kernels {

Schedule make_clique(std::int32_t ranks) {
    std::vector<TreeParents> stars;
    for (std::int32_t root = 0; root < ranks; ++root) {
        stars.emplace_back(static_cast<std::size_t>(ranks), root)[static_cast<std::size_t>(root)] =
            -1;
    }
    return forest_schedule("clique", stars);
}

}  // namespace ukemi::kernels
