// fleet_by_hand.hpp — instances and Plans as values, for tests of what is decided about them.
#pragma once

#include <initializer_list>
#include <vector>

#include "policies/plan.hpp"
#include "sim/market/fleet.hpp"

namespace ukemi {

// A spot instance that is there, with a worker that trains and has the model.
inline sim::Instance member(std::uint32_t id, std::uint32_t zone_number = 0) {
    sim::Instance one;
    one.id = InstanceId{id};
    one.zone = ZoneId{zone_number};
    one.ready = one.started = one.member = one.has_state = true;
    return one;
}

// One whose worker could join, and one that was asked for and is not there yet.
inline sim::Instance newcomer(std::uint32_t id, std::uint32_t zone_number = 0) {
    sim::Instance one = member(id, zone_number);
    one.member = one.has_state = false;
    return one;
}
inline sim::Instance asked_for(std::uint32_t id, std::uint32_t zone_number = 0) {
    sim::Instance one = newcomer(id, zone_number);
    one.ready = one.started = false;
    return one;
}

inline sim::Instance announced(sim::Instance one, Duration lost_after) {
    one.lost_at = Instant::at(lost_after);
    return one;
}
inline sim::Instance retiring(sim::Instance one) {
    one.retiring = true;
    return one;
}
inline sim::Instance on_demand(sim::Instance one) {
    one.market = policies::Market::on_demand;
    return one;
}

inline policies::FleetLine line(std::uint32_t zone_number, policies::Market market,
                                std::int32_t count, Price bid = {}) {
    return {ZoneId{zone_number}, 0, market, count, bid};
}
inline policies::Plan plan_of(std::initializer_list<policies::FleetLine> lines) {
    policies::Plan plan;
    plan.fleet = lines;
    plan.workers_max = policies::fleet_count(plan);
    return plan;
}

}  // namespace ukemi
