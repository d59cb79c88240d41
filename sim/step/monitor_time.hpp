// monitor_time.hpp — what it takes the GPU and its host to measure gradients while they train.
//
// Counted as codec_kernels.hpp counts: every operation of the published programs is one kernel that
// the host launches, and so many of them take the longer of host and device. After the gradients
// have arrived, nothing hides them. Nothing here is fitted to steps. The exchange of squares that
// the variance needs is the network's (buckets.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/quantity.hpp"
#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/model_profile.hpp"

namespace ukemi::sim {

enum class GradientMonitor : std::uint8_t {
    none,
    noise_scale,        // from the norms of a worker's gradient and of the mean
    gradient_variance,  // over workers, layer by layer
};
inline constexpr std::array<std::string_view, 3> gradient_monitor_names = {"none", "noise_scale",
                                                                           "gradient_variance"};

// Of one step; `operation` is what the host needs for one (none: what it needs for a codec's).
// InputError(WHERE …) if nothing is known of this GPU's kernels.
Duration monitor_time(GradientMonitor monitor, const GpuProfile& gpu, const ModelProfile& model,
                      std::string_view where, std::optional<Duration> operation = std::nullopt);

}  // namespace ukemi::sim
