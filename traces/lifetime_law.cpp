// lifetime_law.cpp — draws by bisection, the estimate by counting, the fit by a shrinking search.
#include "traces/lifetime_law.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::traces {

double gone_after(const LifetimeLaw& law, double hours) {
    if (hours <= 0) return 0;
    const double early = 1 - exact::exp(-hours / law.early_h);
    const double late = exact::exp((hours - law.cap_h) / law.late_h);
    return std::min(1.0, law.share * (early + late));
}

Duration draw_lifetime(const LifetimeLaw& law, RandomStream& random) {
    INVARIANT(law.is_on() && law.early_h > 0 && law.late_h > 0 && law.cap_h > 0);
    const double uniform = random.uniform();
    double alive = 0;
    // F(gone) is one: e^((gone − cap)/late) alone reaches 1/share by then.
    double gone = law.cap_h + law.late_h * std::max(0.0, exact::log(1 / law.share));
    for (int halving = 0; halving < 50; ++halving) {
        const double middle = (alive + gone) / 2;
        (gone_after(law, middle) > uniform ? gone : alive) = middle;
    }
    return ukemi::seconds(gone * 3600);
}

std::vector<SurvivalStep> survival_of(std::span<const Lifetime> lifetimes) {
    std::vector<const Lifetime*> sorted;
    for (const Lifetime& life : lifetimes) sorted.push_back(&life);
    // Who was lost at a time was still at risk then: before those censored at the same time.
    std::ranges::sort(sorted, [](const Lifetime* a, const Lifetime* b) {
        return a->lasted != b->lasted ? a->lasted < b->lasted : a->was_lost && !b->was_lost;
    });
    std::vector<SurvivalStep> steps;
    double alive = 1;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (!sorted[i]->was_lost) continue;
        alive *= 1 - 1 / static_cast<double>(sorted.size() - i);
        const double hours = to_hours(sorted[i]->lasted);
        if (!steps.empty() && steps.back().hours == hours) {
            steps.back().alive = alive;
        } else {
            steps.push_back({hours, alive});
        }
    }
    return steps;
}

double distance(std::span<const SurvivalStep> survival, const LifetimeLaw& law) {
    double greatest = 0;
    for (const SurvivalStep& step : survival) {
        greatest = std::max(greatest, std::abs(1 - step.alive - gone_after(law, step.hours)));
    }
    return greatest;
}

namespace {

double squares(std::span<const SurvivalStep> survival, const LifetimeLaw& law) {
    double sum = 0;
    for (const SurvivalStep& step : survival) {
        const double difference = 1 - step.alive - gone_after(law, step.hours);
        sum += difference * difference;
    }
    return sum;
}

}  // namespace

LifetimeLaw fit_lifetime_law(std::span<const Lifetime> lifetimes) {
    const std::vector<SurvivalStep> survival = survival_of(lifetimes);
    if (survival.empty()) return {};
    // Steps of a factor for each parameter in turn, halved when none helps: the surface is smooth.
    LifetimeLaw best{0.45, 1, 0.8, std::max(0.1, survival.back().hours)};
    double best_squares = squares(survival, best);
    constexpr std::array members{&LifetimeLaw::share, &LifetimeLaw::early_h, &LifetimeLaw::late_h,
                                 &LifetimeLaw::cap_h};
    for (double step = 0.5; step > 1e-4;) {
        bool improved = false;
        for (double LifetimeLaw::*member : members) {
            for (const double factor : {1 + step, 1 / (1 + step)}) {
                LifetimeLaw law = best;
                law.*member = std::clamp(law.*member * factor, 1e-3, 1e4);
                law.share = std::min(law.share, 1.0);
                const double sum = squares(survival, law);
                if (sum >= best_squares) continue;
                best = law;
                best_squares = sum;
                improved = true;
            }
        }
        if (!improved) step /= 2;
    }
    return best;
}

}  // namespace ukemi::traces
