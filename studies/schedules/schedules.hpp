// schedules.hpp — shapes of collectives that no Plan names: only tests and benchmarks ask for them.
#pragma once

#include <cstdint>

#include "kernels/schedule.hpp"

namespace ukemi::studies {

// Throughout ranks, workers, servers, chunks ≥ 1.
// Workers are ranks 0 …, each server holds an equal part.
kernels::Schedule parameter_server_schedule(std::int32_t workers, std::int32_t servers);

// KungFu's TREE and MULTI_STAR over hosts of per_host ranks.
kernels::Schedule star_of_stars_schedule(std::int32_t ranks, std::int32_t per_host);
kernels::Schedule multi_star_schedule(std::int32_t ranks, std::int32_t per_host);

// Other operations than all-reduce.
kernels::Schedule ring_reduce_scatter_schedule(std::int32_t ranks);
kernels::Schedule ring_all_gather_schedule(std::int32_t ranks);
// From rank 0.
kernels::Schedule chain_broadcast_schedule(std::int32_t ranks, std::int32_t chunks);
// Of a buffer of all ranks' parts.
kernels::Schedule all_to_all_schedule(std::int32_t ranks);

}  // namespace ukemi::studies
