// interference_rule.hpp — whether the network has become slower than it was: a vote of the workers.
//
// KungFu (Mai et al., OSDI'20, figure 5; session/adaptiveStrategies.go): each worker votes when its
// communication runs below 0.8 of the throughput of its own first window, and the majority decides.
#pragma once

#include <cstdint>

namespace ukemi::policies {

inline constexpr double interference_share = 0.8;

// A worker's vote. Both throughputs are of equally many bytes.
constexpr bool votes_interference(double throughput, double reference,
                                  double share = interference_share) {
    return throughput < share * reference;
}
// More than half of the workers, half rounded down: 5 of 8 agree, and 4 of 7.
constexpr bool interference_agreed(std::int64_t votes, std::int64_t workers) {
    return votes > workers / 2;
}

}  // namespace ukemi::policies
