// time_unit.hpp — the unit that times are shown in, by their size.
#pragma once

#include <string_view>

namespace ukemi {

struct TimeUnit {
    std::string_view name;    // "minutes"
    std::string_view symbol;  // "min"
    double per_hour = 1;
};

// Of a table's times, of which this is the longest: seconds below two minutes, minutes below two
// hours, or else hours.
TimeUnit table_time_unit(double hours_longest);

// Of an axis of such a span: seconds up to five minutes, minutes up to five hours, hours up to
// sixty days, or else days.
TimeUnit axis_time_unit(double span_h);

}  // namespace ukemi
