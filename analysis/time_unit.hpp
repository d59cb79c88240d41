// time_unit.hpp — the unit that times of one table are shown in, by their size.
#pragma once

#include <string_view>

namespace ukemi::analysis {

struct TimeUnit {
    std::string_view name;    // "minutes"
    std::string_view symbol;  // "min"
    double per_hour = 1;
};

// For times of which this is the longest: hours from two on, minutes from two on, or else seconds.
const TimeUnit& time_unit_for(double hours_longest);

}  // namespace ukemi::analysis
