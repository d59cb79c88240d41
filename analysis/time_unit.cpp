#include "analysis/time_unit.hpp"

namespace ukemi::analysis {

const TimeUnit& time_unit_for(double hours_longest) {
    static constexpr TimeUnit all[] = {
        {"hours", "h", 1}, {"minutes", "min", 60}, {"seconds", "s", 3600}};
    for (const TimeUnit& one : all) {
        if (hours_longest * one.per_hour >= 2) return one;
    }
    return all[2];
}

}  // namespace ukemi::analysis
