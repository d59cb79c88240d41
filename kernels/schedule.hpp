// schedule.hpp — a collective operation as data: which rank sends which part of the buffer to whom.
//
// The buffer is thought of as `chunks` nearly equal parts, so one schedule serves every size. The
// transfers are listed in an order in which one could carry them out one at a time. What really
// orders them is the data: a transfer waits until its sender holds what earlier transfers bring
// there, and overwrites nothing that an earlier one still has to send. Live workers execute their
// own part of the list; the in-process executor interprets all of it; a simulated network turns
// each transfer into a flow. `step` numbers the rounds of the algorithm, for people and for checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policies/plan.hpp"

namespace ukemi::kernels {

enum class TransferKind : std::uint8_t {
    reduce,  // the receiver adds what it receives to what it has
    copy,    // the receiver takes it over
};

struct Transfer {
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::int32_t first_chunk = 0;
    std::int32_t chunk_count = 1;
    std::int32_t step = 0;
    TransferKind kind = TransferKind::copy;
    std::uint8_t channel = 0;  // between two ranks, transfers of one channel keep their order
    friend bool operator==(const Transfer&, const Transfer&) = default;
};

struct Schedule {
    std::string name;
    std::int32_t ranks = 1;
    std::int32_t chunks = 1;
    std::vector<Transfer> transfers;
    std::int32_t servers = 0;  // the last ranks that have no part in the sum, and do not want it
};

// The elements of chunk `chunk` in a buffer of `count` elements: [begin, end).
struct ChunkRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};
ChunkRange chunk_range(std::size_t count, std::int32_t chunks, std::int32_t first,
                       std::int32_t chunk_count);

// Empty if `algorithm` has a schedule for this many ranks; else a sentence that says why not.
// Ranks stand on hosts in blocks of `per_host`, all on one host if that is 0; only hierarchical and
// the tree stars look at it, and hierarchical wants full blocks.
std::string schedule_refusal(policies::Collective algorithm, std::int32_t ranks,
                             std::int32_t per_host = 0);
// What `automatic` means among so many ranks; any other means itself.
policies::Collective collective_meant(policies::Collective algorithm, std::int32_t ranks);
// All-reduce over `ranks` ≥ 1 ranks; schedule_refusal must be empty. `automatic` takes the one that
// suits so many ranks on one machine best, and its name says which.
Schedule all_reduce_schedule(policies::Collective algorithm, std::int32_t ranks,
                             std::int32_t per_host = 0);

// The other shapes that one may ask for. Throughout ranks, chunks ≥ 1.
// Two trees, each with this many chunks on their way at once.
Schedule double_binary_tree_schedule(std::int32_t ranks, std::int32_t chunks_per_tree);
// Rings along the axes of a grid, ranks numbered along the first axis first.
Schedule multi_ring_schedule(std::span<const std::int32_t> sizes);

}  // namespace ukemi::kernels
