// chain_broadcast.cpp — rank 0's buffer passes down a chain, chunk after chunk: n + chunks − 2
// steps.
//
// The pipelined chain of NETWORK §4: S β + (n + m − 2)(α + S/m β), best for large buffers.
#include <algorithm>

#include "base/invariant.hpp"
#include "studies/schedules/schedules.hpp"

namespace ukemi::studies {

kernels::Schedule chain_broadcast_schedule(std::int32_t ranks, std::int32_t chunks) {
    INVARIANT(ranks >= 1 && chunks >= 1);
    kernels::Schedule schedule{"chain_broadcast", ranks, chunks, {}};
    for (std::int32_t step = 0; step < ranks + chunks - 2; ++step) {
        for (std::int32_t rank = std::max(0, step - chunks + 1); rank <= std::min(step, ranks - 2);
             ++rank) {
            schedule.transfers.push_back(
                {rank, rank + 1, step - rank, 1, step, kernels::TransferKind::copy});
        }
    }
    return schedule;
}

}  // namespace ukemi::studies
