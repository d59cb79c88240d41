// astra_system.hpp — what of ASTRA-sim's system file says how a workload is played.
//
// Read are `all-reduce-implementation` (a list, or names joined by _: ring, direct, halvingDoubling
// or doubleBinaryTree of each dimension, or one of oneRing, oneDirect for all), `endpoint-delay`
// (ns, counted once a collective or message), `peak-perf` (TFLOP/s), `local-mem-bw` (GB/s) and
// `roofline-enabled`. How it divides buffers into chunks and schedules them over dimensions is not
// played: a collective goes through its dimensions as a whole.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "kernels/grid_schedule.hpp"
#include "policies/plan.hpp"

namespace ukemi::scenarios {

struct AstraSystem {
    std::vector<kernels::GridAxis> axes;  // of an all-reduce; none: by name
    policies::Collective collective = policies::Collective::ring;
    Duration endpoint_delay;
    double peak_flops = 0;          // 0: not said
    double memory_bytes_per_s = 0;  // 0: not said
    bool roofline = false;          // of all nodes that count their operations
};

inline constexpr std::size_t astra_system_bytes_max = std::size_t{1} << 20;

// On a network whose dimensions have these sizes. InputError with the file and the key: what was
// expected and found.
AstraSystem parse_astra_system(std::string_view text, std::string_view file,
                               std::span<const std::int32_t> sizes);

}  // namespace ukemi::scenarios
