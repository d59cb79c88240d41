// lifetime_law.hpp — how long a preemptible instance lives: often minutes, else nearly to the cap.
//
// Distribution function F(t) = share × (1 − e^(−t/early) + e^((t − cap)/late)), times in hours, cut
// at one: a bathtub of a hazard, with a flat bottom and a wall at the cap. Sharma, Kadupitiya &
// Jadhao, "Modeling the Temporally Constrained Preemptions of Transient Cloud VMs" (HPDC 2020),
// eq. 1; they measured shares of 0.4 to 0.5, early 0.5 to 1.5 h, late 0.8 h and Google's cap of
// 24 h.
#pragma once

#include <span>
#include <vector>

#include "base/rng.hpp"
#include "traces/series.hpp"

namespace ukemi::traces {

struct LifetimeLaw {
    double share = 0;  // 0: off, nothing dies of age; at most 1
    double early_h = 1;
    double late_h = 1;
    double cap_h = 24;

    bool is_on() const { return share > 0; }
};

// The probability to be gone after `hours`; 0 for none or less.
double gone_after(const LifetimeLaw& law, double hours);

Duration draw_lifetime(const LifetimeLaw& law, RandomStream& random);  // law.is_on()

// The law that is nearest to the Kaplan–Meier estimate of these lifetimes, in the mean square over
// its steps. Censored ones (given back) count for as long as they were seen. Needs one that was
// lost; without any the law is off.
LifetimeLaw fit_lifetime_law(std::span<const Lifetime> lifetimes);

struct SurvivalStep {
    double hours;
    double alive;  // share, from then on
};
// Kaplan–Meier: one step for each time at which an instance was lost.
std::vector<SurvivalStep> survival_of(std::span<const Lifetime> lifetimes);

// The greatest distance between the estimate and the law (Kolmogorov's), for reports.
double distance(std::span<const SurvivalStep> survival, const LifetimeLaw& law);

}  // namespace ukemi::traces
