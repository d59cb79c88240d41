// all_to_all.cpp — each rank sends each other one its own part: n−1 steps of equal distance.
//
// The pairwise exchange of Thakur, Rabenseifner and Gropp 2005, section 4.3. The buffer is that of
// all ranks together: chunk i·n + j is what rank i has for rank j, and a rank sends (n−1)/n of its
// n chunks.
#include "base/invariant.hpp"
#include "studies/schedules/schedules.hpp"

namespace ukemi::studies {

kernels::Schedule all_to_all_schedule(std::int32_t ranks) {
    INVARIANT(ranks >= 1 && ranks <= 40'000);  // their square is a number of chunks
    kernels::Schedule schedule{"all_to_all", ranks, ranks * ranks, {}};
    for (std::int32_t distance = 1; distance < ranks; ++distance) {
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            const std::int32_t to = (rank + distance) % ranks;
            schedule.transfers.push_back(
                {rank, to, rank * ranks + to, 1, distance - 1, kernels::TransferKind::copy});
        }
    }
    return schedule;
}

}  // namespace ukemi::studies
