// forest.hpp — all-reduce over one tree for each part of the buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/schedule.hpp"

namespace ukemi::kernels {

// The parent of each rank; −1 for the one root.
using TreeParents = std::vector<std::int32_t>;

// Sums of chunk i travel up trees[i] and come back down. Step s of all trees is the step of equal
// distance from the start: ranks of the greatest depth of all trees send first.
Schedule forest_schedule(std::string name, const std::vector<TreeParents>& trees);

// Hosts are blocks of per_host ranks (the last one may be smaller), their first rank is the master.
std::int32_t host_count(std::int32_t ranks, std::int32_t per_host);

}  // namespace ukemi::kernels
