// star.cpp — all send everything to rank 0, which adds it up and sends it back: 2 steps.
//
// KungFu's STAR (RUNTIME §1.6). Rank 0 moves (n−1) buffers each way, the others one.
#include "kernels/schedule.hpp"

namespace ukemi::kernels {

Schedule make_star(std::int32_t ranks) {
    Schedule schedule{"star", ranks, 1, {}};
    for (std::int32_t rank = 1; rank < ranks; ++rank) {
        schedule.transfers.push_back({rank, 0, 0, 1, 0, TransferKind::reduce});
    }
    for (std::int32_t rank = 1; rank < ranks; ++rank) {
        schedule.transfers.push_back({0, rank, 0, 1, 1, TransferKind::copy});
    }
    return schedule;
}

}  // namespace ukemi::kernels
