// halving_doubling.cpp — recursive halving, then recursive doubling, for any number of ranks.
//
// Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH",
// IJHPCA 19(1), 2005, section 4.5 (Rabenseifner's algorithm): 2 log2 p steps and 2(p−1)/p of the
// buffer a rank, with p the largest power of two that is not above n. The n − p others first fold
// their buffers into a partner each, and get the sum from it at the end: two steps more.
#include <bit>

#include "kernels/schedule.hpp"

namespace ukemi::kernels {

Schedule make_halving_doubling(std::int32_t ranks) {
    const auto power = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(ranks)));
    Schedule schedule{"halving_doubling", ranks, power, {}};
    std::int32_t step = 0;
    const auto fold = [&](bool in) {
        for (std::int32_t rank = power; rank < ranks; ++rank) {
            const std::int32_t partner = rank - power;
            schedule.transfers.push_back({in ? rank : partner, in ? partner : rank, 0, power, step,
                                          in ? TransferKind::reduce : TransferKind::copy});
        }
        if (power < ranks) ++step;
    };
    fold(true);
    // Before the step with this distance, ranks that agree in all higher bits share the same
    // 2 × distance chunks. Each keeps the half that its own bit names and sends the other one.
    for (std::int32_t distance = power / 2; distance > 0; distance /= 2, ++step) {
        for (std::int32_t rank = 0; rank < power; ++rank) {
            const std::int32_t partner = rank ^ distance;
            schedule.transfers.push_back(
                {rank, partner, partner & ~(distance - 1), distance, step, TransferKind::reduce});
        }
    }
    for (std::int32_t distance = 1; distance < power; distance *= 2, ++step) {
        for (std::int32_t rank = 0; rank < power; ++rank) {
            schedule.transfers.push_back({rank, rank ^ distance, rank & ~(distance - 1), distance,
                                          step, TransferKind::copy});
        }
    }
    fold(false);
    return schedule;
}

}  // namespace ukemi::kernels
