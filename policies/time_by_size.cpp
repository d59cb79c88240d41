#include "policies/time_by_size.hpp"

namespace ukemi::policies {

Duration time_for_size(const TimeBySize& times, std::int32_t workers) {
    if (times.empty()) return {};
    const Int128 time = nanoseconds_for_size(times, workers, [](const SizedTime& point) {
        return static_cast<Int128>(point.time.raw());
    });
    return nanoseconds(static_cast<std::int64_t>(time));
}

}  // namespace ukemi::policies
