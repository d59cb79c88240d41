// host_schedule.hpp — schedules for ranks that stand on several hosts, in any order.
//
// A schedule is made for ranks in blocks, a block a host; here the ranks of a host become
// neighbours, whatever their numbers, so that between hosts goes as little as the algorithm allows.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/schedule.hpp"

namespace ukemi::kernels {

// What a Plan's collective means for ranks of which rank r stands on hosts[r]; an empty list is one
// host. `automatic` is `hierarchical` where several hosts have equally many ranks, more than one,
// and a ring where they have not; with one host, or one rank on each, it is what it is among so
// many ranks. Where hosts are uneven, `hierarchical` is one ring and stars have one host.
// training_refusal must be empty.
//
// A tree of as many hosts as there are (Plan::tree) goes before the collective: sums go up from
// host to host and down again, on each through its first rank. One of other hosts is passed over.
Schedule schedule_on_hosts(policies::Collective algorithm, std::int32_t ranks,
                           std::span<const std::int32_t> hosts,
                           std::span<const std::int32_t> tree = {});

}  // namespace ukemi::kernels
