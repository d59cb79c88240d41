#include "policies/market/pools.hpp"

#include <algorithm>

#include "base/bounded_duration.hpp"

namespace ukemi::policies {

Price pool_price(const ZoneView& zone, Market market, const Observation& seen) {
    if (market != Market::on_demand) return zone.spot_price;
    return zone.on_demand_price > Price{} ? zone.on_demand_price : seen.on_demand_price;
}

void sort_by_cost(std::vector<ZoneView>& zones, Market market, const Observation& seen) {
    std::ranges::sort(zones, [&](const ZoneView& a, const ZoneView& b) {
        // price / speed, by cross-multiplication: exact.
        const Int128 a_cost =
            static_cast<Int128>(pool_price(a, market, seen).raw()) * b.speed_per_mille;
        const Int128 b_cost =
            static_cast<Int128>(pool_price(b, market, seen).raw()) * a.speed_per_mille;
        if (a_cost != b_cost) return a_cost < b_cost;
        if (a.spot_price != b.spot_price) return a.spot_price < b.spot_price;
        return index_of(a.zone) < index_of(b.zone);
    });
}

std::int32_t pool_room(const ZoneView& zone, Market market, std::int32_t wanted) {
    return market == Market::on_demand ? wanted : std::min(zone.spot_capacity, wanted);
}

std::int32_t planned_in(const Plan& plan, ZoneId zone, Market market) {
    const auto line = std::ranges::find_if(
        plan.fleet, [&](const FleetLine& one) { return one.zone == zone && one.market == market; });
    return line == plan.fleet.end() ? 0 : line->count;
}

std::vector<ZoneCount> filled_zones(const Plan& plan, Market market, std::int32_t least,
                                    std::int32_t most, std::vector<ZoneView> zones,
                                    const Observation& seen) {
    sort_by_cost(zones, market, seen);
    std::vector<ZoneCount> counts;
    std::int32_t placed = 0;
    for (const ZoneView& zone : zones) {
        const std::int32_t room = pool_room(zone, market, most);
        const std::int32_t here =
            std::min({planned_in(plan, zone.zone, market), room, most - placed});
        counts.push_back({zone.zone, std::max(here, 0)});
        placed += counts.back().count;
    }
    for (std::size_t i = 0; i < zones.size(); ++i) {
        const std::int32_t room = pool_room(zones[i], market, most);
        const std::int32_t more = std::min(room - counts[i].count, most - placed);
        if (more <= 0) continue;
        counts[i].count += more;
        placed += more;
    }
    if (placed < least) counts.front().count += least - placed;
    std::erase_if(counts, [](const ZoneCount& zone) { return zone.count == 0; });
    std::ranges::sort(counts, {}, [](const ZoneCount& one) { return index_of(one.zone); });
    return counts;
}

bool already_planned(const Plan& plan, std::span<const ZoneCount> counts) {
    return std::ranges::equal(plan.fleet, counts, [](const FleetLine& line, const ZoneCount& one) {
        return line.zone == one.zone && line.count == one.count;
    });
}

bool is_placed(const Plan& plan, std::int32_t wanted, const Observation& seen) {
    if (fleet_count(plan) < wanted) return false;
    return std::ranges::all_of(plan.fleet, [&](const FleetLine& line) {
        const auto zone = std::ranges::find(seen.zones, line.zone, &ZoneView::zone);
        return zone != seen.zones.end() && pool_room(*zone, line.market, line.count) >= line.count;
    });
}

ZoneId main_zone(const Plan& plan) {
    const auto line = std::ranges::max_element(plan.fleet, {}, &FleetLine::count);
    return line == plan.fleet.end() ? ZoneId{0} : line->zone;
}

StayRule read_stay_rule(ConfigReader& parameters) {
    StayRule rule;
    rule.holding_time =
        bounded_duration(parameters, "holding_time", whole_seconds(1), days(365), hours(4));
    rule.least_saving = parameters.number("least_saving", 0, 1, 0.05);
    return rule;
}

double stay_cost_usd(const ZoneView& zone, const StayTerms& terms, const Observation& seen) {
    const double speed = static_cast<double>(std::max(zone.speed_per_mille, 1)) / 1000;
    const bool ours_are_there = zone.spot_held > 0 || zone.on_demand_held > 0 || zone.pending > 0;
    double held_h = to_hours(terms.work) / speed;
    if (!ours_are_there) held_h += to_hours(terms.restart) + to_hours(zone.move_time);
    const double usd_per_hour = to_dollars_per_hour(pool_price(zone, terms.market, seen));
    return terms.machines * usd_per_hour * held_h + to_dollars(zone.move_cost);
}

const ZoneView* cheapest_stay(std::span<const ZoneView> zones, const StayTerms& terms,
                              const Observation& seen, std::int32_t least, ZoneId present,
                              double least_saving) {
    const ZoneView* best = nullptr;
    const ZoneView* here = nullptr;
    double best_usd = 0;
    double here_usd = 0;
    for (const ZoneView& zone : zones) {
        if (pool_room(zone, terms.market, least) < least) continue;
        const double usd = stay_cost_usd(zone, terms, seen);
        if (zone.zone == present && here == nullptr) {
            here = &zone;
            here_usd = usd;
        }
        if (best == nullptr || usd < best_usd) {
            best = &zone;
            best_usd = usd;
        }
    }
    if (here != nullptr && best_usd >= here_usd * (1 - least_saving)) return here;
    return best;
}

}  // namespace ukemi::policies
