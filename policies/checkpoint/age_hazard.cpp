#include "policies/checkpoint/age_hazard.hpp"

#include <algorithm>

namespace ukemi::policies {

AgeHazard::AgeHazard(Duration mean_lifetime, double prior_losses,
                     std::optional<Duration> lifetime_cap)
    : mean_lifetime_h_(to_hours(mean_lifetime)), prior_losses_(prior_losses), cap_(lifetime_cap) {
    INVARIANT(mean_lifetime > Duration{} && prior_losses > 0 &&
              lifetime_cap.value_or(mean_lifetime) > Duration{});
    for (const Duration edge :
         {minutes(10), minutes(30), hours(1), hours(2), hours(4), hours(8), hours(16), hours(24)}) {
        if (!cap_ || edge < *cap_) edges_.push_back(edge);
    }
    if (cap_) edges_.push_back(*cap_);
    ranges_.resize(edges_.size() + 1);
}

std::size_t AgeHazard::range_of(Duration age) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(edges_, age) - edges_.begin());
}

Duration AgeHazard::next_edge(Duration age) const {
    const std::size_t range = range_of(age);
    return range < edges_.size() ? edges_[range] : Duration::max();
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
    const bool at_cap = cap_ && age >= *cap_ - std::min(*cap_, minutes(1));
    (at_cap ? ranges_.back() : ranges_[range_of(age)]).losses += weight;
    all_.losses += weight;
}

double AgeHazard::per_hour(Duration age) const {
    const Range& range = ranges_[range_of(age)];
    const double overall =
        (prior_losses_ + all_.losses) / (prior_losses_ * mean_lifetime_h_ + all_.hours);
    return (prior_losses_ + range.losses) / (prior_losses_ / overall + range.hours);
}

}  // namespace ukemi::policies
