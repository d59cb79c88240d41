// rank_program.hpp — a schedule seen from one rank: what it sends and receives, in bytes.
//
// Large transfers are cut into segments, alike on both sides, so that adding one overlaps with
// receiving the next, and passing it on with both. The moves keep the order of the schedule's list.
// Segments have 1 MiB; of 256 KiB, 16 MiB took about 1.7 times as long (2
// busy cores, 2 and 4 ranks, noisy), of 4 MiB a little less, for four times the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/schedule.hpp"

namespace ukemi::kernels {

enum class MoveKind : std::uint8_t {
    send,
    receive,      // the bytes are taken over
    receive_add,  // they are floats to add to those that are there
};

struct RankMove {
    MoveKind kind = MoveKind::send;
    std::int32_t peer = 0;
    std::uint32_t position = 0;  // how many come before it from its sender to its receiver
    std::size_t begin = 0;       // bytes of the buffer: [begin, end), never empty
    std::size_t end = 0;
};

inline bool overlap(const RankMove& a, const RankMove& b) {
    return a.begin < b.end && b.begin < a.end;
}

inline constexpr std::size_t segment_bytes_max = std::size_t{1} << 20;

// The moves of `rank` for a buffer of `elements` elements of `element_bytes` bytes.
std::vector<RankMove> rank_program(const Schedule& schedule, int rank, std::size_t elements,
                                   std::size_t element_bytes);

// The schedules of the other operations of a Communicator: chunk r of an all-gather is rank r's.
Schedule all_gather_schedule(int ranks);                    // each to each
Schedule broadcast_schedule(int ranks, int root);           // binomial tree
Schedule exchange_schedule(int ranks, int rank, int peer);  // empty if they are one

// Element by element to += from; equal sizes.
void add_to(std::span<float> to, std::span<const float> from);

}  // namespace ukemi::kernels
