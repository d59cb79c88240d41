// ring.cpp — reduce-scatter, then all-gather, around a ring: 2(n−1) steps, 2(n−1)/n of the buffer.
//
// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 69(2), 2009, section 4.
#include "kernels/schedule.hpp"

namespace ukemi::kernels {

// In step s of the first half rank r passes on chunk r − s; at its end it holds the sum of chunk
// r + 1, which is what it passes on first in the second half.
Schedule make_ring(std::int32_t ranks) {
    Schedule schedule{"ring", ranks, ranks, {}};
    const auto around = [&](std::int32_t rank) { return (rank % ranks + ranks) % ranks; };
    for (std::int32_t step = 0; step < 2 * (ranks - 1); ++step) {
        const bool adds = step < ranks - 1;
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            const std::int32_t chunk = adds ? rank - step : rank + 1 - (step - (ranks - 1));
            schedule.transfers.push_back({rank, around(rank + 1), around(chunk), 1, step,
                                          adds ? TransferKind::reduce : TransferKind::copy});
        }
    }
    return schedule;
}

}  // namespace ukemi::kernels
