// time_by_size.hpp — a time that depends on how many workers there are, as points somebody knows.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::policies {

struct SizedTime {
    std::int32_t workers = 1;
    Duration time;
};
// In strictly increasing order of workers. One point: that time at any size; none: no time at all.
using TimeBySize = std::vector<SizedTime>;

// Straight between two points and level outside, so that nothing is promised of sizes that nobody
// knows. Rounded towards the smaller group's time.
Duration time_for_size(const TimeBySize& times, std::int32_t workers);

// The same of whatever has `workers`, and a number of nanoseconds that `time_of` tells. At least
// one point.
template <class Point, class TimeOf>
Int128 nanoseconds_for_size(const std::vector<Point>& points, std::int32_t workers,
                            TimeOf time_of) {
    INVARIANT(!points.empty());
    if (workers <= points.front().workers) return time_of(points.front());
    for (std::size_t right = 1; right < points.size(); ++right) {
        if (points[right].workers < workers) continue;
        const Point& a = points[right - 1];
        const Point& b = points[right];
        const Int128 from = time_of(a);
        return from + (time_of(b) - from) * (workers - a.workers) / (b.workers - a.workers);
    }
    return time_of(points.back());
}

}  // namespace ukemi::policies
