#include "policies/market/zone_speed.hpp"

#include <algorithm>
#include <optional>

namespace ukemi::policies {

namespace {

constexpr std::int32_t profile_speed = 1000;

std::int32_t slowest_planned(const PolicyView& view) {
    std::optional<std::int32_t> slowest;
    for (const FleetLine& line : view.plan.fleet) {
        const auto zone = std::ranges::find(view.seen.zones, line.zone, &ZoneView::zone);
        if (zone == view.seen.zones.end()) continue;
        slowest = std::min(slowest.value_or(zone->speed_per_mille), zone->speed_per_mille);
    }
    return std::max(slowest.value_or(profile_speed), 1);
}

}  // namespace

std::int32_t on_demand_speed_per_mille(const PolicyView& view) {
    if (view.on_demand_speed_per_mille > 0) return view.on_demand_speed_per_mille;
    return std::min(slowest_planned(view), profile_speed);
}

std::int32_t group_speed_per_mille(const PolicyView& view) {
    std::optional<std::int32_t> slowest;
    for (const ZoneView& zone : view.seen.zones) {
        if (zone.spot_held == 0 && zone.on_demand_held == 0) continue;
        slowest = std::min(slowest.value_or(zone.speed_per_mille), zone.speed_per_mille);
    }
    return slowest ? std::max(*slowest, 1) : slowest_planned(view);
}

PredictorAtSpeed::PredictorAtSpeed(const Predictor& here, std::int32_t speed_per_mille)
    : here_(here), speed_per_mille_(std::max(speed_per_mille, 1)) {}

Duration PredictorAtSpeed::work_time(std::int64_t samples, const Plan& plan,
                                     std::int32_t workers) const {
    constexpr Int128 longest = days(36'500).raw();
    const Int128 scaled =
        static_cast<Int128>(here_.work_time(samples, plan, workers).raw()) * profile_speed;
    const Int128 time = (scaled + speed_per_mille_ - 1) / speed_per_mille_;
    return Duration::of(static_cast<std::int64_t>(std::min<Int128>(time, longest)));
}

}  // namespace ukemi::policies
