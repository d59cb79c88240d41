#include "policies/step_time.hpp"

#include <algorithm>
#include <limits>

namespace ukemi {

namespace {

constexpr Int128 step_longest = days(3660).raw();

// On the line through two points, rounded down; `from` < `to`.
Int128 on_line(Int128 from, Int128 to, Int128 at_from, Int128 at_to, Int128 at) {
    return at_from + (at_to - at_from) * (at - from) / (to - from);
}

Int128 compute_of(const std::vector<BatchTime>& points, std::int64_t batch) {
    INVARIANT(!points.empty());
    if (batch <= points.front().batch) return points.front().time.raw();
    if (points.size() == 1) {
        return static_cast<Int128>(points.front().time.raw()) * batch / points.front().batch;
    }
    std::size_t right = 1;
    while (right + 1 < points.size() && points[right].batch < batch) ++right;
    const BatchTime& a = points[right - 1];
    const BatchTime& b = points[right];
    return on_line(a.batch, b.batch, a.time.raw(), b.time.raw(), batch);
}

// Straight between the points (of increasing numbers of workers), the nearest outside.
template <class Point, class TimeOf>
Int128 by_workers(const std::vector<Point>& points, std::int32_t workers, TimeOf time_of) {
    if (workers <= points.front().workers) return time_of(points.front());
    for (std::size_t right = 1; right < points.size(); ++right) {
        if (points[right].workers < workers) continue;
        const Point& a = points[right - 1];
        const Point& b = points[right];
        return on_line(a.workers, b.workers, time_of(a), time_of(b), workers);
    }
    return time_of(points.back());
}

// Of the last micro-step, and of what is sent with it.
Int128 sending_step_of(const StepTime& time, std::int64_t batch, std::int32_t workers) {
    if (!time.groups.empty()) {
        return by_workers(time.groups, workers, [batch](const GroupTime& group) {
            return compute_of(group.steps, batch);
        });
    }
    const Int128 compute = compute_of(time.compute, batch);
    if (time.synchronisation.empty()) return compute;
    return compute + by_workers(time.synchronisation, workers, [](const SynchronisationTime& one) {
               return static_cast<Int128>(one.time.raw());
           });
}

}  // namespace

std::vector<BatchTime> affine_time(Duration fixed, Duration per_sample) {
    return {{1, fixed + per_sample}, {1'001, fixed + 1'001 * per_sample}};
}

Duration step_of(const StepTime& time, const Plan& plan, std::int32_t workers) {
    INVARIANT(workers >= 1);
    // Of the slowest worker: the one with the remainder of a batch that does not divide.
    const std::int64_t samples = (samples_per_step(plan, workers) - 1) / workers + 1;
    const std::int64_t fits = time.worker_batch_max > 0 ? time.worker_batch_max : samples;
    const std::int64_t micro_steps =
        std::max<std::int64_t>(plan.accumulation, (samples - 1) / fits + 1);
    const std::int64_t batch = (samples - 1) / micro_steps + 1;
    const Int128 total =
        compute_of(time.compute, batch) * (micro_steps - 1) + sending_step_of(time, batch, workers);
    const Int128 bounded = std::clamp<Int128>(total, 1, step_longest);
    return nanoseconds(static_cast<std::int64_t>(bounded));
}

}  // namespace ukemi
