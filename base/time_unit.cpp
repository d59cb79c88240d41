#include "base/time_unit.hpp"

namespace ukemi {

namespace {

constexpr TimeUnit in_seconds{"seconds", "s", 3600};
constexpr TimeUnit in_minutes{"minutes", "min", 60};
constexpr TimeUnit in_hours{"hours", "h", 1};
constexpr TimeUnit in_days{"days", "d", 1.0 / 24};

}  // namespace

TimeUnit table_time_unit(double hours_longest) {
    if (hours_longest >= 2) return in_hours;
    return hours_longest * 60 >= 2 ? in_minutes : in_seconds;
}

TimeUnit axis_time_unit(double span_h) {
    if (span_h <= 5.0 / 60) return in_seconds;
    if (span_h <= 5) return in_minutes;
    return span_h <= 24 * 60 ? in_hours : in_days;
}

}  // namespace ukemi
