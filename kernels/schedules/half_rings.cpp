// half_rings.cpp — the two halves of a ring all-reduce, each n−1 steps and (n−1)/n of the buffer.
//
// Patarasuk and Yuan 2009 (see ring.cpp), with chunk r left to rank r.
#include "base/invariant.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::kernels {
namespace {

Schedule half_ring(std::string name, std::int32_t ranks, std::int32_t lag, TransferKind kind) {
    INVARIANT(ranks >= 1);
    Schedule schedule{std::move(name), ranks, ranks, {}};
    for (std::int32_t step = 0; step < ranks - 1; ++step) {
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            const std::int32_t chunk = (rank - step - lag + 2 * ranks) % ranks;
            schedule.transfers.push_back({rank, (rank + 1) % ranks, chunk, 1, step, kind});
        }
    }
    return schedule;
}

}  // namespace

Schedule ring_reduce_scatter_schedule(std::int32_t ranks) {
    return half_ring("ring_reduce_scatter", ranks, 1, TransferKind::reduce);
}

Schedule ring_all_gather_schedule(std::int32_t ranks) {
    return half_ring("ring_all_gather", ranks, 0, TransferKind::copy);
}

}  // namespace ukemi::kernels
