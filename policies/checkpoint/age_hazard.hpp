// age_hazard.hpp — how likely a machine is to be taken away at its age, learnt from lifetimes.
//
// A piecewise constant hazard: in each range of ages the occurrence/exposure rate, losses divided
// by machine time at risk (the increments of the Nelson–Aalen estimator, smoothed over the range;
// Aalen, Borgan & Gjessing 2008, §3.1 and §5.2). Held machines count as what they are, right-
// censored. With a gamma prior the estimate of a range is (w + d) / (w/λ + e), for d losses in e of
// machine time, with λ the rate over all ages, itself (w + D) / (w·M + E): w imagined losses at
// mean lifetime M. So a range about which nothing is known has the rate of all ages together.
// Where machines are taken at a known age, what happens from then on is a range of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::policies {

class AgeHazard {
public:
    // All above zero.
    AgeHazard(Duration mean_lifetime, double prior_losses,
              std::optional<Duration> lifetime_cap = std::nullopt);

    void survived(Duration from_age, Duration to_age);  // one machine, at risk all that time
    // A loss may be shared out among those of whom it is not known who was lost: 0 < weight ≤ 1.
    // One in the last minute before the cap counts as one at the cap.
    void lost_at(Duration age, double weight);

    double per_hour(Duration age) const;
    // The age at which the hazard of a machine of this age changes next; Duration::max() if never.
    Duration next_edge(Duration age) const;

private:
    struct Range {
        double losses = 0;
        double hours = 0;
    };
    std::size_t range_of(Duration age) const;

    double mean_lifetime_h_;
    double prior_losses_;
    std::optional<Duration> cap_;
    std::vector<Duration> edges_;
    std::vector<Range> ranges_;  // one more than edges
    Range all_;
};

}  // namespace ukemi::policies
