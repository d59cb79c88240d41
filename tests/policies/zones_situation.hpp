// zones_situation.hpp — zones made by hand, for the tests of policies that choose among them.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "tests/policies/situation.hpp"

namespace ukemi {

// A zone with this much spot capacity at this price; on-demand costs 3 USD/h everywhere.
inline policies::ZoneView zone_view(std::uint32_t id, std::int32_t capacity,
                                    double spot_usd_per_hour) {
    policies::ZoneView zone;
    zone.zone = ZoneId{id};
    zone.spot_capacity = capacity;
    zone.spot_price = dollars_per_hour(spot_usd_per_hour);
    zone.on_demand_price = dollars_per_hour(3);
    return zone;
}

inline std::vector<policies::ZoneCount> zone_counts(
    std::initializer_list<std::pair<std::uint32_t, std::int32_t>> list) {
    std::vector<policies::ZoneCount> result;
    for (const auto& [id, count] : list) result.push_back({ZoneId{id}, count});
    return result;
}

// What the Plan says is there, in the market it says.
inline void hold_what_is_planned(Situation& job) {
    job.seen.spot_held = 0;
    job.seen.on_demand_held = 0;
    for (policies::ZoneView& zone : job.seen.zones) {
        zone.spot_held = 0;
        zone.on_demand_held = 0;
        for (const policies::FleetLine& line : job.plan.fleet) {
            if (line.zone != zone.zone) continue;
            (line.market == policies::Market::spot ? zone.spot_held : zone.on_demand_held) =
                line.count;
        }
        job.seen.spot_held += zone.spot_held;
        job.seen.on_demand_held += zone.on_demand_held;
    }
    job.seen.workers = job.plan.workers_max;
}

}  // namespace ukemi
