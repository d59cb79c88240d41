// half_rings.cpp — the two halves of a ring all-reduce, each n−1 steps and (n−1)/n of the buffer.
//
// Patarasuk and Yuan 2009 (see ring.cpp), with chunk r left to rank r.
#include "base/invariant.hpp"
#include "studies/schedules/schedules.hpp"

namespace ukemi::studies {
namespace {

kernels::Schedule half_ring(std::string name, std::int32_t ranks, std::int32_t lag,
                            kernels::TransferKind kind) {
    INVARIANT(ranks >= 1);
    kernels::Schedule schedule{std::move(name), ranks, ranks, {}};
    for (std::int32_t step = 0; step < ranks - 1; ++step) {
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            const std::int32_t chunk = (rank - step - lag + 2 * ranks) % ranks;
            schedule.transfers.push_back({rank, (rank + 1) % ranks, chunk, 1, step, kind});
        }
    }
    return schedule;
}

}  // namespace

kernels::Schedule ring_reduce_scatter_schedule(std::int32_t ranks) {
    return half_ring("ring_reduce_scatter", ranks, 1, kernels::TransferKind::reduce);
}

kernels::Schedule ring_all_gather_schedule(std::int32_t ranks) {
    return half_ring("ring_all_gather", ranks, 0, kernels::TransferKind::copy);
}

}  // namespace ukemi::studies
