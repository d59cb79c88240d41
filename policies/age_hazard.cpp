#include "policies/age_hazard.hpp"

#include <algorithm>

namespace ukemi {

AgeHazard::AgeHazard(Duration mean_lifetime, double prior_losses)
    : mean_lifetime_h_(to_hours(mean_lifetime)), prior_losses_(prior_losses) {
    INVARIANT(mean_lifetime > Duration{} && prior_losses > 0);
}

std::size_t AgeHazard::range_of(Duration age) {
    return static_cast<std::size_t>(std::ranges::upper_bound(edges, age) - edges.begin());
}

Duration AgeHazard::next_edge(Duration age) {
    const std::size_t range = range_of(age);
    return range < edges.size() ? edges[range] : Duration::max();
}

void AgeHazard::survived(Duration from_age, Duration to_age) {
    INVARIANT(from_age >= Duration{});
    while (from_age < to_age) {
        const Duration until = std::min(next_edge(from_age), to_age);
        const double hours = to_hours(until - from_age);
        ranges_[range_of(from_age)].hours += hours;
        all_.hours += hours;
        from_age = until;
    }
}

void AgeHazard::lost_at(Duration age, double weight) {
    INVARIANT(age >= Duration{} && weight > 0 && weight <= 1);
    ranges_[range_of(age)].losses += weight;
    all_.losses += weight;
}

double AgeHazard::per_hour(Duration age) const {
    const Range& range = ranges_[range_of(age)];
    const double overall =
        (prior_losses_ + all_.losses) / (prior_losses_ * mean_lifetime_h_ + all_.hours);
    return (prior_losses_ + range.losses) / (prior_losses_ / overall + range.hours);
}

}  // namespace ukemi
