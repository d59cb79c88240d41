#include "scenarios/optimum/optimum.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "scenarios/optimum/market_problem.hpp"

namespace ukemi::scenarios {

std::string_view name_of(OptimumKind kind) {
    static constexpr std::array<std::string_view, 4> names{"exact", "bound", "impossible",
                                                           "unknown"};
    return names[static_cast<std::size_t>(kind)];
}

Optimum optimum_of(const sim::MarketData& market, const sim::JobSpec& job) {
    Optimum optimum;
    auto profile = fastest_profile(job);
    if (!profile || std::min(job.deadline, job.give_up_at) == Instant::never()) return optimum;
    const MarketProblem problem(market, job, std::move(*profile));
    if (problem.too_large()) return optimum;
    const auto least = least_cost(problem.stated());
    if (!least) {
        optimum.kind = OptimumKind::impossible;
        return optimum;
    }
    constexpr RawCharge per_micro_dollar = RawCharge{3'600'000'000'000} * 1000;
    const bool proved = least->found && *least->found - least->at_least <= per_micro_dollar;
    optimum.kind = proved && problem.is_exact() ? OptimumKind::exact : OptimumKind::bound;
    // A run's bills are each rounded to the nano-dollar.
    constexpr RawCharge per_nano_dollar = 3'600'000'000'000;
    const RawCharge rounding = RawCharge{1000} * problem.most_machines();
    const RawCharge cost = std::max<RawCharge>(least->at_least / per_nano_dollar - rounding, 0);
    constexpr RawCharge most = std::numeric_limits<std::int64_t>::max();
    optimum.cost = nano_dollars(static_cast<std::int64_t>(std::min(cost, most)));
    return optimum;
}

}  // namespace ukemi::scenarios
