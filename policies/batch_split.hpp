// batch_split.hpp — a global batch with two limits.
//
// Or, Zhang, Freedman (MLSys'20), as in the authors' engine: as much for each worker as fits it,
// until all together have as much as the user allows; then that is shared, as evenly as it goes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ukemi::policies {

// Workers ≥ 1; limits ≥ 1. At least a sample for everybody.
inline std::int64_t capped_batch(std::int64_t local_max, std::int64_t global_max,
                                 std::int64_t workers) {
    const bool all_fit = local_max <= global_max / workers;
    return std::max(all_fit ? local_max * workers : global_max, workers);
}

}  // namespace ukemi::policies
