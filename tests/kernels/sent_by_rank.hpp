// sent_by_rank.hpp — how much a schedule makes each rank send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/schedule.hpp"

namespace ukemi {

// Chunks that each rank sends.
inline std::vector<std::int32_t> sent_by_rank(const kernels::Schedule& schedule) {
    std::vector<std::int32_t> sent(static_cast<std::size_t>(schedule.ranks));
    for (const kernels::Transfer& transfer : schedule.transfers) {
        sent[static_cast<std::size_t>(transfer.from)] += transfer.chunk_count;
    }
    return sent;
}

}  // namespace ukemi
