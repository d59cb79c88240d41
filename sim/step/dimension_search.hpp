// dimension_search.hpp — which grid of a group's ranks adds up a message fastest, in which order of
// its axes and how along each (PowerAI DDL, Cho et al., arXiv:1708.02188;
// kernels/grid_schedule.hpp).
//
// The number of ranks is cut into every product of two and more factors, in the order of ranks and
// so from the inside of the cluster outwards; every order of the axes and, along each, a ring,
// halving-doubling and (up to 16 ranks) all at once are tried. What an axis takes is reckoned from
// its slowest path when all its lines send at once; of all grids those with the smallest sums are
// played on the idle network, and so is every schedule by name that is none of them, as
// hierarchical is. Messages have a latency and no price of their own beyond it, which favours many
// at once. Equal inputs give equal answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "kernels/grid_schedule.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/collective_choice.hpp"
#include "sim/step/step_job.hpp"

namespace ukemi::sim {

// Ranks that stand together in so many equal blocks: the GPUs of a socket, its machine's, …
struct GroupLevel {
    std::int32_t block = 1;  // ranks
    std::string units;       // what a block is made of: blocks of the level before, or ranks
};

// From the inside outwards; the last block is the group. Levels that do not cut it evenly, or hold
// no more than the one before, are left out.
std::vector<GroupLevel> group_levels(const Topology& topology, Routes& routes,
                                     std::span<const DeviceId> workers);

struct PricedGrid {
    std::vector<kernels::GridAxis> axes;  // in the order in which they are reduced
    std::string words;                    // "2 GPUs (direct) x 2 sockets (ring)"
    Duration time;
};

struct SearchedDimensions {
    Bytes message;
    std::vector<PricedGrid> grids;        // of those that were played, the fastest first
    std::vector<PricedCollective> named;  // schedules by name, the fastest first

    bool grid_wins() const { return !grids.empty() && grids.front().time < named.front().time; }
};

inline constexpr std::int32_t searched_ranks_max = 1024;

// Workers: two or more, `per_host` on each machine (0: not as many on each). InputError(WHERE …) if
// there is no path, or if there are more than searched_ranks_max.
SearchedDimensions search_dimensions(const Topology& topology, std::span<const DeviceId> workers,
                                     std::int32_t per_host, Bytes message, std::string_view where);

// What was chosen for a message, and the times of the next ones, in one line.
std::string words_of(const SearchedDimensions& searched);

// Sets how a job's gradients are added up, for messages of StepJob::searched_message.
void choose_dimensions(StepJob& job, const SearchedDimensions& searched);
// The same for the workers that it has now, who are fewer than when it was last chosen.
void search_again(StepJob& job, const Topology& topology);

}  // namespace ukemi::sim
