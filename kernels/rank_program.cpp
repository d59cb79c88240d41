// rank_program.cpp — cuts the transfers that concern one rank into segments.
#include "kernels/rank_program.hpp"

#include <Eigen/Core>
#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::kernels {

std::vector<RankMove> rank_program(const Schedule& schedule, int rank, std::size_t elements,
                                   std::size_t element_bytes) {
    INVARIANT(rank >= 0 && rank < schedule.ranks && element_bytes > 0);
    std::vector<RankMove> moves;
    std::vector<std::uint32_t> sent(static_cast<std::size_t>(schedule.ranks));
    std::vector<std::uint32_t> received(static_cast<std::size_t>(schedule.ranks));
    const std::size_t step =
        std::max<std::size_t>(1, segment_bytes_max / element_bytes) * element_bytes;
    for (const Transfer& transfer : schedule.transfers) {
        const bool sends = transfer.from == rank;
        if (sends == (transfer.to == rank)) continue;
        const ChunkRange range =
            chunk_range(elements, schedule.chunks, transfer.first_chunk, transfer.chunk_count);
        RankMove move;
        move.peer = sends ? transfer.to : transfer.from;
        move.kind = sends                                   ? MoveKind::send
                    : transfer.kind == TransferKind::reduce ? MoveKind::receive_add
                                                            : MoveKind::receive;
        std::uint32_t& position = (sends ? sent : received)[static_cast<std::size_t>(move.peer)];
        const std::size_t end = range.end * element_bytes;
        for (move.begin = range.begin * element_bytes; move.begin < end; move.begin = move.end) {
            move.end = std::min(end, move.begin + step);
            move.position = position++;
            moves.push_back(move);
        }
    }
    return moves;
}

Schedule all_gather_schedule(int ranks) {
    Schedule schedule{"all_gather", ranks, ranks, {}};
    for (int distance = 1; distance < ranks; ++distance) {
        for (int rank = 0; rank < ranks; ++rank) {
            schedule.transfers.push_back(
                {rank, (rank + distance) % ranks, rank, 1, 0, TransferKind::copy});
        }
    }
    return schedule;
}

// In round k those who have it, 2^k ranks, pass it on to as many others.
Schedule broadcast_schedule(int ranks, int root) {
    Schedule schedule{"broadcast", ranks, 1, {}};
    std::int32_t step = 0;
    for (int have = 1; have < ranks; have *= 2, ++step) {
        for (int i = 0; i < have && have + i < ranks; ++i) {
            schedule.transfers.push_back(
                {(root + i) % ranks, (root + have + i) % ranks, 0, 1, step, TransferKind::copy});
        }
    }
    return schedule;
}

// Both ranks list the two transfers in the same order.
Schedule exchange_schedule(int ranks, int rank, int peer) {
    Schedule schedule{"exchange", ranks, 1, {}};
    if (rank == peer) return schedule;
    const auto [low, high] = std::minmax(rank, peer);
    schedule.transfers.push_back({low, high, 0, 1, 0, TransferKind::copy});
    schedule.transfers.push_back({high, low, 0, 1, 0, TransferKind::copy});
    return schedule;
}

void add_to(std::span<float> to, std::span<const float> from) {
    INVARIANT(to.size() == from.size());
    const auto count = static_cast<Eigen::Index>(to.size());
    Eigen::Map<Eigen::ArrayXf>(to.data(), count) +=
        Eigen::Map<const Eigen::ArrayXf>(from.data(), count);
}

}  // namespace ukemi::kernels
