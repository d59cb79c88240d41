// scaling_rule.cpp — the walk over sizes, and what a step of it is worth.
#include "policies/size/scaling_rule.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::policies {

double scaling_efficiency(const MeasuredSize& smaller, const MeasuredSize& larger) {
    INVARIANT(0 < smaller.workers && smaller.workers < larger.workers);
    INVARIANT(smaller.samples_per_second > 0);
    const double gain = (larger.samples_per_second - smaller.samples_per_second) /
                        (larger.workers - smaller.workers);
    return gain / (smaller.samples_per_second / smaller.workers);
}

std::int32_t next_size(std::span<const MeasuredSize> measured, const std::vector<bool>& passes,
                       const ScalingLimits& limits) {
    INVARIANT(!measured.empty() && passes.size() + 1 == measured.size());
    const MeasuredSize& smallest = measured.front();
    const MeasuredSize& largest = measured.back();
    const std::int32_t larger = std::min(limits.most, largest.workers + limits.spawn);
    const std::int32_t smaller = std::max(limits.least, smallest.workers - limits.spawn);
    if (measured.size() == 1) return largest.workers >= limits.most ? smaller : larger;
    const auto failing = std::ranges::find(passes, false);
    if (failing == passes.end() && largest.workers < limits.most) return larger;
    const std::ptrdiff_t passed = failing - passes.begin();
    const bool enough = passed >= limits.consecutive_passes;
    if (!enough && smallest.workers > limits.least) return smaller;
    const auto at = static_cast<std::size_t>(passed);
    const bool another = at + 1 < measured.size() && measured[at + 1].steps < limits.stay_steps;
    return measured[another ? at + 1 : at].workers;
}

UtilityOfTime UtilityOfTime::linear(Point intercepts) {
    INVARIANT(intercepts.until > Duration{});
    UtilityOfTime utility;
    utility.points_ = {{intercepts.dollars, Duration{}}, {0, intercepts.until}};
    return utility;
}

UtilityOfTime UtilityOfTime::steps(std::vector<Point> points, Duration total) {
    INVARIANT(!points.empty() && points.front().until > Duration{});
    UtilityOfTime utility;
    utility.points_ = {{points.front().dollars, Duration{}}};
    for (const Point& point : points) {
        INVARIANT(point.until > utility.points_.back().until);
        utility.points_.push_back(point);
    }
    if (total > points.back().until) utility.points_.push_back({0, total});
    return utility;
}

double UtilityOfTime::dollars_at(double seconds) const {
    std::size_t right = 1;
    while (right + 1 < points_.size() && to_seconds(points_[right].until) < seconds) ++right;
    const Point& a = points_[right - 1];
    const Point& b = points_[right];
    const double begin = to_seconds(a.until);
    const double part = (seconds - begin) / (to_seconds(b.until) - begin);
    return a.dollars + part * (b.dollars - a.dollars);
}

bool utility_passes(const MeasuredSize& smaller, const MeasuredSize& larger,
                    const UtilityOfTime& utility, const JobAhead& job) {
    const auto seconds_left = [&](const MeasuredSize& size) {
        INVARIANT(size.samples_per_second > 0);
        return static_cast<double>(job.samples_left) / size.samples_per_second;
    };
    const auto worth = [&](const MeasuredSize& size) {
        return utility.dollars_at(to_seconds(job.elapsed) + seconds_left(size));
    };
    const auto cost = [&](const MeasuredSize& size) {
        return seconds_left(size) * size.workers * job.worker_dollars_per_hour / 3600;
    };
    return worth(larger) - worth(smaller) > cost(larger) - cost(smaller);
}

}  // namespace ukemi::policies
