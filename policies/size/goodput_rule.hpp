// goodput_rule.hpp — how much of a throughput is progress, and how many workers it bears: pure
// functions.
//
// Pollux (Qiao et al., OSDI'21): goodput = throughput × statistical efficiency. For a cloud, where
// workers can be bought, a job scales out while each of them still brings much of what one alone
// would.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/invariant.hpp"

namespace ukemi::policies {

// EFFICIENCY(M) = (φ + M₀) ÷ (φ + M) with the noise scale φ ≥ 0 and batches M ≥ M₀ > 0: progress of
// a sample in a batch of M, relative to one in a batch of M₀.
constexpr double statistical_efficiency(double noise_scale, double initial_batch, double batch) {
    return (noise_scale + initial_batch) / (noise_scale + std::max(batch, initial_batch));
}

struct GoodputThresholds {
    double high = 2.0 / 3;  // above it the job scales out …
    double low = 0.5;       // … until a worker brings about so much
};

// goodputs[k − 1] is that of k workers, the first positive; `size` of them train now. Returns the
// most workers with goodput(K) ÷ K ≥ low × goodput(1) and no size before them below it, if the
// present ratio is above `high`; else `size`. Never fewer than `size`.
inline std::int32_t goodput_size(std::span<const double> goodputs, std::int32_t size,
                                 const GoodputThresholds& thresholds = {}) {
    INVARIANT(size > 0 && static_cast<std::size_t>(size) <= goodputs.size() && goodputs[0] > 0);
    const auto ratio = [&](std::int32_t workers) {
        return goodputs[static_cast<std::size_t>(workers) - 1] / workers / goodputs[0];
    };
    if (!(ratio(size) > thresholds.high)) return size;
    std::int32_t grown = size;
    while (static_cast<std::size_t>(grown) < goodputs.size() &&
           ratio(grown + 1) >= thresholds.low) {
        ++grown;
    }
    return grown;
}

}  // namespace ukemi::policies
