#include "policies/checkpoint/checkpoint_interval.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"

namespace ukemi::policies {

// std::sqrt is correctly rounded by IEEE 754, so these are the same on every machine.
Duration young_interval(Duration checkpoint, Duration mean_time_between_failures) {
    INVARIANT(checkpoint > Duration{} && mean_time_between_failures > Duration{});
    return seconds(std::sqrt(2 * to_seconds(checkpoint) * to_seconds(mean_time_between_failures)));
}

Duration daly_interval(Duration checkpoint, Duration mean_time_between_failures) {
    INVARIANT(checkpoint > Duration{} && mean_time_between_failures > Duration{});
    const double cost_s = to_seconds(checkpoint);
    const double mean_s = to_seconds(mean_time_between_failures);
    if (cost_s >= 2 * mean_s) return mean_time_between_failures;
    const double ratio = cost_s / (2 * mean_s);
    const double series = 1 + std::sqrt(ratio) / 3 + ratio / 9;
    return seconds(std::sqrt(2 * cost_s * mean_s) * series - cost_s);
}

Duration saving_interval(IntervalRule rule, Duration checkpoint,
                         Duration mean_time_between_failures) {
    constexpr Duration least = whole_seconds(1);
    if (checkpoint <= Duration{}) return least;
    return std::max(rule(checkpoint, mean_time_between_failures), least);
}

}  // namespace ukemi::policies
